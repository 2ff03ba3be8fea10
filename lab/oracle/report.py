"""What all comparisons with Kafka's classes ask for and print."""

import argparse
from collections.abc import Iterable, Sequence

from lab.cluster import jars

MOST_NAMED = 5


def asked(program: str, description: str | None, *, release: str, scenarios: str | None = None) -> argparse.Namespace:
    """The release, the number of scenarios and the seed of a comparison; `release` and `scenarios` describe the first
    two."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--release", default=jars.kafka_release(), help=release)
    parser.add_argument("--scenarios", type=int, default=1000, help=scenarios)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def show(counts: Iterable[tuple[str, int]], differing: str, kept: Sequence[str]) -> None:
    """Print what was compared, how many differ, and where the first of them were kept."""
    for what, count in (*counts, (differing, len(kept))):
        print(f"  {what:<46}{count:>10,}", flush=True)
    for path in kept[:MOST_NAMED]:
        print(f"  differs: {path}")
