"""Statuses that were gone before they were read, and records that were read late: what they would have shown is not
known any more.

A RUNNING c-0      c-0: ok
gap                c-0: unknown     A may have stopped it, B may run it: no K2, K3, K4 comes of what was before
B RUNNING c-0      c-0: ok          what is said from here on counts again
"""

from collections.abc import Callable, Iterable, Sequence

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.statuses import three_way
from rebalance_monitor.streaming.core.connect.statuses.facts import JobKey, Sighting
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.settling import MOST_SETTLED
from rebalance_monitor.streaming.core.connect.statuses.situation import Situation, copied
from rebalance_monitor.streaming.core.connect.statuses.timeline import StatusLaws, Timeline
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.notice import Output


def with_hole(timeline: Timeline, partition: int, at_ms: int) -> Timeline:
    """What stood before the record of this time in its partition was replaced before it was read, or of no interest."""
    place, holes_ms = str(partition), timeline.group.holes_ms
    newest_ms = max(at_ms, holes_ms.get(place, at_ms))
    return replace(timeline, group=replace(timeline.group, holes_ms={**holes_ms, place: newest_ms}))


def after_gap(
    view: GroupView, timeline: Timeline, steps: Iterable[RecordStep], partitions: frozenset[int]
) -> tuple[Timeline, list[Output], list[RecordStep]]:
    """The timeline without what these partitions of the status topic told before, the jobs as they stand then, and the
    steps still to be told, whose workers may have started their jobs within the gap."""
    now = Situation(view, timeline.group, timeline.jobs)
    for job, facts in list(now.jobs.items()):
        claims = tuple(one for one in facts.claims if one.partition not in partitions)
        shown = facts.shown if facts.shown is not None and facts.shown.partition not in partitions else None
        if (claims, shown) != (facts.claims, facts.shown):
            now.change(job, replace(facts, claims=claims, shown=shown, ended=None))
    laws = _without_timers(timeline.laws, but=lambda job: now.facts(job).shown is not None)
    three_way.states(now)
    kept = tuple(one for one in timeline.sightings if one.partition not in partitions)
    unseen = tuple(map(_started_unseen, timeline.steps))
    blind = replace(timeline, jobs=now.jobs.lines(), laws=laws, sightings=kept, steps=unseen)
    return blind, now.outputs, [_started_unseen(one) for one in steps]


def after_lost_records(
    timeline: Timeline, steps: Iterable[RecordStep], offset: int
) -> tuple[Timeline, list[RecordStep]]:
    """The timeline, and the steps still to be told, where records of the group may be lost from this offset on: nobody
    knows whether a job is still its worker's, so none is missed and none runs at a stranger's."""
    laws = _without_timers(timeline.laws, but=lambda _job: False)
    return replace(timeline, laws=laws, steps=tuple(map(_started_unseen, timeline.steps))), [
        _started_unseen(one) if one.source.offset < offset else one for one in steps
    ]


def _without_timers(laws: StatusLaws, but: Callable[[JobKey], bool]) -> StatusLaws:
    left = copied(laws)
    left.not_held.only_told(but)
    left.not_running.only_told(but)
    return left


def _started_unseen(step: RecordStep) -> RecordStep:
    return replace(step, started={}, restarts=False)


def records_read_late(
    timeline: Timeline, sightings: Sequence[Sighting], newest: int
) -> tuple[Timeline, tuple[Sighting, ...]]:
    """The timeline and the statuses that came now, where `newest` is the generation of the newest record that was read.

    A status that states a generation was written after the generation's record. Where it is read before that record,
    the monitor reads the group's records late, and how old they are when they are read says nothing of the
    coordinator's clock. So what was concluded from that about the workers' clocks is given up.
    """
    stated = max((one.generation for one in sightings if not one.historic), default=-1)
    if newest < 0 or stated <= newest:
        return timeline, tuple(sightings)
    return replace(
        timeline,
        group=replace(timeline.group, overdue=max(timeline.group.overdue, stated)),
        sightings=_not_timed(timeline.sightings),
        offsets={worker: replace(one, low_ms=None) for worker, one in timeline.offsets.items()},
    ), _not_timed(sightings)


def _not_timed(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    return tuple(replace(one, read_ms=None) for one in sightings)


def records_in_time(timeline: Timeline) -> bool:
    """Whether none of the group's last records was read late."""
    group = timeline.group
    return group.overdue < 0 or group.generation > group.overdue + MOST_SETTLED
