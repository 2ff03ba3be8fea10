"""Readable constructors for what a batch commits."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import psycopg

from rebalance_monitor.streaming.core.model.details import ConnectDetail
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import (
    AlertSeverity,
    Certainty,
    ConnectShare,
    Evidence,
    Generation,
    Grade,
    GroupProgress,
    HeldUp,
    Incident,
    MemberLag,
    MemberResult,
    Part,
    PartitionLag,
    RebalanceCost,
    Severity,
    Source,
    Subject,
    TopicLag,
    UndecodableRecord,
    Verdict,
)
from rebalance_monitor.streaming.core.ports import Commit, GroupKey, PartitionKey, Range, Store, StoredState

TOPIC = "__consumer_offsets"
PARTITION = PartitionKey("k1", "id-1", TOPIC, 3)
GROUP = GroupKey("c", "connect-1")


def commit(
    epoch: int, start: int = 0, end: int = 10, *results: Any, key: PartitionKey = PARTITION, **more: Any
) -> Commit:
    given: dict[str, Any] = {"batch_id": end, "states": {}, **more}
    return Commit(writer_epoch=epoch, ranges={key: Range(start, end)}, results=results, **given)


def state(due_ms: int | None = None, content: bytes = b"s", revision: int = 0) -> StoredState:
    """By default as who commits the first one; once it is stored, its revision is 1."""
    return StoredState(version=1, state=content, due_ms=due_ms, revision=revision)


def onto(store: Store, states: Mapping[GroupKey, StoredState]) -> dict[GroupKey, StoredState]:
    """The states as who has loaded those before them commits them."""
    loaded = store.load(states.keys())
    return {key: replace(one, revision=loaded[key].revision if key in loaded else 0) for key, one in states.items()}


def member(number: int = 1) -> MemberResult:
    return MemberResult(
        member_id=f"connect-{number}", client_id="connect", client_host="/127.0.0.1", instance_id=None,
        worker=f"w{number}:8083", assigned=ConnectShare(("a",), (("a", 0),)), revoked=None, owned=ConnectShare(),
    )  # fmt: skip


def generation(offset: int = 5, **more: Any) -> Generation:
    """A Connect generation; its own fields and those of its detail may be given."""
    names = {one.name for one in fields(ConnectDetail)} & more.keys()
    detail = ConnectDetail(**{name: more.pop(name) for name in names})
    given: dict[str, Any] = {
        "cluster": "c", "group": "connect-1", "incarnation": 0, "protocol_type": "connect", "protocol": "sessioned",
        "generation": 7, "leader": "connect-1", "at_ms": 1_000, "state_ms": 1_000, "source": Source(TOPIC, 3, offset),
        "members": (member(1), member(2)),
        "verdict": Verdict(grade=Grade.MATCH, assignor="connect-incremental"), "detail": detail, **more,
    }  # fmt: skip
    return Generation(**given)


def pending(offset: int = 5, **more: Any) -> Generation:
    verdict = Verdict(
        grade=Grade.NOT_JUDGED, reason=Reason(ReasonKind.PENDING, "pending: config offset 12"), pending_until_ms=61_000
    )
    return generation(offset, verdict=verdict, **more)


def incident(transition: str = "fired", incident_id: str = "i1", **more: Any) -> Incident:
    """An incident people are told of, or the end of one."""
    given: dict[str, Any] = {
        "rule": "duplicate_active", "code": "CONNECT-I1",
        "severity": Severity.CRITICAL, "certainty": Certainty.CERTAIN,
        "cluster": "c", "group": "connect-1", "opened_generation": 7, "opened_at_ms": 1_000,
        "resolved_at_ms": 9_000 if transition == "resolved" else None,
        "subjects": (Subject("task", "my-sink-0"), Subject("worker", "w1:8083")),
        "message": "task my-sink-0 runs twice", "evidence": (Evidence(Source(TOPIC, 3, 5)), Evidence(text="seen")),
        "alert": AlertSeverity.CRITICAL, "firing": transition != "resolved" and not more.get("historic", False),
        "fired_at_ms": None if more.get("historic", False) else more.get("opened_at_ms", 1_000), "times_told": 1,
        "alert_name": "KafkaConnectDuplicateTask",
        **more,
    }  # fmt: skip
    return Incident(incident_id=incident_id, transition=transition, **given)


def apart(incident_id: str, transition: str = "fired", **more: Any) -> Incident:
    """An incident of a task of its own, so that no other incident's notification names it."""
    return incident(transition, incident_id, subjects=(Subject("task", f"{incident_id}-0"),), **more)


def part(incident: Incident, **more: Any) -> Part:
    """What the incident names, as its one part."""
    given: dict[str, Any] = {
        name: getattr(incident, name)
        for name in ("incident_id", "code", "subjects", "severity", "certainty", "opened_generation", "opened_at_ms",
                     "resolved_at_ms", "message", "evidence")
    }  # fmt: skip
    return Part(**{**given, **more})


def lag(group: str = "g", **more: Any) -> GroupProgress:
    """What brokers said of a group with two partitions of one topic, one of which is behind."""
    behind = PartitionLag(partition="orders-0", committed=60, end=100, lag=40, lag_ms=8_000, member="m1")
    given: dict[str, Any] = {
        "cluster": "c", "generation": 3, "asked_ms": 1_700_000_000_000, "answered_ms": 1_700_000_000_200,
        "members": (
            MemberLag(member="m1", partitions=2, advancing=1, caught_up=1, standing=0, unknown=0, lag=40),
        ),
        "without_members": False, "lag": 40, "lag_ms": 8_000, "trend": "steady", "first_ms": 1_699_999_000_000,
        "changed_ms": 1_700_000_000_200,
        "topics": (TopicLag(topic="orders", partitions=2, unknown=0, lag=40, lag_ms=8_000),),
        "partitions": (behind, replace(behind, partition="orders-1", committed=90, end=90, lag=0, lag_ms=0)),
        **more,
    }  # fmt: skip
    return GroupProgress(group=group, **given)


def cost(group: str = "g", **more: Any) -> RebalanceCost:
    """A rebalance that held up 4,000 records, until the group had caught up after a minute."""
    given: dict[str, Any] = {
        "generation": 3, "rebalances": 1, "since_ms": 1_700_000_000_000, "before": 40, "records": 4_000,
        "caught_up_ms": 1_700_000_060_000, "final": True, **more,
    }  # fmt: skip
    return RebalanceCost(cluster="c", group=group, source=Source(TOPIC, 0, 5), held_up=HeldUp(**given))


def undecodable(offset: int, reason: str = "trailing bytes") -> UndecodableRecord:
    return UndecodableRecord(cluster="c", source=Source(TOPIC, 3, offset), reason=reason, size_bytes=4, sample="00ff")


def writer_epoch(dsn: str) -> int:
    """The epoch of the writer of cluster c; claimed if nobody has claimed one yet."""
    with psycopg.connect(dsn) as database:
        row = database.execute(
            "insert into rebalance_monitor.writer as old (cluster, epoch) values ('c', 1)"
            " on conflict (cluster) do update set epoch = old.epoch returning epoch"
        ).fetchone()
    assert row is not None
    return int(row[0])
