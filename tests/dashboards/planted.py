"""A run in which every state occurs: a real capture folded, and what it lacks planted into its group."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rebalance_monitor.streaming.cli.captures import records_of
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.details import (
    Balance,
    StreamsDetail,
    StreamsProcess,
    StreamsProgress,
    SubtopologyTasks,
    ThreadTasks,
)
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import OtherGroup, Tick
from rebalance_monitor.streaming.core.model.results import (
    AlertSeverity,
    GapRecord,
    Grade,
    JobState,
    RebalanceCost,
    Result,
    Source,
    Standing,
    Subject,
    Verdict,
)
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.replay import decode
from tests.streaming.builders import TOPIC, apart, cost, generation, incident, lag, undecodable
from tests.vector_files import CAPTURES

CAPTURE = CAPTURES / "zombie"
CLUSTER, GROUP = "c", "zombies"
MUTED_GROUP = "muted"
STREAMS_GROUP = "totals"
LEFT_GROUP = "left-behind"
"""It has lag and no members."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def settings() -> ClusterSettings:
    described = json.loads((CAPTURE / "cluster.json").read_text(encoding="utf-8"))
    connect = {
        group["group.id"]: ConnectSettings(
            config_topic=group["config.storage.topic"],
            status_topic=group["status.storage.topic"],
            max_delay_ms=int(group["scheduled.rebalance.max.delay.ms"]),
        )
        for group in described["groups"]
    }
    return ClusterSettings(name=CLUSTER, connect=connect)


def folded() -> list[Result]:
    """What the monitor says of the capture."""
    given, records = settings(), list(records_of(CAPTURE))
    rows = [row for row in (decode(one, given) for one in records) if row and not isinstance(row.body, OtherGroup)]
    last_ms = max(one.timestamp_ms for one in records)
    return [
        result
        for group, own in route(rows, given).items()
        for result in fold_group(given, group, None, own, Tick(last_ms), end_of_input=True).results
    ]


def planted(at_ms: int) -> Iterator[Result]:
    """What the capture lacks: a delay that runs, a job astray, incidents of every loudness, one muted, losses."""
    yield generation(
        10_000, group=GROUP, generation=999, at_ms=at_ms, state_ms=at_ms, delay_ms=300_000, unassigned=("a-1",),
        verdict=Verdict(
            grade=Grade.UNEXPLAINED, assignor="connect-incremental", reason=Reason(ReasonKind.OTHER_ANSWER, "differs")
        ),
        idle_ms={"scheduled_delay": 4_000},
    )  # fmt: skip
    yield job("a-0", "elsewhere", assigned=("w1:8083",), running="w2:8083", at_ms=at_ms)
    yield job("a-1", "unassigned", assigned=(), running=None, at_ms=at_ms)
    yield Standing(cluster=CLUSTER, group=GROUP, state="Stable", at_ms=at_ms)
    for number, alert in enumerate(AlertSeverity):
        yield apart(f"p{number}", group=GROUP, alert=alert, opened_at_ms=at_ms)
    yield incident(incident_id="quiet", group=MUTED_GROUP, opened_at_ms=at_ms)
    yield from streams_application(at_ms)
    yield Standing(cluster=CLUSTER, group=LEFT_GROUP, state="Empty", at_ms=at_ms)
    yield lag(LEFT_GROUP, answered_ms=at_ms, without_members=True, members=())
    yield RebalanceCost(cluster=CLUSTER, group=GROUP, source=Source(TOPIC, 3, 10_000), held_up=cost().held_up)
    yield undecodable(7)
    yield GapRecord(cluster=CLUSTER, topic=TOPIC, partition=3, from_offset=1, to_offset=5, reason="deleted")


def streams_application(at_ms: int) -> Iterator[Result]:
    """Two processes of a Streams application; one copy warms up, one is missing."""
    threads = (
        ThreadTasks(member_id="t1", active=("0_0", "0_1", "1_0", "1_1"), standby=("0_2",)),
        ThreadTasks(member_id="t2", active=("0_2", "1_2"), standby=("0_0", "0_1"), warm_up=("0_1",)),
    )
    lags = {"0_0": 0, "0_1": 51_200}
    detail = StreamsDetail(
        version=12,
        processes=tuple(
            StreamsProcess(process_id=one.member_id, host="/10.0.0.1", threads=(one,), lags=lags) for one in threads
        ),
        subtopologies=(
            SubtopologyTasks(
                name="0", topics={"orders": 3}, tasks=3, stateful=True, least=1, most=2, missing_standbys=1
            ),
            SubtopologyTasks(name="1", topics={"prices": 3}, tasks=3, stateful=False, least=1, most=2),
        ),
        roles_known=True,
        balance=Balance(stateful=(1, 2), stateless=(1, 2)),
        missing_standbys=1,
        progress=StreamsProgress(moves_left=1, rebalances=1, next_ms=at_ms + 600_000, probed=1),
    )
    made = generation(10_001, group=STREAMS_GROUP, protocol_type="consumer", at_ms=at_ms, state_ms=at_ms)
    yield replace(made, detail=detail)
    yield apart("s", group=STREAMS_GROUP, alert=AlertSeverity.INFO, opened_at_ms=at_ms)


def job(name: str, agreement: str, *, assigned: tuple[str, ...], running: str | None, at_ms: int) -> JobState:
    told: dict[str, Any] = {"state": None, "running": None, "running_generation": None, "running_at_ms": None}
    if running is not None:
        told = {"state": "RUNNING", "running": running, "running_generation": 999, "running_at_ms": at_ms}
    return JobState(
        cluster=CLUSTER, group=GROUP, job=Subject("task", name), incarnation=0, generation=999, assigned=assigned,
        expected="w1:8083", judged=True, since_ms=at_ms, agreement=agreement, **told,
    )  # fmt: skip


def window(at_ms: int) -> Maintenance:
    """Mutes one group for an hour."""
    return Maintenance(
        cluster=CLUSTER, groups=MUTED_GROUP, owner="us", reason="planted", from_ms=at_ms - 1_000,
        until_ms=at_ms + 3_600_000,
    )  # fmt: skip
