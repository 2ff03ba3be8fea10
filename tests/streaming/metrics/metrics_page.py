"""Makes the lower part of docs/metrics.md: every series as /metrics shows it, from records of a real cluster.

    python -m tests.streaming.metrics.metrics_page      writes the page anew

What the capture does not hold (an incident that maintenance mutes, a gap, a task that waits) is added by hand below,
so that no declared metric stays without a sample.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.metrics import METRICS, PREFIX, Metric
from rebalance_monitor.streaming.core.model.details import (
    Balance,
    StreamsDetail,
    StreamsProcess,
    StreamsProgress,
    ThreadTasks,
)
from rebalance_monitor.streaming.core.model.records import OtherGroup, Tick
from rebalance_monitor.streaming.core.model.results import AlertSeverity, GapRecord, JobState, Result, Subject
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Owner, teams
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.metrics.batch_view import view_of
from rebalance_monitor.streaming.metrics.limits import BY_PARTITION, SeriesLimits
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.store.gaps import TopicGaps
from rebalance_monitor.streaming.store.history import Health
from rebalance_monitor.streaming.store.maintenance import Windows
from tests.streaming.builders import cost, generation, incident, lag, undecodable
from tests.streaming.store import test_capture as capture

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
MOST_SAMPLES = 4  # of one metric; the rest only repeats
OFFSETS = "__consumer_offsets"
OWNED = ClusterSettings(name="c", owners=(Owner(groups="orders*", team="orders"),))

_ENDS = ("_sum", "_count", "_bucket")
MARK = "<!-- below: made by `make metrics-page` -->"

HEALTH = Health(
    table_bytes={"generations": 48_000_000, "members": 31_000_000, "states": 2_000_000},
    limit_bytes=20 * 2**30, day_bytes=3_000_000, since_s=1_700_006_400, waiting_since_s=0,
)  # fmt: skip


def page() -> str:
    """The whole text: the prose above the mark as it stands, every series below."""
    prose, found, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert found, f"docs/metrics.md has lost its mark: {MARK}"
    exporter = _exporter()
    try:
        samples = _samples(exporter.scrape().decode())
    finally:
        exporter.stop()
    parts = [prose + MARK + "\n"]
    for metric in METRICS:
        names = [f"{metric.name}{end}" for end in _ENDS] if metric.kind == "histogram" else [metric.name]
        parts.append(_section(metric, [line for name in names for line in samples.get(name, [])]))
    return "\n".join(parts)


def _section(metric: Metric, samples: list[str]) -> str:
    # What is not zero first: it says more.
    shown = sorted(samples, key=lambda line: (line.endswith(" 0.0"), line))[:MOST_SAMPLES]
    more = len(samples) - len(shown)
    tail = [f"# and {more} more"] if more > 0 else []
    unit = "" if metric.unit == "none" else f", {metric.unit.replace('_', ' ')}"
    lines = "\n".join(["```", *shown, *tail, "```"])
    return f"## {metric.name}\n\n{metric.kind.capitalize()}{unit}. {metric.help}\n\n{lines}\n"


def _samples(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name = re.match(rf"{PREFIX}\w+", line)
        if name is not None:
            found.setdefault(name[0], []).append(line)
    return found


def _exporter() -> Exporter:
    """As after the last record of the capture, a minute later."""
    records = capture.records()
    now_ms = max(one.timestamp_ms for one in records) + 60_000
    window = Maintenance(
        cluster="*", groups="orders*", owner="jane", reason="upgrade", from_ms=now_ms - 1, until_ms=now_ms + 7_200_000
    )
    exporter = Exporter(
        0,
        clusters=["c"],
        version="0.1.0",
        page="http://127.0.0.1:9471",
        clock_s=lambda: now_ms / 1000,
        now_s=lambda: now_ms / 1000,
        limits=SeriesLimits(ignored_groups=("console-consumer-*",), team=teams({"c": OWNED}), lag=BY_PARTITION),
        windows=Windows([window]),
    )
    results = list(_folded(records))
    exporter.batch(_report(results, kinds=_kinds(records)))
    exporter.batch(
        _report(list(_planted()), rows=4, unknown_tags={OFFSETS: 1}, fold_errors={"KeyError": 1}, refused=["incidents"])
    )
    missing = {"orders-configs": "no such topic"}
    exporter.gaps([TopicGaps("c", OFFSETS, 7, 1)])
    exporter.part("page", "the page ended with code 2")
    exporter.of("c").polled("topics", 2, 1_700_000_000_000)
    exporter.of("c").progress_turn(31.2, 7)
    exporter.of("c").groups_unseen(unseen=False)
    exporter.reader(
        "c", SimpleNamespace(backlog={OFFSETS: 0}, missing=missing, problem=None, blind=None, caught_up=True)
    )
    exporter.notified("sent")
    exporter.outbox_pending(0)
    exporter.history(HEALTH)
    exporter.history_cut()
    exporter.beat("sent")
    return exporter


def _folded(records: list[Any]) -> Iterator[Result]:
    settings = capture.settings()
    rows = [row for row in (decode(one, settings) for one in records) if row and not isinstance(row.body, OtherGroup)]
    tick = Tick(max(one.timestamp_ms for one in records))
    for group, own in sorted(route(rows, settings).items()):
        yield from fold_group(settings, group, None, own, tick, end_of_input=True).results


def _kinds(records: list[Any]) -> dict[tuple[str, str], int]:
    settings = capture.settings()
    counts: dict[tuple[str, str], int] = {}
    for row in (decode(one, settings) for one in records):
        if row is not None:
            key = (row.topic, type(row.body).__name__)
            counts[key] = counts.get(key, 0) + 1
    return counts


def _report(results: list[Result], **more: Any) -> Any:
    given: dict[str, Any] = {
        "cluster": "c", "rows": 100, "seconds": 0.25, "kinds": {}, "unknown_tags": {},
        "other_groups": {("c", "", "unknown"): 3}, "fold_errors": {}, "refused": (), **more,
    }  # fmt: skip
    return SimpleNamespace(view=view_of(results), **given)


def _planted() -> Iterator[Result]:
    """What this capture does not hold."""
    yield generation(5, group="console-consumer-4711", protocol_type="consumer", members=())
    yield generation(6, group="orders-sinks", idle_ms={"scheduled_delay": 90_000}, unassigned=("orders-2",))
    yield JobState(
        cluster="c", group="orders-sinks", job=Subject("task", "orders-2"), incarnation=0, generation=7, assigned=(),
        expected=None, judged=True, state=None, running=None, running_generation=None, running_at_ms=None,
        since_ms=1_000, agreement="unassigned",
    )  # fmt: skip
    yield lag("orders-totals")
    yield cost("orders-totals")
    yield replace(generation(8, group="orders-totals", protocol_type="consumer"), detail=_streams())
    yield incident(group="connect-sinks", team="pipelines")
    yield incident(group="orders-sinks", incident_id="i2", team="orders", alert=AlertSeverity.WARNING)
    yield undecodable(7)
    yield GapRecord(cluster="c", topic=OFFSETS, partition=3, from_offset=10, to_offset=14, reason="deleted")


def _streams() -> StreamsDetail:
    """Two processes that share six tasks; one copy warms up, one is missing."""
    threads = (
        ThreadTasks(member_id="t1", active=("0_0", "0_1", "1_0", "1_1"), standby=("0_2",)),
        ThreadTasks(member_id="t2", active=("0_2", "1_2"), standby=("0_0", "0_1"), warm_up=("0_1",)),
    )
    return StreamsDetail(
        version=12,
        processes=tuple(StreamsProcess(process_id=one.member_id, host="/1", threads=(one,)) for one in threads),
        subtopologies=(),
        roles_known=True,
        balance=Balance(stateful=(1, 2), stateless=(1, 2)),
        missing_standbys=1,
        progress=StreamsProgress(moves_left=1, rebalances=1, next_ms=1_700_000_600_000, probed=1),
    )


__all__ = ["PAGE", "page"]

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
