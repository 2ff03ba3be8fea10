"""Find and end all processes of a session (a session is what `start_new_session` makes; children stay in it)."""

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
GRACE_S = 5.0


def members(session: int) -> list[int]:
    """Processes of the session, zombies left out. Without /proc only the session's first process is known."""
    if not _PROC.is_dir():
        with suppress(OSError):
            os.kill(session, 0)
            return [session]
        return []
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError, IndexError, ValueError):
            # The command's name may hold spaces and brackets: the fields count from the last bracket.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] not in "ZX":
                found.append(int(entry.name))
    return found


def commands_with(session: int, *words: str) -> list[int]:
    """Processes of the session whose command line has all these words."""
    found = []
    for pid in members(session):
        with suppress(OSError):
            command = (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if all(word in command for word in words):
                found.append(pid)
    return found


def end_session(session: int) -> None:
    """SIGKILL to all that is left of the session, until nothing is."""
    deadline = time.monotonic() + GRACE_S
    while (left := members(session)) and time.monotonic() < deadline:
        _signal(left, signal.SIGKILL)
        time.sleep(0.02)


def signal_session(session: int, number: signal.Signals) -> None:
    """Sends this signal to each process of the session."""
    _signal(members(session), number)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)
