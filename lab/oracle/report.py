"""What all comparisons with Kafka's classes ask for and print."""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from lab.cluster import jars, java
from lab.oracle.program import FOLDER

MOST_NAMED = 5
Compared = tuple[Counter[str], list[str]]
"""Counts of what was compared, and where cases with differences were kept."""


def asked(program: str, description: str | None, *, release: str, scenarios: str | None = None) -> argparse.Namespace:
    """The release, the number of scenarios and the seed of a comparison; `release` and `scenarios` describe the first
    two."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--release", default=jars.kafka_release(), help=release)
    parser.add_argument("--scenarios", type=int, default=1000, help=scenarios)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def keep(case: dict[str, Any], place: str = "") -> str:
    """Keep a case that differs, at this place of it; where."""
    path = FOLDER / f"differs-{case['id']}{place}.json"
    path.write_text(json.dumps(case) + "\n", encoding="utf-8")
    return str(path)


def told(what: str, chosen: argparse.Namespace, differing: str, compare: Callable[[], Compared]) -> int:
    """Compare, then print what was compared, how many differ, and where the first of them were kept; 1 if any did."""
    began = time.monotonic()
    counts, kept = compare()
    seconds = time.monotonic() - began
    print(f"{what}, Java {java.find().version}, seed {chosen.seed}, {seconds:.0f} s")
    for name, count in (*counts.items(), (differing, len(kept))):
        print(f"  {name:<46}{count:>10,}", flush=True)
    for path in kept[:MOST_NAMED]:
        print(f"  differs: {path}")
    return 1 if kept else 0
