"""Follows brokers' log files for what the coordinators say of rebalances.

    a file is renamed           it is read on from where it was: it is known by device, inode and first line
    a file is cut or replaced   its first line is another one, or it ends before what was read: read from its beginning
    a file is compressed        passed over
    a pattern matches no file   how far its files were read is kept: a volume may be away for a while
    a file cannot be read       the part says so in one sentence; the other files are read

A step reads `STEP_BYTES` at most. What it found is kept together with how far it came.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import fstat
from typing import BinaryIO, Protocol

from rebalance_monitor.streaming.core.coordinator_log.line import CoordinatorLog, CoordinatorReason
from rebalance_monitor.streaming.core.ports import Deposed
from rebalance_monitor.streaming.supervision import Answerable, PartFailed, Supervised
from .log_files import matching

PART = "coordinator log"
LOOK_EVERY_S = 1.0
AGAIN_S = 5.0
STEP_BYTES = 4 << 20
HEAD_BYTES = 4096
LONGEST_LINE_BYTES = 64 << 10
"""A longer one tells of no rebalance. A step ends where it may read less, so that it cuts no other."""
BEFORE_BYTES = 64 << 10
"""After a start, so much before the position is read once more: a client's reason may stand there."""
MARKERS = (b"Preparing to rebalance group ", b"`LeaveGroup` request; client reason: ")
NAMED = 3


class KeptReasons(Protocol):
    """Where positions and reasons are kept; PartFailed and Deposed. A position is the next byte of a file, or the next
    offset of a topic's partition."""

    def positions(self, cluster: str) -> dict[str, int]: ...
    def keep(
        self,
        cluster: str,
        epoch: int,
        positions: Mapping[str, int],
        reasons: Sequence[CoordinatorReason],
        gone: Collection[str],
    ) -> None: ...


@dataclass(slots=True)
class _Chunk:
    """What a step read of one file."""

    file: str
    next_byte: int
    reasons: list[CoordinatorReason]
    more: bool


class LogFollower(Protocol):
    """Who follows the logs of one cluster; used by one thread."""

    def step(self) -> float | None:
        """Reads on; the pause in seconds, None where another job is the writer."""

    def close(self) -> None:
        """No further step."""


class CoordinatorLogFollower:
    """Reads the files of one cluster as its writer, step by step."""

    def __init__(self, cluster: str, patterns: Sequence[str], kept: KeptReasons, epoch: int) -> None:
        self._cluster, self._patterns, self._kept, self._epoch = cluster, tuple(patterns), kept, epoch
        self._positions: dict[str, int] | None = None
        self._logs: dict[str, CoordinatorLog] = {}

    def step(self) -> float | None:
        """Reads on; the pause in seconds, None where another job is the writer. PartFailed once the rest was read."""
        if self._positions is None:
            self._positions = self._kept.positions(self._cluster)
        seen: set[str] = set()
        problems: list[str] = []
        chunks: list[_Chunk] = []
        left = STEP_BYTES
        found = {pattern: matching([pattern]) for pattern in self._patterns}
        away = [pattern for pattern, names in found.items() if not names]  # its volume may be back in a moment
        for name in sorted({name for names in found.values() for name in names}):
            try:
                with open(name, "rb") as file:
                    known = _identity(file)
                    if known is None or known in seen:
                        continue
                    seen.add(known)
                    if left >= LONGEST_LINE_BYTES and (chunk := self._read(file, known, left)) is not None:
                        chunks.append(chunk)
                        left -= chunk.next_byte - self._positions.get(known, 0)
            except OSError as why:
                problems.append(f"{name} cannot be read ({why.strerror})")
        gone = set() if problems or away else self._positions.keys() - seen
        try:
            self._keep(chunks, gone)
        except Deposed:
            return None
        if problems:
            more = f", and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
            raise PartFailed(f"{'; '.join(problems[:NAMED])}{more}", again_in_s=AGAIN_S)
        if len(away) == len(found):
            raise PartFailed(f"no file matches {', '.join(away[:NAMED])}", again_in_s=AGAIN_S)
        return 0.0 if left < LONGEST_LINE_BYTES or any(one.more for one in chunks) else LOOK_EVERY_S

    def close(self) -> None:
        """Between steps no file is open."""

    def _read(self, file: BinaryIO, known: str, most: int) -> _Chunk | None:
        assert self._positions is not None
        at, size = self._positions.get(known, 0), fstat(file.fileno()).st_size
        if at > size:
            at = self._positions[known] = 0
        log = self._logs.get(known)
        if log is None:
            log = self._logs[known] = CoordinatorLog()
            within = _within_line(file, begins := max(0, at - BEFORE_BYTES))
            _reasons_in(log, file.read(at - begins), within)
        if at >= size:
            return None
        within = _within_line(file, at)
        data = file.read(most)
        whole = data.rfind(b"\n") + 1
        if not whole:
            if len(data) < LONGEST_LINE_BYTES:
                return None  # the line is not finished yet
            whole = len(data)
        return _Chunk(known, at + whole, _reasons_in(log, data[:whole], within), more=at + len(data) < size)

    def _keep(self, chunks: Sequence[_Chunk], gone: Collection[str]) -> None:
        assert self._positions is not None
        positions = {one.file: one.next_byte for one in chunks}
        if positions or gone:
            reasons = [reason for one in chunks for reason in one.reasons]
            self._kept.keep(self._cluster, self._epoch, positions, reasons, gone)
        self._positions.update(positions)
        for file in gone:
            del self._positions[file]
            self._logs.pop(file, None)


@contextmanager
def followed(cluster: str, follower: LogFollower | None, answerable: Answerable) -> Iterator[None]:
    """Follows as long as the block runs; nothing where there is nobody who does."""
    if follower is None:
        yield
        return
    part = Supervised(PART, follower.step, answerable, at_end=follower.close)
    part.fields["cluster"] = cluster
    part.start()
    try:
        yield
    finally:
        part.stop()


def _identity(file: BinaryIO) -> str | None:
    """None while its first line is not whole."""
    head = file.read(HEAD_BYTES)
    end = head.find(b"\n")
    if end < 0 and len(head) < HEAD_BYTES:
        return None
    first = head if end < 0 else head[:end]
    told = fstat(file.fileno())
    return f"{told.st_dev}:{told.st_ino}:{hashlib.sha256(first).hexdigest()[:32]}"


def _within_line(file: BinaryIO, at: int) -> bool:
    """Whether a line that begins before `at` goes on there; the file is read on from `at`."""
    file.seek(max(0, at - 1))
    return at > 0 and file.read(1) != b"\n"


def _reasons_in(log: CoordinatorLog, data: bytes, within: bool) -> list[CoordinatorReason]:
    """`within`: its first line is the rest of one, which is no line of the coordinator."""
    if within:
        data = data.partition(b"\n")[2]
    if not any(marker in data for marker in MARKERS):
        return []
    lines = (line for line in data.split(b"\n") if any(marker in line for marker in MARKERS))
    found = (log.read(line.decode("utf-8", "replace")) for line in lines)
    return [one for one in found if one is not None]
