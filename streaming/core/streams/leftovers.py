"""State directories that a stopped application left on disks: what they say of tasks may be of another topology.

An application that was stopped as a whole may come back with another topology, or with changelogs that were made anew.
Its directories are still there: a process reports what is in a directory, though the task is another one now, or the
offsets are of a changelog that is gone. It does so until it opens the directory for a task with state: then it runs the
task (-2), or its sum changes; or until the cleaner removes it (`state.cleanup.delay.ms`, ten minutes by default).

    before    1_0 counts words, with state         p reports 1_0: -2
    stopped   the topology gets a new sub-topology 0 in front: 1_0 only filters now
    after     nobody runs anything                 p reports 1_0: 51,200      of the directory: proves no state of 1_0

The same holds where processes get another topology one after another: from the record on in which the numbers of
sub-topologies are others (`topology.renumbered`).
"""

from collections.abc import Iterable, Mapping

from rebalance_monitor.assignors.streams.application import RUNNING
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId
from rebalance_monitor.streaming.core.streams.members import StreamsThread

Leftovers = Mapping[str, Mapping[str, int]]
"""By task and process, the offset sum that was left."""


def restarted(threads: Iterable[StreamsThread]) -> bool:
    """Whether the application comes back as a whole: nobody owns a partition or runs a task, and directories are
    there."""
    members = tuple(threads)
    sums = [total for thread in members for total in thread.offset_sums.values()]
    return bool(sums) and RUNNING not in sums and not any(thread.wanted.owned for thread in members)


def leftovers(before: Leftovers, threads: Iterable[StreamsThread], *, anew: bool) -> dict[str, dict[str, int]]:
    """What is known to be left after this record; `before`: the same after the record before. `anew`: whatever is
    reported now may be left. A process that does not report a directory may run a task without state beside it."""
    members = tuple(threads)
    said = {(str(task), str(one.process_id)): total for one in members for task, total in one.offset_sums.items()}
    there = {str(thread.process_id) for thread in members}
    copied = {(str(task), str(thread.process_id)) for thread in members for task in thread.standby}
    if anew:
        left = {place: total for place, total in said.items() if total >= 0}
    else:
        known = {(task, process): total for task, of in before.items() for process, total in of.items()}
        left = {place: total for place, total in known.items() if said.get(place, total) == total}
    found: dict[str, dict[str, int]] = {}
    for (task, process), total in left.items():
        if process in there and (anew or (task, process) not in copied):
            found.setdefault(task, {})[process] = total
    return found


def reported(left: Leftovers, threads: Iterable[StreamsThread]) -> dict[str, dict[str, int]]:
    """Those that the members of this record report."""
    found: dict[str, dict[str, int]] = {}
    for thread in threads:
        for task in thread.offset_sums:
            if is_left(left, task, thread.process_id):
                found.setdefault(str(task), {})[str(thread.process_id)] = left[str(task)][str(thread.process_id)]
    return found


def is_left(left: Leftovers, task: TaskId, process: ProcessId) -> bool:
    """Whether what the process reports of this task is what was left of it."""
    return str(process) in left.get(str(task), {})
