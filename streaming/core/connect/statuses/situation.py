"""How a group stands after what was told last, and what one call knows besides: what every law may look at.

A law remembers what it alone needs, in a value of its own; `ToldGroup` is what several of them look at, and the order
of telling alone changes it. Values of both kinds are copied when a call begins (`copied`) and changed in place until it
ends: a map with an entry for each of thousands of jobs cannot be made anew for every status.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.topic_names import connect_settings
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Lane, Notice, Output, ReachedTime
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.transitions import Moment, PartKey, key_of
from rebalance_monitor.streaming.core.model.results import Evidence, JobState, Source, Subject
from rebalance_monitor.streaming.core.model.subjects import subject_of
from .facts import NOWHERE, Claim, JobFacts, JobKey, Sighting, agreement
from .packed import JobTable
from .round_change import RecordStep
from .worker_clocks import Offsets

NO_FACTS = JobFacts()
TOLD = 1 << 62
"""Stands for the due time of what is found already."""
MOST_WORKERS = 256
"""Workers whose last sign of life is kept; the longest silent go first."""

Memory = TypeVar("Memory")


@cache
def _parts(kind: Any) -> tuple[str, ...]:
    """The fields of a memory; none of what never changes."""
    changes = is_dataclass(kind) and not cast(Any, kind).__dataclass_params__.frozen
    return tuple(one.name for one in fields(cast(Any, kind))) if changes else ()


def copied(memory: Memory) -> Memory:
    """The same value with mappings of its own, in the order of their keys: equal memories are stored as equal text."""
    own: dict[str, Any] = {}
    for name in _parts(cast(Any, type(memory))):
        part = getattr(memory, name)
        if isinstance(part, dict):
            own[name] = dict(sorted(part.items()))
        elif _parts(cast(Any, type(part))):
            own[name] = copied(part)
    return cast(Memory, replace(cast(Any, memory), **own))


@dataclass(slots=True, kw_only=True)
class ToldGroup:
    """How a group stands after the last record and the last status that were told.

    `alive_ms` is the last sign of life of each worker ever seen, `heard` who of them wrote statuses, `joined_ms` when
    each last came into the group with empty hands, if that was after a hole. `holes_ms`: by partition of the status
    topic, the time of the newest record with a hole before. `named`: the newest generation that a told status states;
    `overdue`: the newest one whose record was read after a status that states it, so the group's records are read
    late. `stands`: the last generation with members, at which connectors and tasks stand; -1 before the first one that
    is known in this life of the group.
    """

    incarnation: int = 0
    generation: int = -1
    at_ms: int = 0
    record: Source | None = None
    patience_ms: int = 0
    judged: bool = False
    members: frozenset[str] = frozenset()
    behind: frozenset[str] = frozenset()
    heard: frozenset[str] = frozenset()
    alive_ms: dict[str, int] = field(default_factory=dict)
    joined_ms: dict[str, int] = field(default_factory=dict)
    holes_ms: dict[str, int] = field(default_factory=dict)
    named: int = -1
    overdue: int = -1
    stands: int = -1
    waiting: frozenset[str] | None = None

    def sign_of_life(self, worker: str, at_ms: int) -> None:
        """A late one does not hide a later one that was told."""
        self.alive_ms[worker] = max(at_ms, self.alive_ms.get(worker, 0))

    def trimmed(self) -> "ToldGroup":
        order = sorted(self.alive_ms.items(), key=lambda one: (one[0] in self.members, one[1], one[0]))
        alive_ms = dict(order[-MOST_WORKERS:])
        joined_ms = {worker: at_ms for worker, at_ms in self.joined_ms.items() if worker in alive_ms}
        heard = self.heard & alive_ms.keys()
        return copied(replace(self, alive_ms=alive_ms, joined_ms=joined_ms, heard=heard))


@dataclass(frozen=True, slots=True)
class OpenPart:
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


class Situation:
    """What was told of a group, during one call: its jobs unpacked, its open incidents, what is still to be told, and
    what is published meanwhile."""

    def __init__(self, view: GroupView, group: ToldGroup, jobs: Mapping[JobKey, str]) -> None:
        self.view, self.settings, self.group = view, view.settings, copied(group)
        default_ms = view.settings.session_timeout_ms + view.settings.rebalance_timeout_ms
        self.group.patience_ms = group.patience_ms or default_ms
        self.offsets = Offsets({}, ())
        self.jobs, self.before = JobTable(jobs), jobs
        self._status_topic = connect_settings(view.settings, view.group).status_topic or ""
        self.open = {key: OpenPart(one.code, one.subjects, one.historic) for key, one in view.open(Lane.EVENTS).items()}
        self.coming: dict[JobKey, list[Sighting]] = {}  # what this call knows of each job, told yet or not
        self.recorded: list[RecordStep] = []  # the steps that this call knows
        self.following: RecordStep | None = None  # the next of them to be told
        self.historic = False
        self.touched: dict[JobKey, ChangedJob] = {}
        self.outputs: list[Output] = []

    def facts(self, job: JobKey) -> JobFacts:
        return self.jobs.get(job) or NO_FACTS

    def change(self, job: JobKey, facts: JobFacts) -> None:
        """What is known of a job now. One that nobody knows any more is forgotten, as soon as a generation is known at
        which it stood; one that no call before has told of, at once. That it has stopped, a worker may say after its
        connector was deleted."""
        if self._deleted(job, facts):
            facts = replace(facts, shown=None)
        standing = self.touched[job] = self.standing(facts)
        if facts.nobodys and (standing.known or job not in self.before):
            self.jobs.drop(job)
        else:
            self.jobs.put(job, facts)

    def _deleted(self, job: JobKey, facts: JobFacts) -> bool:
        """Whether a job has stopped that nobody waits for, by a record of the generation it stopped in or later."""
        waiting, shown = self.group.waiting, facts.shown
        if waiting is None or shown is None or not facts.stopped or shown.generation > self.group.stands:
            return False
        return subject_of(job).id not in waiting

    def standing(self, facts: JobFacts) -> ChangedJob:
        """A job of which this is known, at the generation at which jobs stand now."""
        group, known = self.group, self.group.stands >= 0
        generation = group.stands if known else group.generation
        return ChangedJob(facts, group.incarnation, generation, group.judged, known)

    def given(self, worker: str, job: JobKey) -> int | None:
        """The generation from which on this worker alone has the job; None where it has not."""
        facts = self.facts(job)
        return facts.since if facts.holders == (worker,) else None

    def recorded_in(self, generation: int) -> bool:
        """Whether this call tells of the generation's record."""
        return any(step.generation == generation for step in self.recorded)

    def unseen_until_ms(self, at_ms: int) -> int | None:
        """The time of the next record, if it lies behind this time and generations before it left none."""
        following = self.following
        return following.at_ms if following is not None and following.unseen and following.at_ms > at_ms else None

    def place(self, said: Sighting | Claim) -> Source:
        return Source(self._status_topic, said.partition, said.offset)

    def forget(self) -> None:
        """A new life of the group id, or nobody left in it: who has what begins anew."""
        self.group.waiting = None
        for job, facts in list(self.jobs.items()):
            left = replace(facts, holders=(), since=-1, since_ms=0, expected=None, claims=())
            if left != facts:
                self.change(job, left)
        self.group.members = frozenset()
        self.group.joined_ms.clear()

    # -- rows -------------------------------------------------------------------------------------------------------

    def publish(self) -> None:
        """Every job that this call touched, as it stands now. What came and went before a generation was known was
        never published."""
        for job, standing in sorted(self.touched.items()):
            gone = standing.facts.nobodys
            if not gone or standing.known or job in self.before:
                self.show(job, standing, "gone" if gone else agreement(standing.facts, judged=standing.judged))
        self.touched.clear()

    def show(self, job: JobKey, standing: ChangedJob, agreement: str) -> None:
        facts, judged = standing.facts, standing.judged
        shown = facts.shown
        expected = facts.expected or (facts.holders[0] if len(facts.holders) == 1 else None)
        row = JobState(
            cluster=self.settings.name,
            group=self.view.group,
            job=subject_of(job),
            incarnation=standing.incarnation,
            generation=standing.generation,
            assigned=facts.holders,
            expected=(None if expected == NOWHERE else expected) if judged else None,
            judged=judged,
            state=shown.state if shown is not None else None,
            running=shown.worker if shown is not None else None,
            running_generation=shown.generation if shown is not None else None,
            running_at_ms=shown.at_ms if shown is not None else None,
            since_ms=facts.since_ms if facts.holders else None,
            agreement=agreement,
            gone=agreement == "gone",
        )
        self.outputs.append(row)

    # -- incidents -------------------------------------------------------------------------------------------------

    def found(self, finding: Finding, at_ms: int, generation: int | None = None) -> None:
        """Open the finding's incident, or change it if it is open and was less (or more) than this."""
        part = OpenPart(finding.rule.code, finding.subjects, self.historic)
        self.open.setdefault(incident_key(finding), part)
        self._note(Notice(moment=self._moment(at_ms, generation), lane=Lane.EVENTS, found=(finding,)))

    def went_on(self, key: PartKey, at_ms: int) -> None:
        """An incident of history that lasts: from now on it is one of the present."""
        self.open[key] = replace(self.open[key], historic=False)
        self._note(Notice(moment=self._moment(at_ms), lane=Lane.EVENTS, present=(key,)))

    def over(self, keys: Iterable[PartKey], at_ms: int) -> None:
        ended = tuple(key for key in keys if self.open.pop(key, None) is not None)
        if ended:
            self._note(Notice(moment=self._moment(at_ms), lane=Lane.EVENTS, over=ended))

    def over_where(self, rule: Rule, at_ms: int, ended: Callable[[tuple[Subject, ...]], bool]) -> None:
        """The rule's incidents have ended of which this holds, by their subjects."""
        self.over([key for key, one in self.open.items() if one.code == rule.code and ended(one.subjects)], at_ms)

    def _moment(self, at_ms: int, generation: int | None = None) -> Moment:
        """A moment of the timeline, which runs behind the group."""
        number = self.group.generation if generation is None else generation
        moment = self.view.moment(at_ms, generation=number, historic=self.historic)
        return replace(moment, incarnation=self.group.incarnation)

    def _note(self, notice: Notice) -> None:
        self.outputs += [notice, ReachedTime(notice.moment.at_ms)]


def incident_key(finding: Finding) -> PartKey:
    return key_of(finding.rule.code, finding.subjects)


def shown_at(now: Situation, said: Sighting) -> Evidence:
    return Evidence(source=now.place(said))
