"""What `rebalance-monitor replay` says of a capture, and the grades it gave as a table."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lab.errors import LabError

GRADES = ("match", "explainable", "not_judged", "unexplained")


def replayed(capture: Path) -> list[dict[str, Any]]:
    """Everything that `replay` prints of the capture. LabError where it prints nothing."""
    command = [sys.executable, "-m", "rebalance_monitor", "replay", str(capture), "-o", "json"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if not told.stdout:
        raise LabError(told.stderr.strip())
    return [json.loads(line) for line in told.stdout.splitlines()]


def grades_of(lines: Iterable[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """The grades of each group's generations."""
    grades: dict[str, Counter[str]] = {}
    for line in lines:
        if line["kind"] == "generation":
            grades.setdefault(line["group"], Counter())[line["verdict"]["grade"]] += 1
    return grades


def show(grades: Mapping[str, Counter[str]], width: int) -> None:
    """Print the table; its first column is so wide."""
    print(f"{'':<{width}}" + "".join(f"{one:>12}" for one in GRADES))
    for name, counts in sorted(grades.items()):
        print(f"{name:<{width}}" + "".join(f"{counts[one]:>12}" for one in GRADES))


def show_found(lines: Iterable[Mapping[str, Any]]) -> bool:
    """Print violations and incidents; whether there is any."""
    found = [one for one in lines if one["kind"] in ("violation", "incident")]
    for one in found:
        print(json.dumps(one))
    return bool(found)
