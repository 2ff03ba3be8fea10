"""What a real rolling restart of Connect workers moved and stopped, by its records."""

from collections.abc import Iterable
from itertools import pairwise

from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.stories.holdings import held
from rebalance_monitor.streaming.stories.known import Published


def moved_and_stopped(generations: Iterable[Published], first: int, last: int) -> tuple[int, int]:
    """What workers gained, and what those that stayed had to stop, in the records after generation `first` up to
    `last`. A record that repeats the one before is left out: with the eager protocol a connector that starts again may
    write its tasks' settings once more."""
    known = sorted((one for one in generations if first <= one["generation"] <= last), key=lambda one: one["at_ms"])
    moved = stopped = 0
    for before, now in pairwise(known):
        had, has = ({one["member_id"]: held(one) for one in each["members"]} for each in (before, now))
        if had == has:
            continue
        moved += sum(len(own - had.get(name, set())) for name, own in has.items())
        everything = EAGER in (before["protocol"], now["protocol"])
        stopped += sum(len(had[name] if everything else had[name] - has[name]) for name in had.keys() & has.keys())
    return moved, stopped
