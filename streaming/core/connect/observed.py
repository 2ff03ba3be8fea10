"""What one Connect generation shows: who held, was given and gave up what, before any judgement."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState
from rebalance_monitor.streaming.core.fold import departures
from rebalance_monitor.streaming.core.model.derived import Derives, derived, key_of
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Source, Subject, TopicItem

V = TypeVar("V")
EAGER = "default"
STATIC = "static"
COOPERATIVE = frozenset({"compatible", "sessioned", STATIC})
LEVELS = (EAGER, "compatible", "sessioned", STATIC)
"""The chosen protocols from the lowest to the highest."""

ConnectorOrTask = str | TopicItem
"""A connector instance (its name) or a task (name, number)."""


AnyJob = TypeVar("AnyJob")


def job_name(job: ConnectorOrTask) -> str:
    """`name` for a connector, `name-n` for a task, as Connect's REST interface writes them."""
    return job if isinstance(job, str) else f"{job[0]}-{job[1]}"


def job_connector(job: ConnectorOrTask) -> str:
    return job if isinstance(job, str) else job[0]


def job_kind(job: ConnectorOrTask) -> str:
    return "connector" if isinstance(job, str) else "task"


def job_key(job: ConnectorOrTask) -> str:
    """`Subject.key` of what the arrays of Connect's bytes list."""
    return f"connector {job}" if isinstance(job, str) else f"task {job[0]}-{job[1]}"


def subjects_of(jobs: Iterable[ConnectorOrTask]) -> tuple[Subject, ...]:
    """Sorted subjects of what the arrays of Connect's bytes list."""
    return tuple(sorted(Subject(job_kind(job), job_name(job)) for job in jobs))


def by_job(hands: Iterable[tuple[str, Iterable[AnyJob]]]) -> dict[AnyJob, list[str]]:
    found: dict[AnyJob, list[str]] = {}
    for name, jobs in hands:
        for job in jobs:
            found.setdefault(job, []).append(name)
    return found


NO_ADDRESS = "NOTUSED"
"""What every worker of a dedicated MirrorMaker without internal REST advertises."""


def worker_of(url: str) -> str:
    """host:port of an advertised URL, the worker id of the status topic; the text itself where it is no URL."""
    try:
        place = urlsplit(url).netloc
    except ValueError:  # a bracket without its partner, or a character that stands for a separator
        return url
    return place.lower() if place else url


@dataclass(frozen=True, slots=True)
class WorkerView(Derives):
    """One member of a Connect generation. `held` before, `holds` after applying the round.

    `shown` is the header of the assignment it last applied: leader, config offset, error, delay in ms. Of a member that
    is not `readable` (not all of its bytes), `held` is what it had after the record before.
    """

    member_id: str
    worker: str | None
    config_offset: int | None
    had_allocation: bool
    shown: tuple[str, int, int, int] | None
    held: frozenset[ConnectorOrTask]
    assigned: frozenset[ConnectorOrTask]
    revoked: frozenset[ConnectorOrTask]
    readable: bool = True

    @property
    def holds(self) -> frozenset[ConnectorOrTask]:
        return _holds(self) if self.revoked or self.assigned else self.held


@derived
def _holds(view: WorkerView) -> frozenset[ConnectorOrTask]:
    return (view.held - view.revoked) | view.assigned


def of_jobs(of: Callable[["Observed"], V]) -> Callable[["Observed"], V]:
    """Marks what follows from the members' jobs, workers and order alone: known of one round, it is known of the next
    one in which nobody's change."""
    remembered = derived(of)
    _OF_JOBS.add(key_of(of))
    return remembered


_OF_JOBS: set[str] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed(Derives):
    """The last generation of a Connect group, as far as the next one needs it.

    `unseen` counts the generations without a record since a leader's memory last moved before our eyes: those right
    before this one, and before the rounds with an error or without a verdict that led up to it. `blind`: this round got
    no verdict, so it counts among the unseen ones itself. `shortest_ms`: see `departures`, 0 where not known.
    """

    generation: int
    protocol: str | None
    leader: str | None
    at_ms: int
    state_ms: int
    source: Source
    error: int
    delay_ms: int
    config_offset: int | None
    unseen: int = 0
    blind: bool = False
    shortest_ms: int = 0
    views: Mapping[str, WorkerView] = field(default_factory=dict)

    @of_jobs
    def holders(self) -> Mapping[ConnectorOrTask, list[str]]:
        """Member ids per job held after the round, of members that can be read."""
        return by_job((member_id, view.holds) for member_id, view in self.views.items() if view.readable)

    @property
    def readable(self) -> bool:
        return all(view.readable for view in self.views.values())

    @property
    def leading(self) -> WorkerView | None:
        """The leader; None where the record names none of its members."""
        return self.views.get(self.leader or "")

    @property
    def formed_ms(self) -> int:
        """When the join phase ended; the record's time where it does not say."""
        return self.state_ms if self.state_ms > 0 else self.at_ms

    @property
    def header(self) -> tuple[str | None, int | None, int, int]:
        """What a member that has applied the answer shows of it besides jobs: see `WorkerView.shown`."""
        return self.leader, self.config_offset, self.error, self.delay_ms

    def shown_by(self, view: WorkerView) -> bool | None:
        """Whether a member of the next record shows that it has applied this answer; None where nothing tells, be it
        because the answer before looks the same."""
        before = self.views.get(view.member_id)
        if before is None or view.shown is None:
            return None
        if view.shown != self.header or view.held != before.holds:
            return False
        return None if (before.shown, before.held) == (view.shown, view.held) else True

    @of_jobs
    def reported(self) -> frozenset[ConnectorOrTask]:
        """What members report as theirs."""
        return frozenset().union(*(view.held for view in self.views.values()))

    @of_jobs
    def assigned(self) -> frozenset[ConnectorOrTask]:
        return frozenset().union(*(view.assigned for view in self.views.values()))

    @of_jobs
    def revoked(self) -> frozenset[ConnectorOrTask]:
        return frozenset().union(*(view.revoked for view in self.views.values()))

    @of_jobs
    def hands(self) -> frozenset[ConnectorOrTask]:
        """Every job that some member has after the round."""
        return frozenset().union(*(view.holds for view in self.views.values()))

    def taken_back(self) -> frozenset[ConnectorOrTask]:
        """What members were given and had to give back in the same round."""
        return frozenset(job for view in self.views.values() for job in view.revoked - view.held)

    def workers(self) -> dict[str, str]:
        """Member id per worker (or per member id where the worker is not known, or is not one alone)."""
        return {self.process_of(member_id): member_id for member_id in self.views}

    def nameless(self, member_id: str) -> bool:
        """Whether a member's address says nothing about which process it is: several advertise the same, or all
        advertise none, as in MirrorMaker's dedicated mode."""
        return self.views[member_id].worker in self._no_names()

    @of_jobs
    def _no_names(self) -> frozenset[str | None]:
        """Addresses that tell no process from others."""
        times = Counter(view.worker for view in self.views.values())
        return frozenset({None, NO_ADDRESS, *(worker for worker, count in times.items() if count > 1)})

    def process_of(self, member_id: str) -> str:
        """How a member's process is known from one record to the next: by its address, else by its member id."""
        worker = self.views[member_id].worker
        return member_id if worker is None or worker in self._no_names() else worker

    def subject_of(self, member_id: str) -> Subject:
        """The member as results speak of it: a worker, or where it has no name of its own, a member."""
        return Subject("member" if self.nameless(member_id) else "worker", self.process_of(member_id))


def header_of(assignment: ConnectAssignment) -> tuple[str, int, int, int]:
    """What tells one assignment from another besides its jobs: leader, config offset, error, delay in ms."""
    return (assignment.leader, assignment.config_offset, assignment.error, assignment.delay_ms)


def observe(body: GroupGeneration, source: Source, at_ms: int, last: "Observed | None" = None) -> Observed:
    """Read a Connect generation. A member whose bytes cannot be read is the same process as in the `last` record if its
    id is the same, and has what it had then: most answers change nothing.
    """
    known = last.views if last is not None else {}
    eager = body.protocol == EAGER
    views: dict[str, WorkerView] = {}
    error, delay_ms, offset = 0, 0, None
    for member in body.members:
        state = member.subscription if isinstance(member.subscription, WorkerState) else None
        given = member.assignment if isinstance(member.assignment, ConnectAssignment) else None
        allocation = state.allocation if state else None
        before = known.get(member.member_id)
        held: frozenset[ConnectorOrTask] = frozenset()
        if allocation is not None and not eager:
            held = frozenset((*allocation.connectors, *allocation.tasks))
        elif before is not None and (given if eager else state) is None:
            held = before.holds
        view = WorkerView(
            member_id=member.member_id,
            worker=worker_of(state.url) if state else before.worker if before else None,
            config_offset=state.config_offset if state else None,
            had_allocation=allocation is not None,
            shown=header_of(allocation) if allocation is not None else None,
            held=held,
            assigned=frozenset((*given.connectors, *given.tasks)) if given else frozenset(),
            revoked=frozenset((*given.revoked_connectors, *given.revoked_tasks)) if given else frozenset(),
            readable=state is not None and given is not None,
        )
        # What is known of an equal view is known of this one.
        views[member.member_id] = before if before == view else view
    told = {one.member_id: one.assignment for one in body.members if isinstance(one.assignment, ConnectAssignment)}
    if told:
        # All members are told the same; should they not be, the leader's own answer counts.
        first = told.get(body.leader or "") or next(iter(told.values()))
        error, delay_ms, offset = first.error, first.delay_ms, first.config_offset
    observed = Observed(
        generation=body.generation,
        protocol=body.protocol,
        leader=body.leader,
        at_ms=at_ms,
        state_ms=body.state_ms,
        source=source,
        error=error,
        delay_ms=delay_ms,
        config_offset=offset,
        shortest_ms=departures.shortest_ms(body.members),
        views=views,
    )
    if last is not None and _same_jobs(last, observed):
        observed.__dict__.update((key, known) for key, known in last.__dict__.items() if key in _OF_JOBS)
    return observed


def _same_jobs(last: Observed, now: Observed) -> bool:
    """Whether the same members stand in the same order, each with the same worker and jobs."""
    return tuple(last.views) == tuple(now.views) and all(
        view is before
        or (view.worker, view.held, view.assigned, view.revoked, view.readable)
        == (before.worker, before.held, before.assigned, before.revoked, before.readable)
        for view, before in zip(now.views.values(), last.views.values(), strict=True)
    )
