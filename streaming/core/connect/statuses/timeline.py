"""What is remembered of a group's statuses between batches, stored with the group's state."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.clocks.offsets import ClockOffset
from rebalance_monitor.streaming.core.connect.statuses.facts import JobFacts, JobKey, Sighting
from rebalance_monitor.streaming.core.connect.statuses.failing import FailingJobs
from rebalance_monitor.streaming.core.connect.statuses.held_not_running import HeldNotRunning
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.running_not_held import RunningNotHeld
from rebalance_monitor.streaming.core.connect.statuses.running_twice import RunningTwice
from rebalance_monitor.streaming.core.connect.statuses.settling import RoundCosts
from rebalance_monitor.streaming.core.connect.statuses.situation import TOLD, Situation, ToldGroup, copied
from rebalance_monitor.streaming.core.connect.statuses.worker_clocks import Recorded
from rebalance_monitor.streaming.core.connect.statuses.workers_lost import LostWorkers
from rebalance_monitor.streaming.core.model.settings import ClusterSettings


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
        """Timers that are due."""
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
