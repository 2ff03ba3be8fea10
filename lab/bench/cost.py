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
    total_kib = 0
    for process_id in tree(pid):
        try:
            lines = Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total_kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kib / 1024


def cpu_s(pid: int) -> float:
    """Processor seconds of the tree, user and system, those of children that have ended and were waited for included.

    Without the latter a JVM that starts short-lived programs would look cheaper than it is.
    """
    ticks = 0
    for process_id in tree(pid):
        try:
            fields = Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")
