"""What a silent process is doing: it writes the stacks of its threads when asked by a signal, even while it hangs.

The file that a process offers also says who it is: a process id may belong to somebody else by now, an open file of
this run's folder cannot.
"""

import faulthandler
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

SIGNAL = signal.SIGUSR1
ANSWER_WITHIN_S = 2.0
MOST_LINES = 80

_offered: TextIO | None = None


def offer(folder: Path, name: str) -> None:
    """From now on this process answers `ask`. Without room for the file it goes on without."""
    global _offered
    if _offered is None:
        with suppress(OSError):
            _offered = (folder / f"{name}-{os.getpid()}.stacks").open("w", encoding="utf-8")
            faulthandler.register(SIGNAL, file=_offered, all_threads=True)


def offering(folder: Path, name: str) -> list[int]:
    """Processes of this name that offered their stacks in this folder and still run."""
    found = []
    for path in sorted(folder.glob(f"{name}-*.stacks")):
        number = path.stem.rpartition("-")[2]
        if number.isdecimal() and _holds(int(number), path):
            found.append(int(number))
    return found


def ask(folder: Path, name: str, pid: int) -> tuple[str, list[str]]:
    """The state of the process in the system's words, and its stacks, line by line. A stopped one is woken for that."""
    path = folder / f"{name}-{pid}.stacks"
    state = _state(pid)
    with suppress(OSError):
        before = path.stat().st_size
        os.kill(pid, SIGNAL)
        os.kill(pid, signal.SIGCONT)
        until_s = time.monotonic() + ANSWER_WITHIN_S
        size = before
        while time.monotonic() < until_s:
            time.sleep(0.05)
            grown = path.stat().st_size
            if grown > before and grown == size:
                break
            size = grown
        lines = path.read_text(encoding="utf-8", errors="replace")[before:].splitlines()
        return state, [line.strip() for line in lines if line.strip()][:MOST_LINES]
    return state, []


def end(folder: Path, name: str, pid: int) -> None:
    """Kill it, if it still is who it was."""
    if _holds(pid, folder / f"{name}-{pid}.stacks"):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _holds(pid: int, path: Path) -> bool:
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if descriptor.readlink() == path.resolve():
                    return True
    return False


def _state(pid: int) -> str:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("State:"):
                return line.partition(":")[2].strip()
    return "gone"
