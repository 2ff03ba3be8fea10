"""What a tree of processes costs: memory, and processor time with that of children that have ended."""

import os
from collections.abc import Iterator
from pathlib import Path


def tree(pid: int) -> Iterator[int]:
    """A process and all its descendants. Any of them may end at any moment."""
    yield pid
    folder = Path(f"/proc/{pid}/task")
    try:
        tasks = os.listdir(folder)
    except OSError:
        return
    for task in tasks:
        try:
            children = (folder / task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            yield from tree(int(child))


def memory_mib(pid: int) -> float:
    """Sum of the proportional set sizes of the tree, in MiB: a page shared by several is counted once."""
    return sum(pss_mib(process_id) for process_id in tree(pid))


def pss_mib(pid: int) -> float:
    """Proportional set size of one process; 0 of one that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def cpu_s(pid: int) -> float:
    """Processor seconds of the tree, user and system, those of children that have ended and were waited for included.

    Without the latter a JVM that starts short-lived programs would look cheaper than it is.
    """
    return sum(_ticks(process_id, 4) for process_id in tree(pid)) / os.sysconf("SC_CLK_TCK")


def own_cpu_s(pid: int) -> float:
    """Processor seconds of this process alone."""
    return _ticks(pid, 2) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int, fields: int) -> int:
    """The first of: user, system, user and system of children that were waited for. 0 where it has ended."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return sum(int(one) for one in found[11 : 11 + fields])
