"""Moving tasks from clients with more load per thread to clients with less, as the high-availability assignor does."""

from collections.abc import Sequence

from .placement import Placement
from .standbys import MayMove


def balance(placement: Placement, role: Sequence[set[int]], may_move: MayMove) -> None:
    """Move tasks of one role (`placement.active` or `.standby`) until no pair of clients gains by another move.

    Pairs are visited in ascending order, tasks in ascending order, again and again until a whole round moves nothing.
    """
    load = placement.load
    clients = range(len(load))
    changed = True
    while changed:
        changed = False
        for source in clients:
            for destination in clients:
                if load[source] <= load[destination] or not _worth_moving(placement, source, destination):
                    continue
                for task in sorted(role[source]):
                    if not placement.holds(destination, task) and may_move(source, destination):
                        role[source].remove(task)
                        role[destination].add(task)
                        placement.counted(source, -1)
                        placement.counted(destination, 1)
                        changed = True
                        if not _worth_moving(placement, source, destination):
                            break


def _worth_moving(placement: Placement, source: int, destination: int) -> bool:
    """Whether one task less here and one more there lessens the skew without turning it around.

    These are the doubles of Java's expression, in its order of evaluation.
    """
    skew = placement.load[source] - placement.load[destination]
    if skew <= 0:
        return False
    there = (placement.count[destination] + 1.0) / placement.capacity[destination]
    here = (placement.count[source] - 1.0) / placement.capacity[source]
    return 0 <= here - there < skew
