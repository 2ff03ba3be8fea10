"""A database filled as the job fills it: real captures folded and committed, and incidents of every attention."""

from collections.abc import Iterable
from dataclasses import replace

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.fold.fold import STATE_VERSION
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.details import DelayWait
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import OtherGroup, Row, Tick
from rebalance_monitor.streaming.core.model.results import (
    AlertSeverity,
    Cause,
    Certainty,
    Change,
    ConnectShare,
    Evidence,
    GapRecord,
    Generation,
    Grade,
    Incident,
    Result,
    Severity,
    Subject,
    Verdict,
)
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import Commit, GroupKey, PartitionKey, Range, StoredState
from rebalance_monitor.streaming.core.replay import RawRecord, decode
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming import builders
from tests.vector_files import VECTORS

HOSTILE = "<script>alert('1')</script> & \"Ω\"/../?a=b#c"


def capture(store: PostgresStore, name: str, cluster: str, for_ms: int | None = None) -> list[Result]:
    """Folds a capture, or its first `for_ms`, and commits what comes of it."""
    folder = VECTORS / name
    given = replace(settings_of(folder), name=cluster)
    some = list(records_of(folder))
    if for_ms is not None:
        some = [one for one in some if one.timestamp_ms <= some[0].timestamp_ms + for_ms]
    rows = [row for one in some if (row := decode(one, given)) is not None and not _only_counted(row)]
    return _commit(store, given, some, rows)


def _only_counted(row: Row) -> bool:
    return isinstance(row.body, OtherGroup) and row.body.record is None


def _commit(store: PostgresStore, given: ClusterSettings, some: list[RawRecord], rows: list[Row]) -> list[Result]:
    ends: dict[PartitionKey, int] = {}
    for result in some:
        key = PartitionKey(f"k-{given.name}", f"id-{result.topic}", result.topic, result.partition)
        ends[key] = max(result.offset + 1, ends.get(key, 0))
    states: dict[GroupKey, StoredState] = {}
    results: list[Result] = []
    for group, own in route(rows, given).items():
        outcome = fold_group(given, group, None, own, Tick(some[-1].timestamp_ms), end_of_input=False)
        states[GroupKey(given.name, group)] = StoredState(
            version=STATE_VERSION, state=outcome.state.lines, due_ms=outcome.due_ms
        )
        results.extend(outcome.results)
    ranges = {key: Range(store.positions().get(key, 0), end) for key, end in ends.items()}
    store.commit(Commit(batch_id=1, writer_epoch=store.claim(), ranges=ranges, states=states, results=tuple(results)))
    return results


def put(store: PostgresStore, *results: Result, batch_id: int = 7) -> None:
    """Commits these as one batch, and states for the groups they are about."""
    groups = {GroupKey(one.cluster, one.group) for one in results if isinstance(one, Generation | Incident)}
    states = builders.onto(store, {key: builders.state() for key in groups})
    key = PartitionKey("k9", "id-9", builders.TOPIC, 9)
    start = store.positions().get(key, 0)
    store.commit(
        Commit(
            batch_id=batch_id,
            writer_epoch=store.claim(),
            ranges={key: Range(start, start + 1000)},
            states=states,
            results=tuple(results),
        )
    )


def many(cluster: str, count: int, at_ms: int) -> Iterable[Generation]:
    """So many groups with one generation each."""
    for number in range(count):
        yield builders.generation(
            offset=number, cluster=cluster, group=f"group-{number:05}", at_ms=at_ms - number, generation=number
        )


def everything(store: PostgresStore, now_ms: int) -> None:
    """Real clusters, `alpha` in the middle of a duplicate, and `gamma` with a delay and every kind of attention."""
    capture(store, "captures/zombie", "alpha", for_ms=167_000)
    capture(store, "captures/sessioned-4.3.1", "beta")
    capture(store, "captures/compatible-2.8.2", "delta")
    capture(store, "captures-groups/java-classic", "epsilon")
    put(store, *planted(now_ms))
    summaries(store)


def summaries(store: PostgresStore) -> None:
    """What days that were cut have left."""
    with store.database.session() as connection:
        for number in range(8):
            connection.execute(
                "insert into rebalance_monitor.daily_summaries values ('alpha', 'zombies', %s, 'grade', 'match', 3),"
                " ('alpha', 'zombies', %s, 'cause', 'none', 3)",
                (20_000 + number, 20_000 + number),
            )


def planted(now_ms: int) -> Iterable[Result]:
    """What no capture has at its end: a running delay, a hostile name, incidents of every attention."""
    lost = (Subject("task", "orders-0"), Subject("task", "orders-1"))
    yield builders.generation(
        offset=10,
        cluster="gamma",
        group="waits",
        at_ms=now_ms - 60_000,
        delay_ms=3_600_000,
        unassigned=("orders-0", "orders-1"),
        generation=12,
        wait=DelayWait(jobs=lost, since_ms=now_ms - 60_000, until_ms=now_ms + 3_540_000, because=("w3:8083",)),
        diff={"w3:8083": Change(lost=("orders-0", "orders-1"))},
        cause=(Cause(kind="worker_lost", subjects=(Subject("worker", "w3:8083"),), certainty=Certainty.LIKELY),),
    )
    yield builders.generation(
        offset=20,
        cluster="gamma",
        group=HOSTILE,
        at_ms=now_ms - 5_000,
        generation=3,
        members=(
            replace(builders.member(1), worker=f"{HOSTILE}:8083", assigned=ConnectShare((HOSTILE,), ((HOSTILE, 0),))),
        ),
        cause=(Cause(kind="connector_created", subjects=(Subject("connector", HOSTILE),)),),
        verdict=Verdict(
            grade=Grade.UNEXPLAINED,
            reason=Reason(ReasonKind.OTHER_ANSWER, f"nothing gives {HOSTILE}"),
            assignor="connect-incremental",
        ),
        diff={f"{HOSTILE}:8083": Change(gained=(HOSTILE,))},
    )
    yield hundred_workers(now_ms)
    yield from gaps_found()
    opened_ms = now_ms - 120_000
    yield builders.generation(offset=30, cluster="gamma", group="under-work", at_ms=now_ms - 600_000, generation=4)
    yield builders.incident(
        incident_id="notified",
        group=HOSTILE,
        message=f"connector {HOSTILE} runs twice",
        subjects=(Subject("connector", HOSTILE),),
        evidence=(Evidence(text=HOSTILE),),
        cluster="gamma",
        opened_at_ms=opened_ms,
    )
    yield builders.incident(
        incident_id="muted",
        group="under-work",
        rule="imbalance",
        code="CONNECT-I8",
        message="3 jobs here, 9 there",
        severity=Severity.MEDIUM,
        alert=AlertSeverity.WARNING,
        cluster="gamma",
        opened_at_ms=opened_ms,
    )
    yield builders.incident(
        "opened",
        "suppressed",
        group="waits",
        rule="unassigned_too_long",
        code="CONNECT-K5",
        message="task orders-0 has no holder",
        alert=AlertSeverity.INFO,
        firing=False,
        fired_at_ms=None,
        times_told=0,
        cluster="gamma",
        opened_at_ms=opened_ms,
    )
    yield builders.incident(
        incident_id="unread",
        group="unread",
        rule="undecodable_member",
        code="CONNECT-I12",
        message="member w9 can't be read",
        alert=AlertSeverity.WARNING,
        cluster="gamma",
        opened_at_ms=opened_ms,
    )
    yield builders.incident(
        "resolved", "over", group="waits", message="task orders-1 ran twice", cluster="gamma", opened_at_ms=opened_ms
    )


def gaps_found() -> Iterable[GapRecord]:
    """Of the status topic of the group `waits`, all found at the same moment, and of a topic of another group."""
    for partition in range(4):
        yield GapRecord(
            cluster="gamma",
            topic="waits-status",
            partition=partition,
            from_offset=10,
            to_offset=20 + partition,
            reason="deleted_before_read",
        )
    yield GapRecord(
        cluster="gamma", topic="under-work-configs", partition=0, from_offset=8, to_offset=8, reason="topic_made_anew"
    )


def hundred_workers(now_ms: int) -> Generation:
    """A thousand tasks on a hundred workers, and one in nobody's hands."""
    members = tuple(
        replace(
            builders.member(number),
            worker=f"connect-{number:03}.pods.example.org:8083",
            assigned=ConnectShare((), tuple((f"connector-{number % 50:02}", 10 * number + n) for n in range(10))),
        )
        for number in range(100)
    )
    return builders.generation(
        offset=40, cluster="gamma", group="hundred-workers", at_ms=now_ms - 900_000, generation=77, members=members,
        unassigned=("connector-00-7777",), diff={one.worker or "": Change(gained=("a", "b")) for one in members},
    )  # fmt: skip


def window(now_ms: int) -> Maintenance:
    """Mutes the group `under-work`."""
    return Maintenance(
        cluster="gamma",
        groups="under-*",
        owner="jane",
        reason="broker upgrade",
        from_ms=now_ms - 3_600_000,
        until_ms=now_ms + 3_600_000,
    )
