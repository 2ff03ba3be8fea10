"""What the benchmarks of assignors have in common: rows as they are measured, aims, and both reports."""

import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

F = TypeVar("F")


def machine() -> str:
    """What the figures were measured on."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


def met(reached: bool) -> str:
    """Whether an aim was reached."""
    return "met" if reached else "**missed**"


def shown(figures: Iterable[F], table: Callable[[list[F]], list[str]]) -> list[F]:
    """All figures, each printed as a row of the table once it is measured."""
    found = []
    for one in figures:
        found.append(one)
        print(table([one])[-1], flush=True)
    return found


def report_text(
    title: str, by: str, against: str, how: str | None, table: Sequence[str], sums: Iterable[str]
) -> list[str]:
    """The report for people. `by`: the command; `how`: the module's text; `sums`: what the figures come to."""
    return [
        f"# Benchmarks of {title}",
        "",
        f"Written by `{by}` on {machine()}, against {against}. All figures in ms.",
        "",
        *(how or "").strip().splitlines()[2:],
        "",
        *table,
        "",
        *sums,
    ]


def write(report: Path, text: Sequence[str], data: object) -> None:
    """The report for people and for programs."""
    report.with_suffix(".md").write_text("\n".join(text) + "\n", encoding="utf-8")
    report.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
