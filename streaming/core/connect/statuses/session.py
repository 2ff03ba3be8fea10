"""The timeline as one call works on it: mutable copies, and what is published and said of incidents meanwhile."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rebalance_monitor.streaming.core.connect.statuses.facts import JobFacts, JobKey, Sighting
from rebalance_monitor.streaming.core.connect.statuses.memory import Timeline
from rebalance_monitor.streaming.core.connect.statuses.packed import JobTable
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.worker_clocks import Offsets
from rebalance_monitor.streaming.core.connect.topics import connect_settings
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Lane, Notice, Output, ReachedTime
from rebalance_monitor.streaming.core.incidents.transitions import Moment, PartKey, key_of
from rebalance_monitor.streaming.core.model.results import Subject

NO_FACTS = JobFacts()
MOST_WORKERS = 256
"""Workers whose last sign of life is kept; the longest silent go first."""


@dataclass(frozen=True, slots=True)
class Open:
    """What has to be known of an open incident."""

    code: str
    subjects: tuple[Subject, ...]
    historic: bool


@dataclass(frozen=True, slots=True)
class ChangedJob:
    """A job as it was changed last, whatever comes later in the same call. `known`: a generation with members was."""

    facts: JobFacts
    incarnation: int
    generation: int
    judged: bool
    known: bool


class Work:
    """Everything of a `Timeline`, to be changed in place; `frozen` gives it back."""

    def __init__(self, view: GroupView, timeline: Timeline) -> None:
        self.view, self.settings, self.group = view, view.settings, view.group
        settings = view.settings
        self.status_topic = connect_settings(settings, view.group).status_topic or ""
        self.open = {key: Open(one.code, one.subjects, one.historic) for key, one in view.open(Lane.EVENTS).items()}
        self.incarnation, self.generation, self.at_ms = timeline.incarnation, timeline.generation, timeline.at_ms
        self.record = timeline.record
        self.session_ms = timeline.session_ms or settings.session_timeout_ms
        self.patience_ms = timeline.patience_ms or settings.session_timeout_ms + settings.rebalance_timeout_ms
        self.judged = timeline.judged
        self.members, self.behind, self.heard = set(timeline.members), timeline.behind, set(timeline.heard)
        self.jobs, self.alive_ms = JobTable(timeline.jobs), dict(timeline.alive_ms)
        self.joined_ms = dict(timeline.joined_ms)
        self.suspicions, self.strays = list(timeline.suspicions), dict(timeline.strays)
        self.unstopped, self.ran_on = timeline.unstopped, dict(timeline.ran_on)
        self.returned = list(timeline.returned)
        self.asleep_ms, self.interruptions = dict(timeline.asleep_ms), dict(timeline.interruptions)
        self.unsettled, self.bursts = list(timeline.unsettled), list(timeline.bursts)
        self.holes_ms = timeline.holes_ms
        self.told_ms, self.settled = timeline.told_ms, list(timeline.settled)
        self.named, self.overdue = timeline.named, timeline.overdue
        self.late: set[tuple[int, int]] = set()  # partition and offset of statuses that came after later ones were told
        self.restarts = dict(timeline.restarts)
        self.coming: dict[JobKey, list[Sighting]] = {}  # what this call knows of each job, told yet or not
        self.recorded: list[RecordStep] = []
        self.following: RecordStep | None = None  # the next of them to be told
        self.offsets = Offsets(timeline.offsets, timeline.recorded, timeline.incarnation)
        self.carry_ms, self.downgraded = timeline.carry_ms, timeline.downgraded
        self.historic = False
        self.stands, self.lost = timeline.stands, dict(timeline.lost)
        self.before = timeline.jobs
        self.touched: dict[JobKey, ChangedJob] = {}
        self.outputs: list[Output] = []

    def frozen(self) -> Timeline:
        """What is to be remembered."""
        kept = sorted(self.alive_ms.items(), key=lambda one: (one[0] in self.members, one[1], one[0]))[-MOST_WORKERS:]
        known = self.offsets.known
        return Timeline(
            incarnation=self.incarnation,
            generation=self.generation,
            at_ms=self.at_ms,
            record=self.record,
            patience_ms=self.patience_ms,
            session_ms=self.session_ms,
            judged=self.judged,
            members=frozenset(self.members),
            behind=self.behind,
            heard=frozenset(self.heard & {worker for worker, _ in kept}),
            jobs=self.jobs.lines(),
            alive_ms=dict(sorted(kept)),
            joined_ms={worker: self.joined_ms[worker] for worker, _ in sorted(kept) if worker in self.joined_ms},
            suspicions=tuple(sorted(self.suspicions, key=lambda one: (one.job, one.new, one.old))),
            returned=tuple(self.returned),
            strays=dict(sorted(self.strays.items())),
            unstopped=self.unstopped,
            ran_on=dict(sorted(self.ran_on.items())),
            asleep_ms=dict(sorted(self.asleep_ms.items())),
            interruptions=dict(sorted(self.interruptions.items())),
            unsettled=tuple(self.unsettled),
            bursts=tuple(self.bursts),
            holes_ms=self.holes_ms,
            restarts=dict(sorted(self.restarts.items())),
            offsets={worker: known[worker] for worker, _ in sorted(kept) if worker in known},
            recorded=self.offsets.recorded(),
            carry_ms=self.carry_ms,
            downgraded=self.downgraded,
            told_ms=self.told_ms,
            settled=tuple(self.settled),
            named=self.named,
            overdue=self.overdue,
            stands=self.stands,
            lost=dict(sorted(self.lost.items())),
        )

    def facts(self, job: JobKey) -> JobFacts:
        return self.jobs.get(job) or NO_FACTS

    def given(self, worker: str, job: JobKey) -> int | None:
        """The generation from which on this worker alone has the job; None where it has not."""
        facts = self.facts(job)
        return facts.since if facts.holders == (worker,) else None

    def recorded_in(self, generation: int) -> bool:
        """Whether this call tells of the generation's record."""
        return any(step.generation == generation for step in self.recorded)

    def change(self, job: JobKey, facts: JobFacts) -> None:
        """What is known of a job now. One that nobody knows any more is forgotten, as soon as a generation is known at
        which it stood; one that no call before has told of, at once."""
        known = self.stands >= 0
        generation = self.stands if known else self.generation
        self.touched[job] = ChangedJob(facts, self.incarnation, generation, self.judged, known)
        if facts.nobodys and (known or job not in self.before):
            self.jobs.drop(job)
        else:
            self.jobs.put(job, facts)

    def moment(self, at_ms: int, generation: int | None = None) -> Moment:
        """A moment of the timeline, which runs behind the group."""
        moment = self.view.moment(
            at_ms, generation=self.generation if generation is None else generation, historic=self.historic
        )
        return replace(moment, incarnation=self.incarnation)

    # -- incidents -------------------------------------------------------------------------------------------------

    def found(self, finding: Finding, at_ms: int, generation: int | None = None) -> None:
        """Open the finding's incident, or change it if it is open and was less (or more) than this."""
        key = incident_key(finding)
        self.open.setdefault(key, Open(finding.rule.code, finding.subjects, self.historic))
        self._note(Notice(moment=self.moment(at_ms, generation), lane=Lane.EVENTS, found=(finding,)))

    def went_on(self, key: PartKey, at_ms: int) -> None:
        """An incident of history that lasts: from now on it is one of the present."""
        self.open[key] = replace(self.open[key], historic=False)
        self._note(Notice(moment=self.moment(at_ms), lane=Lane.EVENTS, present=(key,)))

    def over(self, keys: Iterable[PartKey], at_ms: int) -> None:
        """These incidents have ended."""
        ended = tuple(key for key in keys if self.open.pop(key, None) is not None)
        self._note(Notice(moment=self.moment(at_ms), lane=Lane.EVENTS, over=ended))

    def _note(self, notice: Notice) -> None:
        self.outputs += [notice, ReachedTime(notice.moment.at_ms)]

    def forget(self) -> None:
        """A new life of the group id, or nobody left in it: who runs what begins anew."""
        for job, facts in list(self.jobs.items()):
            held = replace(facts, holders=(), since=-1, since_ms=0, expected=None, claims=())
            if held != facts:
                self.change(job, held)
        self.members.clear()
        self.joined_ms.clear()
        self.downgraded = -1
        self.suspicions.clear()
        self.returned.clear()
        self.strays.clear()
        self.unstopped = frozenset()
        self.ran_on.clear()
        self.asleep_ms.clear()
        self.interruptions.clear()
        self.restarts.clear()
        self.lost.clear()


def incident_key(finding: Finding) -> PartKey:
    return key_of(finding.rule.code, finding.subjects)
