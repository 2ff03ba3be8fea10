"""The processes that descend from this one: listed, measured, ended.

This process must be a subreaper: then a descendant whose parent ends becomes its child, whatever session it is in.
"""

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
"""`prctl(2)`."""
_PROC = Path("/proc")
_LISTED = (_PROC / "self" / "task" / str(os.getpid()) / "children").exists()
"""Whether the kernel lists the children of a process (CONFIG_PROC_CHILDREN); most do."""
_KIB, _PIECE = 1024, 1 << 16
_LEAST_PRIORITY = 19
_ENDS_WITHIN_S = 2.0
"""A process that was sent SIGKILL may still be in the kernel for a while."""


def adopt() -> None:
    """Make this process the parent of every descendant that loses its own. Raises OSError."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def end_with_parent(parent: int) -> None:
    """Let the kernel end this process when its parent, the process of this id, ends. Raises OSError."""
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before
        os._exit(0)


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def descendants(stop: bool = False) -> Iterator[int]:
    """The process ids of all descendants, parents first. `stop`: each is stopped, with its process group, before its
    children are looked for, so that it makes no further ones."""
    waiting = [os.getpid()]
    while waiting:
        for child in _children(waiting.pop()):
            if stop:
                _stop(child)
            yield child
            waiting.append(child)


def _children(process: int) -> list[int]:
    if not _LISTED:
        return [child for child, parent in _parents() if parent == process]
    listed = b""
    with suppress(OSError):  # it has ended
        for thread in os.listdir(f"/proc/{process}/task"):
            children = os.open(f"/proc/{process}/task/{thread}/children", os.O_RDONLY)
            try:
                while part := os.read(children, _PIECE):
                    listed += part
            finally:
                os.close(children)
    return list(map(int, listed.split()))


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir(_PROC):
        if name.isdecimal():
            with suppress(OSError):
                yield int(name), int((_PROC / name / "stat").read_text().rpartition(")")[2].split()[1])


def put_first() -> None:
    """Let this process run before all others, where it may; what it starts is ordinary again."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def put_last(process: int) -> None:
    """Let the process, and what it starts from now on, wait for all others where processors are scarce."""
    with suppress(ProcessLookupError, PermissionError):
        os.setpriority(os.PRIO_PROCESS, process, _LEAST_PRIORITY)


def hold_more(processes: list[int], most_bytes: int) -> bool:
    """Whether these processes together hold more in memory. Pages that several of them share count once; that they are
    shared is looked up only where it matters."""
    return sum(map(_resident, processes)) > most_bytes and sum(map(_share, processes)) > most_bytes


def _resident(process: int) -> int:
    with suppress(OSError):
        return int((_PROC / str(process) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _share(process: int) -> int:
    with suppress(OSError):
        for line in (_PROC / str(process) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * _KIB
    return 0


def end_descendants() -> None:
    """End them all. They are stopped first, again and again until no further one is found: a tree that goes on growing
    outruns who kills it."""
    found: set[int] = set()
    while not found >= (now := set(descendants(stop=True))):
        found |= now
    while _reaped():  # again and again: one may have been made at the last moment
        for process in descendants():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if signal.sigtimedwait({signal.SIGCHLD}, _ENDS_WITHIN_S) is None:
            return


def _stop(process: int) -> None:
    """One call stops a whole group, however fast its processes make others."""
    with suppress(ProcessLookupError, PermissionError):
        group = os.getpgid(process)
        if group != os.getpgrp():
            os.killpg(group, signal.SIGSTOP)
        os.kill(process, signal.SIGSTOP)


def _reaped() -> bool:
    """Take the exit codes of children that have ended; whether others are left."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False
