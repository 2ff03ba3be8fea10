"""Statuses that were gone before they were read: what they would have said of a job is not known any more.

A RUNNING c-0      c-0: ok
gap                c-0: unknown     A may have stopped it, B may run it: no K2, K3, K4 comes of what was before
B RUNNING c-0      c-0: ok          what is said from here on counts again
"""

from collections.abc import Iterable
from dataclasses import replace

from rebalance_monitor.streaming.core.connect.statuses import three_way
from rebalance_monitor.streaming.core.connect.statuses.held_and_running import TOLD
from rebalance_monitor.streaming.core.connect.statuses.memory import Timeline
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.session import Work
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.notice import Output


def with_hole(timeline: Timeline, partition: int, at_ms: int) -> Timeline:
    """What stood before the record of this time in its partition was replaced before it was read, or of no interest."""
    place = str(partition)
    newest_ms = max(at_ms, timeline.holes_ms.get(place, at_ms))
    return replace(timeline, holes_ms={**timeline.holes_ms, place: newest_ms})


def after_gap(
    view: GroupView, timeline: Timeline, steps: Iterable[RecordStep], partitions: frozenset[int]
) -> tuple[Timeline, list[Output], list[RecordStep]]:
    """The timeline without what these partitions of the status topic told before, the jobs as they stand then, and the
    steps still to be told, whose workers may have started their jobs within the gap."""
    work = Work(view, timeline)
    for job in timeline.jobs:
        facts = work.facts(job)
        claims = tuple(one for one in facts.claims if one.partition not in partitions)
        shown = facts.shown if facts.shown is not None and facts.shown.partition not in partitions else None
        if (claims, shown) != (facts.claims, facts.shown):
            work.change(job, replace(facts, claims=claims, shown=shown, ended=None))
    work.asleep_ms = {job: due_ms for job, due_ms in work.asleep_ms.items() if _told(due_ms, work, job)}
    work.strays = {job: one for job, one in work.strays.items() if _told(one.due_ms, work, job)}
    three_way.states(work)
    kept = tuple(one for one in timeline.sightings if one.partition not in partitions)
    blind = replace(work.frozen(), sightings=kept, steps=tuple(map(_started_unseen, timeline.steps)))
    return blind, work.outputs, [_started_unseen(one) for one in steps]


def after_lost_records(
    timeline: Timeline, steps: Iterable[RecordStep], offset: int
) -> tuple[Timeline, list[RecordStep]]:
    """The timeline, and the steps still to be told, where records of the group may be lost from this offset on: nobody
    knows whether a job is still its worker's, so none is missed and none runs at a stranger's."""
    return replace(
        timeline,
        asleep_ms={job: due_ms for job, due_ms in timeline.asleep_ms.items() if due_ms == TOLD},
        strays={job: one for job, one in timeline.strays.items() if one.due_ms == TOLD},
        steps=tuple(map(_started_unseen, timeline.steps)),
    ), [_started_unseen(one) if one.source.offset < offset else one for one in steps]


def _told(due_ms: int, work: Work, job: str) -> bool:
    return due_ms == TOLD or work.facts(job).shown is not None


def _started_unseen(step: RecordStep) -> RecordStep:
    return replace(step, started={}, restarts=False)
