"""What a running job takes over its batches: memory, descriptors and threads of each of its processes, and the heap
that Java keeps after it has collected all garbage.

Whether something grows is read from the straight line through the looks of the second half: in the first one caches
fill. A growth that is smaller than twice its standard error is none that these looks can show.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lab.bench.cost import pss_mib, tree

KINDS = ("java", "serve", "audit", "pyspark", " run ")
"""A word of its command line names a process."""
_COLLECTED = re.compile(r"^\[(?P<at_s>[\d.]+)s\].*Pause Full.* \d+M->(?P<mib>\d+)M\(", re.MULTILINE)
_QUANTITIES = ("MiB", "descriptors", "threads")


@dataclass(frozen=True, slots=True)
class Growth:
    """By a thousand batches, and twice the standard error of that."""

    per_thousand: float
    within: float

    @property
    def shown(self) -> bool:
        return abs(self.per_thousand) > self.within

    def __str__(self) -> str:
        return f"{self.per_thousand:+.2f} ±{self.within:.2f}"


@dataclass(slots=True)
class Use:
    """A process over the batches of its job: (batches, (MiB, descriptors, threads))."""

    name: str
    seen: list[tuple[float, tuple[float, float, float]]] = field(default_factory=list)

    def growths(self) -> tuple[Growth, ...]:
        """Of each quantity."""
        batches = [at for at, _ in self.seen]
        return tuple(growth(batches, [one[place] for _, one in self.seen]) for place in range(len(_QUANTITIES)))

    def line(self) -> str:
        last = self.seen[-1][1]
        told = zip(last, _QUANTITIES, self.growths(), strict=True)
        return f"{self.name:<8} " + ", ".join(f"{now:>6.0f} {what} {grown}" for now, what, grown in told)


def growth(batches: Sequence[float], values: Sequence[float]) -> Growth:
    """Of the second half."""
    half = len(batches) // 2
    x, y = [one / 1_000 for one in batches[half:]], list(values[half:])
    if len(x) < 3 or max(x) == min(x):
        return Growth(0.0, float("inf"))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((one - mean_x) ** 2 for one in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
    left = sum((b - mean_y - slope * (a - mean_x)) ** 2 for a, b in zip(x, y, strict=True))
    return Growth(slope, 2 * (left / (len(x) - 2) / spread) ** 0.5)


def look(pid: int, batches: float, uses: dict[int, Use]) -> None:
    """Note what every process of the job takes now."""
    for process_id in tree(pid):
        with suppress(OSError, StopIteration):
            folder = Path(f"/proc/{process_id}")
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            name = next((kind for kind in KINDS if kind in words), "other")
            taken = (pss_mib(process_id), float(len(list((folder / "fd").iterdir()))),
                     float(len(list((folder / "task").iterdir()))))  # fmt: skip
            uses.setdefault(process_id, Use(name.strip())).seen.append((batches, taken))


def heap_after_collections(log: Path) -> list[tuple[float, float]]:
    """Seconds since Java's start and MiB, of each collection of all garbage that the log (`-Xlog:gc`) tells."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return [(float(one["at_s"]), float(one["mib"])) for one in _COLLECTED.finditer(text)]
