"""Finished pieces of a sweep, kept in a file so that a broken run goes on, and the loop that makes the rest.

A piece is one cell over one life. Its key holds a fingerprint of the sources that decide its result: after a change of
the monitor or of the simulator nothing old is reused.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TextIO

from lab.paths import ROOT

Outcome = Mapping[str, Any]
_SOURCES = ("schemas", "assignors", "streaming/core", "lab/simulated", "lab/attack")


@dataclass(frozen=True, slots=True)
class Piece:
    """One cell of a sweep over one life; `make` does the work."""

    sweep: str
    cell: str
    life: str
    make: Callable[[], Outcome]

    @property
    def key(self) -> str:
        return f"{self.sweep}|{self.cell}|{self.life}"


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a piece."""

    sweep: str
    cell: str
    life: str
    outcome: Outcome


@cache
def fingerprint() -> str:
    """Of everything that a result depends on."""
    digest = sha256()
    for folder in _SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def kept(file: Path | None) -> dict[str, Outcome]:
    """Results of these sources that the file holds; a line that was cut short is left out."""
    found: dict[str, Outcome] = {}
    if file is None or not file.exists():
        return found
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            piece = json.loads(line)
        except json.JSONDecodeError:
            continue
        if piece.get("sources") == fingerprint():
            found[piece["key"]] = piece["outcome"]
    return found


def finished(
    pieces: Sequence[Piece], *, file: Path | None = None, most_s: float | None = None, progress: TextIO | None = None
) -> Iterator[Done]:
    """All pieces in turn, from the file or made now. Ends early after `most_s`; what is made is in the file by then."""
    known, began_s = kept(file), time.monotonic()
    show = progress if progress is not None else sys.stderr
    for number, piece in enumerate(pieces, 1):
        outcome = known.get(piece.key)
        if outcome is None:
            spent_s = time.monotonic() - began_s
            if most_s is not None and spent_s > most_s:
                print(f"\n{len(pieces) - number + 1} pieces are left: run it again to go on", file=show)
                return
            outcome = piece.make()
            if file is not None:
                _keep(file, piece, outcome)
            if progress is not None:
                print(f"\r{number}/{len(pieces)} {piece.sweep} {piece.cell} {piece.life}\x1b[K", end="", file=show)
                show.flush()
        yield Done(piece.sweep, piece.cell, piece.life, outcome)
    if progress is not None:
        print("\r\x1b[K", end="", file=show)


def _keep(file: Path, piece: Piece, outcome: Outcome) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        line = {"sources": fingerprint(), "key": piece.key, "outcome": outcome}
        lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def table(title: str, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Text with aligned columns."""
    listed = [("", list(columns)), *((name, list(cells)) for name, cells in rows)]
    first = max(len(name) for name, _ in listed)
    widths = [max(len(cells[at]) for _, cells in listed) for at in range(len(columns))]
    lines = [title]
    for name, cells in listed:
        line = name.ljust(first) + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        lines.append(line.rstrip())
    return "\n".join(lines)
