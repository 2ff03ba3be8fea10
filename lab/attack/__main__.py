"""`python -m lab.attack`: the sweeps of `make attack`, all of them or some, as tables or as JSON."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.attack import clocks, consumer_mutants, first_contact, holes, mutants, streams_mutants
from lab.attack.life import VARIED, Life, captures, simulated
from lab.attack.pieces import Done, Piece, finished
from lab.attack.planted import planted
from lab.paths import ROOT

RESULTS = ROOT / ".build" / "attack.jsonl"
MOST_S = 3_500.0
SEEDS, VARIED_SEEDS = 16, 4


@dataclass(frozen=True, slots=True)
class Sweep:
    """One way of attack."""

    pieces: Callable[[Sequence[Life]], Iterator[Piece]]
    tables: Callable[[Sequence[Done]], list[str]]


SWEEPS = {
    clocks.SWEEP: Sweep(clocks.pieces, clocks.tables),
    holes.SWEEP: Sweep(holes.pieces, holes.tables),
    first_contact.SWEEP: Sweep(first_contact.pieces, first_contact.tables),
    mutants.SWEEP: Sweep(mutants.pieces, mutants.tables),
    consumer_mutants.SWEEP: Sweep(consumer_mutants.pieces, consumer_mutants.tables),
    streams_mutants.SWEEP: Sweep(streams_mutants.pieces, streams_mutants.tables),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweeps; 0 when every piece is finished."""
    asked = _parser().parse_args(arguments)
    real = () if asked.no_captures else captures()
    seeds = [*range(asked.first_seed, asked.first_seed + asked.seeds), *range(VARIED, VARIED + asked.varied)]
    lives = [*real, *(simulated(seed) for seed in seeds)]
    if asked.life:
        lives = [one for one in lives if one.name in asked.life]
    planned: list[Piece] = []
    for name in asked.sweeps or SWEEPS:
        planned += SWEEPS[name].pieces([*lives, *_planted(asked)] if name == clocks.SWEEP else lives)
    if asked.cell:
        planned = [one for one in planned if asked.cell in one.cell]
    progress = None if asked.quiet else sys.stderr
    file = None if asked.results == "" else Path(asked.results)
    done = list(finished(planned, file=file, most_s=asked.most_s, progress=progress))
    if asked.output == "json":
        for piece in done:
            print(json.dumps({"sweep": piece.sweep, "cell": piece.cell, "life": piece.life, **piece.outcome}))
    else:
        for name in dict.fromkeys(one.sweep for one in done):
            of_sweep = [one for one in done if one.sweep == name]
            print("\n\n".join((*SWEEPS[name].tables(of_sweep), *_details(of_sweep, asked.details))), end="\n\n")
    return 0 if len(done) == len(planned) else 3


def _planted(asked: argparse.Namespace) -> list[Life]:
    """Lives with planted duplicates, among those that are asked for."""
    if asked.no_planted:
        return []
    return [one for one in planted() if not asked.life or one.name in asked.life]


def _details(done: Sequence[Done], most: int) -> list[str]:
    """What was found wrong, line by line."""
    lines = [
        f"{one.sweep}, {one.cell}, {one.life}: {line}"
        for one in done
        for kind in ("false", "louder", "unexplained", "examples")
        if isinstance(one.outcome.get(kind), list)
        for line in one.outcome[kind]
    ]
    return ["\n".join(lines[:most])] if lines and most else []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.attack", description=__doc__)
    parser.add_argument("sweeps", nargs="*", choices=[*SWEEPS, []], help="default: all")
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, help="simulated clusters in every cell (default: %(default)s)"
    )
    parser.add_argument(
        "--varied", type=int, default=VARIED_SEEDS, help="those whose workers differ (default: %(default)s)"
    )
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first one (default: %(default)s)")
    parser.add_argument("--no-captures", action="store_true", help="simulated clusters alone")
    parser.add_argument(
        "--no-planted", action="store_true", help="without the lives in which jobs run twice on purpose"
    )
    parser.add_argument("--life", action="append", help='only this life, such as "seed 7" or "zombie"; can be repeated')
    parser.add_argument("--cell", help="only cells with this text in their names")
    parser.add_argument("--results", default=str(RESULTS), help='file of finished pieces; "" keeps none')
    parser.add_argument("--most-s", type=float, default=MOST_S, help="end after so many seconds (default: %(default)s)")
    parser.add_argument("--details", type=int, default=40, help="how many findings to list (default: %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
