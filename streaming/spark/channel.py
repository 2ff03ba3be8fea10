"""Two small files between the batch function and the reader's process, which share nothing else.

`control.json` is written by the batch function (what is due, which topics are wanted, how large records are),
`reader.json` by the reader (what it sees of the cluster). Each is replaced whole, so a reader never sees half of one;
losing either costs a heartbeat, never a result.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .offsets import FIRST_BATCH_RECORDS


@dataclass(frozen=True, slots=True)
class Control:
    """What the reader must know. `topics` = name -> kind, beside those in its options; `revision` counts changes.
    `groups` = group -> its home (empty while nobody knows it) and its topics: all of them are read in one bundle.
    `most_records` = how many a batch may hold (`offsets.BatchLimit`), `tasks` = how many may read it at once."""

    due_ms: int | None = None
    topics: dict[str, str] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    bytes_per_record: float = 0.0
    most_records: int = FIRST_BATCH_RECORDS
    tasks: int = 1
    revision: int = 0


@dataclass(frozen=True, slots=True)
class ReaderStatus:
    """What the reader sees. `backlog` = topic -> records not committed yet, `missing` = topic -> why it can't be read.

    `problem` is the sentence why the cluster can't be read at all (None: it answers). `caught_up`: the ends of at most
    `ready.max_lag_s` ago are reached; `all_read`: those of the topics of the control's `revision` too. `behind_s` is
    the age of the newest ends that are reached (None: none yet). `blind`: the offsets topic and why it can't be read.
    `unread` = partition, as the text of its key -> first offset and last known end, where that end is not committed:
    the next reader must know of it, because the topic may be gone by then.
    """

    at_ms: int = 0
    backlog: dict[str, int] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    problem: str | None = None
    blind: str | None = None
    caught_up: bool = False
    all_read: bool = False
    revision: int = 0
    behind_s: float | None = None
    unread: dict[str, tuple[int, int]] = field(default_factory=dict)


def _replace(path: Path, value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


class Channel:
    """Both files in one folder. Reading is cheap when nothing changed."""

    def __init__(self, folder: Path) -> None:
        self._control, self._status = folder / "control.json", folder / "reader.json"
        self._seen: tuple[int, int] | None = None
        self._last = Control()

    def publish(self, control: Control) -> None:
        _replace(self._control, asdict(control))

    def control(self) -> Control:
        """The latest control; the empty one before the first."""
        try:
            found = self._control.stat()
            if self._seen != (found.st_mtime_ns, found.st_ino):
                self._last = Control(**json.loads(self._control.read_text(encoding="utf-8")))
                self._seen = (found.st_mtime_ns, found.st_ino)
        except FileNotFoundError:
            return Control()
        return self._last

    def report(self, status: ReaderStatus) -> None:
        _replace(self._status, asdict(status))

    def forget(self) -> None:
        """What a reader before said is gone: it is not to be taken for the next one's."""
        self._status.unlink(missing_ok=True)

    def status(self) -> ReaderStatus:
        """What the reader last said; the empty status before it said anything."""
        try:
            return ReaderStatus(**json.loads(self._status.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return ReaderStatus()
