"""`make bench-growth`: what a generation costs as a load grows in one dimension; writes docs/sizing.md.

The same drain as in `make bench`, at three sizes of each dimension, the middle one shared. Slopes come from the least
and the largest size, so what a start costs is not in them. About ten minutes.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from lab.bench import report, sizing
from lab.bench.drain import Drained, drain
from lab.bench.generations.load import Load
from lab.bench.generations.played import Size
from lab.bench.job import FOLDER, JUDGED, alone, lab_in
from lab.bench.prepared import TrueGenerations
from lab.cluster import java
from lab.errors import says_why
from lab.process import Progress, signals_stop

RESULTS = report.REPORT.with_name("benchmarks-growth.json")
MIDDLE = Size(generations=6_000, groups=63, members=11, partitions=44)
GROWN: Mapping[str, Sequence[int]] = {
    "generations": (2_000, 18_000),
    "groups": (14, 189),
    "members": (4, 33),
    "partitions": (15, 132),
    "log_partitions": (2, 50),
}
"""Least and largest size, by the field of `Size`; partitions of the log are what bundles are made of."""


@dataclass(frozen=True, slots=True)
class Point:
    """One drain. `grown`: which field has another value than in the middle; none there."""

    grown: str
    size: Size
    drained: Drained


def sizes() -> list[tuple[str, Size]]:
    """Every drain, the middle first."""
    grown = [(name, replace(MIDDLE, **{name: value})) for name, values in GROWN.items() for value in values]
    return [("", MIDDLE), *grown]


def measured(points: Sequence[tuple[str, Size]], folder: Path, progress: Progress) -> list[Point]:
    """Drains one after the other, each in a folder of its own."""
    found = []
    for grown, size in points:
        with lab_in(folder / f"growth-{grown}-{getattr(size, grown, '')}", progress) as lab:
            found.append(Point(grown, size, drain(lab, TrueGenerations(Load(size, JUDGED)))))
    return found


@says_why("growth")
def main() -> int:
    """Measure all, keep the figures, write the page."""
    parser = argparse.ArgumentParser(prog="make bench-growth", description=__doc__)
    parser.add_argument("--page-only", action="store_true", help="write the page from the figures that are kept")
    given = parser.parse_args()
    progress = Progress()
    if not given.page_only:
        with signals_stop(), alone():
            points = measured(sizes(), FOLDER, progress)
        kept = {
            "machine": report.machine(),
            "versions": report.versions(java.find().version),
            "points": [asdict(one) for one in points],
        }
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    sizing.write(json.loads(RESULTS.read_text(encoding="utf-8")), report.last())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
