"""`python -m lab.bench.generations.stages`: what one generation of the load costs, stage by stage, without Spark and
without a database.

The records are decoded, and folded batch by batch with stored states in between, as the job does; the results become
rows. CPU time is that of the process in user mode, so that other load on the machine counts as little as it can. Which
stage it belongs to, samples of the stack tell: the outermost function of the table below that runs.

To compare two checkouts, run this file of one with the packages of both in turn:

    PYTHONPATH=CHECKOUT CHECKOUT/.venv/bin/python -m lab.bench.generations.stages --json --generations 600
"""

import argparse
import json
import os
import resource
import signal
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import FrameType

from lab.bench.generations.load import KINDS, Load
from lab.bench.generations.played import Size
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.results import Result
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, decode
from rebalance_monitor.streaming.store.contents import contents

SAMPLE_S = 0.001
BATCH = 50
WARM_UP = 0.2
"""Of the generations; they are folded and not counted."""
ENDS = (b"\0\2", b"\0\6")
"""Begin the keys of records that end a generation: of a classic group, and of a target."""
STAGES: Sequence[tuple[str, str, str]] = (
    ("decode", "core/replay.py", "decode"),
    ("publishing", "store/contents.py", "contents"),
    ("state", "fold/state.py", "read"),
    ("state", "fold/state.py", "stored"),
    ("state", "fold/intake.py", "bodies"),
    ("state", "fold/waiting.py", ""),
    ("state", "fold/intake.py", "session"),
    ("verdict", "connect/generation.py", "_run_again"),
    ("verdict", "consumer/lifecycle.py", "_verdict"),
    ("verdict", "consumer/lifecycle.py", "_members"),
    ("verdict", "streams/verdict.py", ""),
    ("verdict", "targets/verdict.py", ""),
    ("laws", "connect/generation.py", "_examined"),
    ("laws", "consumer/answered.py", "after_answer"),
    ("laws", "consumer/laws.py", ""),
    ("laws", "streams/laws.py", ""),
    ("laws", "streams/laws_record.py", ""),
    ("laws", "streams/laws_placement.py", ""),
    ("laws", "streams/laws_across.py", ""),
    ("laws", "targets/laws.py", ""),
    ("laws", "targets/tally.py", ""),
    ("laws", "fold/all_groups.py", ""),
    ("results", "fold/published.py", ""),
    ("results", "connect/generation.py", "_published"),
    ("results", "connect/delay_waits.py", ""),
    ("results", "incidents/book.py", ""),
    ("statuses", "connect/lifecycle.py", "tell"),
)
REST = "rest of the fold"


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU µs per generation: all of it, and by stage."""

    generations: int
    us: float
    stages: Mapping[str, float]


class _Sampler:
    """Counts which stage runs, every millisecond of CPU time."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self._known: dict[tuple[str, str], str | None] = {}

    def __enter__(self) -> "_Sampler":
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_S, SAMPLE_S)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        found = REST
        while frame is not None:
            code = frame.f_code
            key = code.co_filename, code.co_name
            if key not in self._known:
                self._known[key] = _stage(*key)
            found = self._known[key] or found
            frame = frame.f_back
        self.counts[found] += 1


def _stage(file: str, function: str) -> str | None:
    named = (stage for stage, end, name in STAGES if file.endswith(end) and name in ("", function))
    return next(named, None)


def measured(load: Load, batch: int = BATCH) -> Cost:
    """Plays the load in batches of so many generations."""
    records = list(load.records())
    settings, knowledge = load.settings, load.knowledge()
    batches = list(_batches(records, batch))
    warm = round(len(batches) * WARM_UP)
    states: dict[str, Saved] = {}
    generations, spent_s, sampler = 0, 0.0, _Sampler()
    for number, part in enumerate(batches):
        with sampler:
            began_s = _user_s()
            rows = [row for one in part if (row := decode(one, settings)) is not None]
            results: list[Result] = []
            tick = Tick(part[-1].timestamp_ms)
            for group, own in route(rows, settings).items():
                outcome = fold_group(settings, group, states.get(group), own, tick, knowledge=knowledge)
                while outcome.wants_waiting:
                    outcome = fold_group(settings, group, outcome.state, (), tick, knowledge=knowledge)
                states[group] = outcome.state
                results += outcome.results
            filled = contents(results, number, lambda *_: "id")
            took_s = _user_s() - began_s
        if number < warm:
            sampler.counts.clear()
        else:
            spent_s += took_s
            generations += len(filled.generations)
    total, us = max(sampler.counts.total(), 1), spent_s * 1e6 / max(generations, 1)
    return Cost(generations, us, {stage: us * count / total for stage, count in sampler.counts.most_common()})


def _batches(records: Sequence[RawRecord], generations: int) -> Iterator[list[RawRecord]]:
    """What is written up to every so many generations."""
    part: list[RawRecord] = []
    ended = 0
    for one in records:
        part.append(one)
        ended += one.topic == OFFSETS_TOPIC and (one.key or b"").startswith(ENDS)
        if ended == generations:
            yield part
            part, ended = [], 0
    if part:
        yield part


def _user_s() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def median(costs: Sequence[Cost]) -> Cost:
    """The run in the middle."""
    middle = statistics.median_low(one.us for one in costs)
    return next(one for one in costs if one.us == middle)


def main() -> int:
    """Print the table, or a JSON object."""
    parser = argparse.ArgumentParser(prog="python -m lab.bench.generations.stages", description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--generations", type=int, default=600)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--partitions", type=int, default=60)
    parser.add_argument("--batch", type=int, default=BATCH, help="generations in a batch")
    parser.add_argument("--changing", type=float, default=0.06)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    size = Size(
        generations=given.generations,
        groups=given.groups,
        members=given.members,
        partitions=given.partitions,
        changing=given.changing,
    )
    for kind in given.kinds:
        cost = median([measured(Load(size, (kind,)), given.batch) for _ in range(given.runs)])
        if given.json:
            print(json.dumps({"kind": kind, "load": os.getloadavg()[0], **asdict(cost)}), flush=True)
            continue
        told = ", ".join(f"{stage} {us:,.0f}" for stage, us in cost.stages.items())
        print(f"{kind}: {cost.us:,.0f} µs for one of {cost.generations} generations: {told}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
