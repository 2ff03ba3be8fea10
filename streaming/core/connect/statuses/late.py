"""What comes after later things were told: a status or a record that an outage or a slow partition held back.

told up to 10:00:20     B RUNNING c-0 (10:00:12, generation 7)       nothing was known of a stop: no cost
then comes              A UNASSIGNED c-0 (10:00:11)                  it stood still for 1 s, or so it seems
generation 7            not known

The costs depend on the order in which things happened. Where they came in another one, what the generation cost is not
known; a last word that was said before is taken back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rebalance_monitor.streaming.core.connect.statuses.facts import Sighting
from rebalance_monitor.streaming.core.connect.statuses.memory import Interruption, Settled, Timeline, Unsettled
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.session import Work
from rebalance_monitor.streaming.core.model.effects import DowntimeSum
from rebalance_monitor.streaming.core.model.results import Aftermath

NOT_KNOWN = "not_known"
MOST_SETTLED = 32
"""Generations whose last word can be taken back."""


def status(work: Work, sighting: Sighting) -> None:
    """A late status of a job, once it is told: from when on the job stands still is not known, nor whether it does.

    It is also a later sign of life of its writer, from which a crash is reckoned that was told already.
    """
    for job, broken in work.interruptions.items():
        if broken.worker == sighting.worker and broken.stopped_ms is None:
            work.interruptions[job] = replace(broken, unknown=True)
    work.interruptions[sighting.job] = Interruption(worker=sighting.worker, unknown=True)
    work.unsettled = [replace(two, unknown=True) for two in work.unsettled]
    _take_back(work, sighting.at_ms)


def step(work: Work, record: RecordStep) -> None:
    """A late record: statuses of its generation were told before it, and what they ended is forgotten."""
    last = work.unsettled[-1]
    work.unsettled[-1] = replace(last, unknown=True)
    for worker in record.gone:
        for job in record.lost.get(worker, ()):
            if job in work.interruptions:
                work.interruptions[job] = replace(work.interruptions[job], unknown=True)
    _take_back(work, record.at_ms)


def records(timeline: Timeline, sightings: Sequence[Sighting], newest: int) -> tuple[Timeline, tuple[Sighting, ...]]:
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
        overdue=max(timeline.overdue, stated),
        sightings=_not_timed(timeline.sightings),
        offsets={worker: replace(one, low_ms=None) for worker, one in timeline.offsets.items()},
    ), _not_timed(sightings)


def _not_timed(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    return tuple(replace(one, read_ms=None) for one in sightings)


def in_time(timeline: Timeline) -> bool:
    """Whether none of the group's last records was read late."""
    return timeline.overdue < 0 or timeline.generation > timeline.overdue + MOST_SETTLED


def remembered(work: Work, unsettled: Unsettled, word: Aftermath, now_ms: int) -> None:
    """The last word on a generation is said."""
    jobs = sum(kind.jobs for kind in word.downtime)
    work.settled.append(
        Settled(
            source=unsettled.source,
            generation=unsettled.generation,
            until_ms=now_ms,
            causes=word.cause,
            jobs=jobs,
            burst=word.burst,
        )
    )
    del work.settled[:-MOST_SETTLED]


def not_known(jobs: int) -> DowntimeSum:
    """The sum of costs that nobody knows."""
    return DowntimeSum(kind=NOT_KNOWN, jobs=jobs, total_ms=0, longest_ms=0)


def _take_back(work: Work, at_ms: int) -> None:
    """Costs that were told although something of before their end was still to come."""
    still: list[Settled] = []
    for settled in work.settled:
        if settled.until_ms < at_ms:
            still.append(settled)
            continue
        work.outputs.append(
            Aftermath(
                cluster=work.settings.name,
                group=work.group,
                generation=settled.generation,
                source=settled.source,
                cause=settled.causes,
                downtime=(not_known(settled.jobs),),
                interrupted=(),
                burst=settled.burst,
            )
        )
    work.settled = still
