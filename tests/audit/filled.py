"""A database filled as the job fills it: every capture of the golden data folded to its end and committed."""

import time
from dataclasses import replace

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.fold.fold import STATE_VERSION
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import OtherGroup, Tick
from rebalance_monitor.streaming.core.model.results import (
    ConnectShare,
    GapRecord,
    Grade,
    GroupProgress,
    Incident,
    MemberLag,
    Result,
    Subject,
    Verdict,
)
from rebalance_monitor.streaming.core.ports import Commit, GroupKey, PartitionKey, Range, StoredState
from rebalance_monitor.streaming.core.replay import RawRecord, decode
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming import builders
from tests.vector_files import VECTORS

CAPTURES = (
    "captures/compatible-2.8.2",
    "captures/eager-2.8.2",
    "captures/sessioned-4.3.1",
    "captures/steady",
    "captures/zombie",
    "captures-groups/java-classic",
    "captures-groups/kip848-a",
)


# Captures end with every worker gone; in the middle the groups live, and jobs are in hands, in two hands, in none.
CUT_AT = (0.6,)


def everything(store: PostgresStore) -> None:
    """Every capture, each as a cluster of its own, and those of Connect cut in their middle."""
    for number, name in enumerate(CAPTURES, start=1):
        capture(store, name, name.rpartition("/")[2], number)
        for part in CUT_AT if name.startswith("captures/") else ():
            capture(store, name, f"{name.rpartition('/')[2]} at {part}", number, part)
    _rest(store)


def with_part(incident: Incident) -> tuple[Result, ...]:
    """The incident with its one part."""
    return incident, builders.part(incident)


def _rest(store: PostgresStore) -> None:
    """What no capture holds: a pending verdict, a gap, undecodable records, a notification sent, a window."""
    apart = replace(builders.member(2), assigned=ConnectShare(), owned=ConnectShare())
    later_ms = time.time_ns() // 1_000_000 + 3_600_000
    reason = Reason(ReasonKind.PENDING, "pending: config offset 12")
    verdict = Verdict(grade=Grade.NOT_JUDGED, reason=reason, pending_until_ms=later_ms)
    results: tuple[Result, ...] = (
        builders.generation(members=(builders.member(1), apart)),
        builders.generation(8, generation=8, members=(builders.member(1),), verdict=verdict),
        *with_part(builders.incident("fired", "i1")),
        *with_part(builders.incident("resolved", "i2")),
        *with_part(
            builders.incident("opened", "i3", subjects=(Subject("task", "b-0"),), firing=False, fired_at_ms=None)
        ),
        GroupProgress(
            cluster="c",
            group=builders.GROUP.group,
            generation=8,
            asked_ms=1_000,
            answered_ms=1_050,
            members=(MemberLag(member="m1", partitions=4, advancing=1, caught_up=1, standing=1, unknown=1, lag=120),),
        ),
        builders.undecodable(20),
        GapRecord(cluster="c", topic=builders.TOPIC, partition=3, from_offset=10, to_offset=14, reason="deleted"),
    )
    states = {builders.GROUP: builders.state(due_ms=later_ms)}
    store.commit(builders.commit(store.claim(), 0, 100, *results, states=states))
    with store.database.session() as connection:
        connection.execute(
            "insert into rebalance_monitor.outbox_sent (key, url) select key, 'chat' from rebalance_monitor.outbox"
            " where key = 'i1:fired'"
        )
        connection.execute(
            'insert into rebalance_monitor.maintenance (cluster, "groups", owner, reason, from_ms, until_ms, operator)'
            " values ('c', '*', 'jane', 'upgrade', 1000, 2000, 'jane')"
        )


def capture(store: PostgresStore, name: str, cluster: str, batch_id: int, part: float = 1.0) -> None:
    """Folds this part of a capture, by time, in one batch; what still waits at its end is judged without it."""
    folder = VECTORS / name
    given = replace(settings_of(folder), name=cluster)
    some = list(records_of(folder))
    first_ms, last_ms = (edge(one.timestamp_ms for one in some if one.timestamp_ms) for edge in (min, max))
    some = [one for one in some if one.timestamp_ms <= first_ms + (last_ms - first_ms) * part]
    rows = [row for row in (decode(one, given) for one in some) if row]
    own = [row for row in rows if not isinstance(row.body, OtherGroup)]
    others: dict[tuple[str, str, str], int] = {}
    for row in rows:
        if isinstance(row.body, OtherGroup):
            key = (cluster, row.group or "", row.body.kind)
            others[key] = others.get(key, 0) + 1
    tick = Tick(max(one.timestamp_ms for one in some))
    states: dict[GroupKey, StoredState] = {}
    results: list[Result] = []
    blobs: dict[str, bytes] = {}
    for group, belonging in route(own, given).items():
        outcome = fold_group(given, group, None, belonging, tick, end_of_input=True)
        states[GroupKey(cluster, group)] = StoredState(
            version=STATE_VERSION, state=outcome.state.lines, due_ms=outcome.due_ms
        )
        results.extend(outcome.results)
        blobs.update(outcome.blobs)
    store.commit(
        Commit(
            batch_id=batch_id,
            writer_epoch=store.claim(),
            ranges=_ranges(cluster, some),
            states=states,
            results=tuple(results),
            blobs=blobs,
            other_groups=others,
        )
    )


def _ranges(cluster: str, some: list[RawRecord]) -> dict[PartitionKey, Range]:
    ends: dict[PartitionKey, int] = {}
    for row in some:
        key = PartitionKey(f"id-of-{cluster}", f"{cluster}-{row.topic}", row.topic, row.partition)
        ends[key] = max(row.offset + 1, ends.get(key, 0))
    return {key: Range(0, end) for key, end in ends.items()}
