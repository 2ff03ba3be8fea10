"""`make chaos`: kill parts of a running system at random moments, and look whether anything is lost, doubled or wrong.

A run is a new world with so many faults, in an order that its seed decides: one whose jobs are one process of Java
each, then one whose jobs fold on a cluster of Spark. `--kills 200` makes as many runs as that takes. Finished runs are
kept in a file: a broken sweep goes on where it stopped.

    make chaos                                     each fault once (about 25 min)
    make chaos ARGS="--kills 200"                  the long profile (about 3 h; resumes)
    make chaos ARGS="--fault 'broker killed'"      one of them
"""

import argparse
import json
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

from lab.chaos import isolated
from lab.chaos.checks import check
from lab.chaos.faults import FAULTS, Fault
from lab.chaos.world import World
from lab.cluster import jars, java, postgres
from lab.errors import LabError, Stopped
from lab.paths import BUILD
from lab.process import Lab, Progress, signals_stop

FOLDER = BUILD / "chaos"
RESULTS = BUILD / "chaos.jsonl"
PER_RUN = len(FAULTS)
MOST_PAUSE_S = 8.0


@dataclass(slots=True)
class Struck:
    """One fault: how long until a job was ready and everything stored, and how often the holder changed."""

    fault: str
    recovered_s: float
    changes: int
    most_changes: int


@dataclass(slots=True)
class Run:
    """What one world gave."""

    seed: int
    on_spark: bool = False
    struck: list[Struck] = field(default_factory=list)
    generations: int = 0
    notifications: int = 0
    repeated: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    unsampled: int = 0
    not_notified: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def well(self) -> bool:
        too_often = any(one.changes > one.most_changes for one in self.struck)
        return not (self.lost or self.doubled or self.wrong or self.not_notified or too_often)


def run(seed: int, faults: Sequence[Fault], progress: Progress, folder: Path = FOLDER) -> Run:
    """One world from its start to its checks. All faults are of one kind of world."""
    (on_spark,) = {one.on_spark for one in faults}
    dice, made = Random(f"chaos {seed}"), Run(seed, on_spark)
    postgres.stop_server(folder / "postgres")
    shutil.rmtree(folder, ignore_errors=True)
    with Lab(folder, progress) as lab:
        world = World(lab, seed, on_spark=on_spark)
        beside = ", a cluster of Spark" if on_spark else ""
        with progress.step(f"run {seed}: broker, PostgreSQL, a receiver, a load{beside}, a job and its standby"):
            world.start()
        for fault in faults:
            time.sleep(dice.uniform(0, MOST_PAUSE_S))
            with progress.step(fault.name):
                world.wait("a standby", world.standby_waits)
                before, began_s = world.taken(), time.monotonic()
                fault.strike(world)
                world.recovered()
                seconds = time.monotonic() - began_s
            made.struck.append(Struck(fault.name, round(seconds, 1), world.taken() - before, fault.changes))
        with progress.step("the end of the load, and the checks"):
            world.end()
            found = check(world)
    made.generations, made.notifications, made.repeated = found.generations, found.notifications, found.repeated
    made.lost, made.doubled, made.wrong = len(found.lost), len(found.doubled), len(found.wrong)
    made.unsampled = found.unsampled
    made.not_notified, made.lines = len(found.not_notified), found.lines()
    return made


def table(runs: Sequence[Run]) -> str:
    """Faults with their times, then what all runs found."""
    by_fault: dict[str, list[Struck]] = defaultdict(list)
    for one in (struck for run in runs for struck in run.struck):
        by_fault[one.fault].append(one)
    wide = max(map(len, by_fault), default=5)
    lines = [f"{'fault':<{wide}}  times  s to recover (median, most)  changes of the holder (most)"]
    for fault, some in by_fault.items():
        times = sorted(one.recovered_s for one in some)
        median, most, changes = times[len(times) // 2], times[-1], max(one.changes for one in some)
        lines.append(f"{fault:<{wide}}  {len(some):>5}  {median:>12.1f}  {most:>13.1f}  {changes:>28}")
    sums = {
        name: sum(getattr(one, name) for one in runs)
        for name in (
            "generations",
            "lost",
            "doubled",
            "wrong",
            "unsampled",
            "notifications",
            "not_notified",
            "repeated",
        )
    }
    lines += ["", *(f"{name.replace('_', ' '):<{wide}}  {count:>5}" for name, count in sums.items())]
    return "\n".join([*lines, *(f"run {one.seed}: {line}" for one in runs for line in one.lines)])


def finished(file: Path) -> dict[tuple[int, bool], Run]:
    """Runs that the file holds, by seed and kind of world; a line that was cut short is left out."""
    found: dict[tuple[int, bool], Run] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        made = Run(**{**told, "struck": [Struck(**one) for one in told["struck"]]})
        found[made.seed, made.on_spark] = made
    return found


def worlds(faults: Sequence[Fault], first_seed: int, kills: int) -> Iterator[tuple[int, list[Fault]]]:
    """Each world's seed and its faults in their order, until there were so many faults."""
    for seed in range(first_seed, first_seed + -(-kills // len(faults))):
        order = list(faults)
        Random(seed).shuffle(order)
        for on_spark in (False, True):
            if some := [one for one in order if one.on_spark is on_spark]:
                yield seed, some


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when nothing is lost, doubled or wrong; 1 otherwise."""
    asked = _parser().parse_args(arguments)
    faults = [one for one in FAULTS if not asked.fault or one.name in asked.fault]
    if (why := isolated.missing()) is None:
        jars.fetch(java.find())  # the network of its own leads nowhere
        isolated.enter()
    else:
        left_out = [one.name for one in faults if one.isolated]
        faults = [one for one in faults if not one.isolated]
        print(f"chaos: {why}; so left out: {', '.join(left_out) or 'nothing'}")
        if not faults:
            return 2
    progress, file = Progress(), Path(asked.results)
    done = {} if asked.fault or asked.anew else finished(file)
    runs: list[Run] = []
    try:
        for seed, some in worlds(faults, asked.seed, asked.kills):
            if (made := done.get((seed, some[0].on_spark))) is None:
                with signals_stop():
                    made = run(seed, some, progress)
                if not asked.fault:
                    with file.open("a", encoding="utf-8") as kept:
                        kept.write(json.dumps(asdict(made)) + "\n")
            runs.append(made)
    except LabError as why:
        print(f"chaos: {why}", file=sys.stderr)
        return 2
    except Stopped as stopped:
        print(f"chaos: stopped; the next start goes on behind what {file} holds", file=sys.stderr)
        return 128 + stopped.signal_number
    finally:
        if runs:
            print(f"\n{table(runs)}")
    return 0 if all(one.well for one in runs) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=PER_RUN, help="faults in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the first run (default: %(default)s)")
    names = [one.name for one in FAULTS]
    parser.add_argument("--fault", action="append", choices=names, metavar="NAME", help="only this; can be repeated")
    parser.add_argument("--results", default=str(RESULTS), help="file of finished runs (default: %(default)s)")
    parser.add_argument("--anew", action="store_true", help="do not use what is finished")
    return parser


if __name__ == "__main__":
    sys.exit(main())
