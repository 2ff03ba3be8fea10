"""What it costs to carry hypotheses: judging a generation against running the assignor once, on recorded clusters.

The captures are replayed to learn each generation's case with the hypotheses carried into it; then `judge` and one
`assign` of its first hypothesis are timed on the same case, best of RUNS. Once with the cluster's settings (release and
maximum delay) and once without, where the leader's release is itself a hypothesis.
"""

import gzip
import json
import statistics
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.paths import ROOT
from rebalance_monitor.assignors.connect import incremental
from rebalance_monitor.assignors.connect.eras import ERAS
from rebalance_monitor.assignors.connect.round import CannotAssign
from rebalance_monitor.streaming.core.connect import verdict
from rebalance_monitor.streaming.core.connect.leader import hypotheses
from rebalance_monitor.streaming.core.connect.leader.rounds import Case, rounds_of
from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.replay import RawRecord, replay

CAPTURES = ROOT / "tests" / "vectors" / "captures"
RUNS = 5
ALL = "all"
AIM_TIMES = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracked:
    """One capture; medians over its generations of an incremental protocol."""

    capture: str
    settings_known: bool
    generations: int
    hypotheses: float
    judge_ms: float
    assign_ms: float
    times: float


def records(folder: Path) -> Iterator[RawRecord]:
    """What the cluster left in its topics."""
    with gzip.open(folder / "records.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            key, value = (None if line[part] is None else b64decode(line[part]) for part in ("key", "value"))
            yield RawRecord(
                topic=line["topic"], partition=line["partition"], offset=line["offset"],
                timestamp_ms=line["timestamp"], key=key, value=value,
            )  # fmt: skip


def settings_of(folder: Path, *, known: bool) -> ClusterSettings:
    """Topics always; release, delay and Java only if `known`."""
    groups: list[dict[str, Any]] = json.loads((folder / "cluster.json").read_text(encoding="utf-8"))["groups"]
    connect = {}
    for group in groups:
        if "config.storage.topic" in group:
            releases = group.get("worker releases") or []
            connect[group["group.id"]] = ConnectSettings(
                config_topic=group["config.storage.topic"],
                status_topic=group.get("status.storage.topic"),
                max_delay_ms=group.get("scheduled.rebalance.max.delay.ms") if known else None,
                release=releases[0] if known and len(releases) == 1 else None,
                java_version=17 if known else None,
            )
    return ClusterSettings(name=folder.name, connect=connect)


def cases_of(folder: Path, *, known: bool) -> list[Case]:
    """Every case that the fold judged."""
    seen: list[Case] = []
    judge = verdict.judge

    def noted(case: Case) -> verdict.Judgement:
        seen.append(case)
        return judge(case)

    verdict.judge = noted
    try:
        replay(records(folder), settings_of(folder, known=known))
    finally:
        verdict.judge = judge
    return [case for case in seen if case.body.protocol != EAGER]


def best_ms(run: Callable[[], object]) -> float:
    taken = []
    for _ in range(RUNS):
        began = time.thread_time()
        run()
        taken.append(time.thread_time() - began)
    return min(taken) * 1000


def one_run(case: Case) -> Callable[[], object] | None:
    """One execution of the assignor for this case; None where its first hypothesis cannot be run."""
    first, round_ = next(iter(case.carried.hypotheses), None), next(rounds_of(case), None)
    if first is None or round_ is None:
        return None
    max_delay_ms = hypotheses.DEFAULT_MAX_DELAY_MS if first.max_delay_ms is None else first.max_delay_ms

    def run() -> object:
        return incremental.assign(first.memory, round_, max_delay_ms=max_delay_ms, era=ERAS[first.era])

    try:
        run()
    except CannotAssign:
        return None
    return run


def measure() -> Iterator[Tracked]:
    """Every capture of a cluster that ever spoke an incremental protocol."""
    for known in (True, False):
        every_judged: list[float] = []
        every_alone: list[float] = []
        every_carried: list[int] = []
        for folder in sorted(path for path in CAPTURES.iterdir() if path.is_dir()):
            judged, alone, carried = [], [], []
            for case in cases_of(folder, known=known):
                run = one_run(case)
                if run is not None:
                    alone.append(best_ms(run))
                    judged.append(best_ms(lambda case=case: verdict.judge(case)))  # type: ignore[misc]
                    carried.append(len(case.carried.hypotheses))
            if judged:
                yield median_of(folder.name, judged, alone, carried, known=known)
            every_judged += judged
            every_alone += alone
            every_carried += carried
        yield median_of(ALL, every_judged, every_alone, every_carried, known=known)


def median_of(capture: str, judged: list[float], alone: list[float], carried: list[int], *, known: bool) -> Tracked:
    return Tracked(
        capture=capture,
        settings_known=known,
        generations=len(judged),
        hypotheses=statistics.median(carried),
        judge_ms=statistics.median(judged),
        assign_ms=statistics.median(alone),
        times=statistics.median(whole / part for whole, part in zip(judged, alone, strict=True)),
    )


def aims(tracked: list[Tracked]) -> list[str]:
    """One line per way of running."""
    lines = []
    medians = {one.settings_known: one.times for one in tracked if one.capture == ALL}
    for known, words in ((True, "with the cluster's settings"), (False, "with nothing configured but the topics")):
        times = medians[known]
        met = "met" if times <= AIM_TIMES else "**missed**"
        lines.append(
            f"* Judging a generation at most {AIM_TIMES:g} times one assignor run, {words}: {met}, {times:.1f} times "
            "in the median generation."
        )
    return lines


def table(tracked: list[Tracked]) -> list[str]:
    """For people."""
    rows = [
        "| capture | settings | generations | hypotheses | judge, ms | one assignor run, ms | times |",
        "|---|---|---|---|---|---|---|",
    ]
    rows += [
        f"| {one.capture} | {'known' if one.settings_known else 'unknown'} | {one.generations} | {one.hypotheses:g} "
        f"| {one.judge_ms:.2f} | {one.assign_ms:.2f} | {one.times:.1f} |"
        for one in tracked
    ]
    rows += [
        "",
        "A judgement is at the least one run, the comparison of its bytes, and the building of the round from the "
        "record. Releases that cannot differ in a round, as its answer rests on nothing that separates them, share "
        "one run; each further release that may answer differently is a run more, until the configuration names the "
        "release or evidence excludes it.",
    ]
    return rows
