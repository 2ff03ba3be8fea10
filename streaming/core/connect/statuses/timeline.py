"""What is remembered of a group's statuses between batches, stored with the group's state, and what of it is given up.

Statuses may be gone before they were read, and records be read late: what they would have shown is not known any more.

A RUNNING c-0      c-0: ok
gap                c-0: unknown     A may have stopped it, B may run it: no K2, K3, K4 comes of what was before
B RUNNING c-0      c-0: ok          what is said from here on counts again
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.span import ClockOffset
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from .facts import JobFacts, JobKey, Sighting
from .failing import FailingJobs
from .held_not_running import HeldNotRunning
from .round_change import RecordStep
from .running_not_held import RunningNotHeld
from .running_twice import RunningTwice
from .settling import MOST_SETTLED, RoundCosts
from .situation import TOLD, Situation, ToldGroup, copied
from .worker_clocks import Recorded
from .workers_lost import LostWorkers


@dataclass(slots=True, kw_only=True)
class StatusLaws:
    """Each law with what it remembers, in the order in which they look at an event."""

    twice: RunningTwice = field(default_factory=RunningTwice)
    not_held: RunningNotHeld = field(default_factory=RunningNotHeld)
    not_running: HeldNotRunning = field(default_factory=HeldNotRunning)
    failing: FailingJobs = field(default_factory=FailingJobs)
    costs: RoundCosts = field(default_factory=RoundCosts)
    lost: LostWorkers = field(default_factory=LostWorkers)

    def sighted(self, now: Situation, status: Sighting, before: JobFacts, *, late: bool) -> None:
        """A status, once the facts of its job have it; `before` are those without it. `late`: later ones were told."""
        self.twice.sighted(now, status, before)
        self.not_held.sighted(now, status)
        self.not_running.sighted(now, status)
        self.failing.sighted(now, status)
        self.costs.sighted(now, status, before, late=late)

    def before(self, now: Situation, step: RecordStep, *, late: bool) -> None:
        """A record, before its changes are applied. `late`: statuses of its generation were told before it."""
        self.lost.before(now, step)
        self.costs.before(now, step, late=late)
        self.twice.before(now, step)

    def stepped(self, now: Situation, step: RecordStep) -> None:
        """A record, after its changes are applied."""
        self.twice.stepped(now, step)
        self.not_held.stepped(now, step)
        self.not_running.stepped(now, step)
        self.failing.stepped(now, step)

    def fire(self, now: Situation, now_ms: int) -> None:
        self.twice.fire(now, now_ms)
        self.not_held.fire(now, now_ms)
        self.not_running.fire(now, now_ms)
        self.failing.fire(now, now_ms)
        for word in self.costs.fire(now, now_ms, starting=bool(self.not_running.asleep_ms)):
            self.lost.settled(word)  # which may make it due at once
        self.lost.fire(now, now_ms, self.costs.downtime.interruptions)

    def due_ms(self, settings: ClusterSettings) -> int:
        """When the next timer is due, in the time that records carry; TOLD where there is none."""
        starts_ms, failing_ms = self.not_running.due_ms(), self.failing.due_ms(settings)
        costs_ms, lost_ms = self.costs.due_ms(), self.lost.due_ms()
        return min(self.twice.due_ms(), self.not_held.due_ms(), starts_ms, failing_ms, costs_ms, lost_ms)

    def wait(self, ms: int) -> None:
        """Nobody but one coordinator says that so much time has passed: what lasts has not lasted so long."""
        self.twice.wait(ms)
        self.not_held.wait(ms)
        self.not_running.wait(ms)
        self.lost.wait(ms)

    def forget(self) -> None:
        """A new life of the group id, or nobody left in it."""
        self.twice, self.not_held, self.not_running = RunningTwice(), RunningNotHeld(), HeldNotRunning()
        self.failing, self.lost = FailingJobs(), LostWorkers()
        self.costs.downtime.interruptions.clear()

    def kept(self) -> "StatusLaws":
        """To be remembered, in one order."""
        self.twice.suspicions = tuple(sorted(self.twice.suspicions, key=lambda one: (one.job, one.new, one.old)))
        return copied(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """`sightings` and `steps` are not told yet; `group`, `jobs` (lines of `packed`) and `laws` are how
    things stand after the last one told.

    Everything up to `told_ms` is told: what comes with an older time is late. `offsets` of the workers' clocks;
    `recorded`: generation and time of the last records; `carry_ms`: how much the clock of the present coordinator is
    behind the one that the times of the timeline go on with.
    """

    sightings: tuple[Sighting, ...] = ()
    steps: tuple[RecordStep, ...] = ()
    group: ToldGroup = field(default_factory=ToldGroup)
    jobs: Mapping[JobKey, str] = field(default_factory=dict)
    laws: StatusLaws = field(default_factory=StatusLaws)
    offsets: Mapping[str, ClockOffset] = field(default_factory=dict)
    recorded: Recorded = ()
    carry_ms: int = 0
    told_ms: int = 0

    def next_ms(self, settings: ClusterSettings) -> int | None:
        """When the next timer is due, in the time that records carry."""
        due_ms = self.laws.due_ms(settings)
        return due_ms if due_ms < TOLD else None

    def with_hole(self, partition: int, at_ms: int) -> "Timeline":
        """What stood before the record of this time in its partition was replaced unread, or of no interest."""
        place, holes_ms = str(partition), self.group.holes_ms
        newest_ms = max(at_ms, holes_ms.get(place, at_ms))
        return replace(self, group=replace(self.group, holes_ms={**holes_ms, place: newest_ms}))

    def after_gap(
        self, view: GroupView, steps: Iterable[RecordStep], partitions: frozenset[int]
    ) -> tuple["Timeline", list[Output], list[RecordStep]]:
        """The timeline without what these partitions of the status topic told before, the jobs as they stand then, and
        the steps still to be told, whose workers may have started their jobs within the gap."""
        now = Situation(view, self.group, self.jobs)
        for job, facts in list(now.jobs.items()):
            claims = tuple(one for one in facts.claims if one.partition not in partitions)
            shown = facts.shown if facts.shown is not None and facts.shown.partition not in partitions else None
            if (claims, shown) != (facts.claims, facts.shown):
                now.change(job, replace(facts, claims=claims, shown=shown, ended=None))
        laws = _without_timers(self.laws, but=lambda job: now.facts(job).shown is not None)
        now.publish()
        kept = tuple(one for one in self.sightings if one.partition not in partitions)
        unseen = tuple(map(_started_unseen, self.steps))
        blind = replace(self, jobs=now.jobs.lines(), laws=laws, sightings=kept, steps=unseen)
        return blind, now.outputs, [_started_unseen(one) for one in steps]

    def after_lost_records(self, steps: Iterable[RecordStep], offset: int) -> tuple["Timeline", list[RecordStep]]:
        """The timeline, and the steps still to be told, where records of the group may be lost from this offset on:
        nobody knows whether a job is still its worker's, so none is missed and none runs at a stranger's."""
        laws = _without_timers(self.laws, but=lambda _job: False)
        return replace(self, laws=laws, steps=tuple(map(_started_unseen, self.steps))), [
            _started_unseen(one) if one.source.offset < offset else one for one in steps
        ]

    def read_late(self, sightings: Sequence[Sighting], newest: int) -> tuple["Timeline", tuple[Sighting, ...]]:
        """The timeline and the statuses that came now; `newest`: the generation of the newest record that was read.

        A status that states a generation was written after the generation's record. Where it is read before that
        record, the monitor reads the group's records late, and how old they are when they are read says nothing of the
        coordinator's clock. So what was concluded from that about the workers' clocks is given up.
        """
        stated = max((one.generation for one in sightings if not one.historic), default=-1)
        if newest < 0 or stated <= newest:
            return self, tuple(sightings)
        return replace(
            self,
            group=replace(self.group, overdue=max(self.group.overdue, stated)),
            sightings=_not_timed(self.sightings),
            offsets={worker: replace(one, low_ms=None) for worker, one in self.offsets.items()},
        ), _not_timed(sightings)

    @property
    def in_time(self) -> bool:
        """Whether none of the group's last records was read late."""
        group = self.group
        return group.overdue < 0 or group.generation > group.overdue + MOST_SETTLED


def _without_timers(laws: StatusLaws, but: Callable[[JobKey], bool]) -> StatusLaws:
    left = copied(laws)
    left.not_held.only_told(but)
    left.not_running.only_told(but)
    return left


def _started_unseen(step: RecordStep) -> RecordStep:
    return replace(step, started={}, restarts=False)


def _not_timed(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    return tuple(replace(one, read_ms=None) for one in sightings)
