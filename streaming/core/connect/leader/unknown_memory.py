"""Is there any memory at all with which a leader gives this answer? Solved, not tried one memory after the other.

Where the memory of a leader's process is not known, an answer is wrong only if no memory gives it. What a memory may
hold is free: which jobs of those that nobody reports it remembers (they are *lost*, the others *created*), whether it
revoked for balance and how often, a delay that runs or is over, and who was idle in it, in which order (connect.md
3.1). The answer itself says which of these can be: its delay, what it leaves lying, what it revokes. Three ways are
left:

    the delay runs       what is left lying is lost; all else is created and dealt to the least loaded
    handed out at once   created jobs first, then the lost ones, all dealt to the least loaded
    the delay is over    lost jobs go to those who were idle, in turn; then loads are balanced, then created jobs dealt

In each, who receives the next job follows from numbers alone, so `rows` finds which jobs are lost. What is found
is a memory; the leader's round is run with it, and only the record's answer counts, but for the order of names that
Java's hash sets give.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, permutations

from rebalance_monitor.assignors.connect import incremental
from rebalance_monitor.assignors.connect.eras import ERAS, Era
from rebalance_monitor.assignors.connect.incremental import surplus_counts
from rebalance_monitor.assignors.connect.model import ConnectResult, ConnectRound, LeaderMemory
from rebalance_monitor.assignors.connect.round import CannotAssign, configured_jobs
from rebalance_monitor.assignors.connect.survey import in_leaders_order, turns
from rebalance_monitor.assignors.java_order import utf16_key
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, WorkerView, job_kind
from . import hypotheses
from .answers import same_but_for_names
from .packed import LeaderHypothesis
from .rounds import Case
from .rows import split
from .runs import NOT_KNOWN_MS, Run
from .shown import Shown, job_set
from .unseen_rounds import Freedom, LostOrCreated

MAX_STEPS = 50_000
"""Jobs and members looked at for one era and snapshot until the search ends without a proof."""
MAX_GHOSTS = 4
"""Revoked jobs that no longer exist of which every part is tried as remembered."""
BACK_OFFS = 5
"""Balancing rounds in a row after which the pause is as long as any maximum delay allows."""
KINDS = ("connector", "task")
_GONE = frozenset({"a member of an unseen generation"})
_LONG_OVER_MS = 1


@dataclass(slots=True)
class MemorySearch:
    """Whether a search was ended by its bound, so that nothing is proved by what it did not find."""

    cut: bool = False
    steps: int = 0

    def afford(self, steps: int) -> bool:
        """Whether these steps are still within the bound."""
        self.steps += steps
        self.cut |= self.steps > MAX_STEPS
        return self.steps <= MAX_STEPS


def any_memory(
    case: Case, rounds: Iterable[ConnectRound], eras: Iterable[str], freedom: Freedom, search: MemorySearch
) -> Iterator[Run]:
    """For each era the first run with the record's sets, with a memory that has this freedom."""
    tried = tuple(rounds)
    for era in eras:
        found = (run for round_ in tried for run in _solved(case, round_, ERAS[era], freedom, search))
        yield from (run for _, run in zip(range(1), found, strict=False))


def _solved(case: Case, round_: ConnectRound, era: Era, freedom: Freedom, search: MemorySearch) -> Iterator[Run]:
    shown = Shown.of(case, round_, era)
    if shown is None:
        return
    search.steps = 0
    for max_delay_ms in _maxima(case):
        solver = _Solver(case, round_, era, max_delay_ms, freedom, shown, search)
        for ghosts in _remembered_ghosts(shown, search):
            for memory in chain(solver.delay_runs(ghosts), solver.at_once(ghosts), solver.delay_over(ghosts)):
                run = solver.run_knowing(memory)
                if run is not None and same_but_for_names(case.body, run[0]):
                    known_ms = None if max_delay_ms == NOT_KNOWN_MS else max_delay_ms
                    least_ms = case.observed.delay_ms if known_ms is None else 0
                    yield Run(LeaderHypothesis(era.name, run[1], known_ms, least_ms), run[0])


def _remembered_ghosts(shown: Shown, search: MemorySearch) -> Iterator[frozenset[ConnectorOrTask]]:
    """Which of the jobs that do not exist any more the leader may have remembered: others must stop for balance."""
    if len(shown.ghosts) > MAX_GHOSTS:
        yield from (shown.ghosts, frozenset())
        search.cut = True
        return
    ghosts = sorted(shown.ghosts, key=str)
    for count in range(len(ghosts), -1, -1):
        yield from map(frozenset, combinations(ghosts, count))


def _maxima(case: Case) -> tuple[int, ...]:
    known_ms = case.max_delay_ms
    if known_ms is None:
        known_ms = hypotheses.agreed_maximum(case.carried.hypotheses)
    if known_ms is not None:
        return (known_ms,)
    seen_ms = case.observed.delay_ms
    return (NOT_KNOWN_MS, seen_ms, seen_ms + 1) if seen_ms else (NOT_KNOWN_MS, 0)


@dataclass(slots=True)
class _Solver:
    """The search with one era, maximum delay and snapshot."""

    case: Case
    round_: ConnectRound
    era: Era
    max_delay_ms: int
    freedom: Freedom
    shown: Shown
    search: MemorySearch
    _static: frozenset[ConnectorOrTask] = field(init=False)

    def __post_init__(self) -> None:
        members = self.round_.members
        self._static = frozenset(job for one in members for job in job_set(one.static))

    def run(self, memory: LeaderMemory) -> tuple[ConnectResult, LeaderMemory] | None:
        """The round with this memory; None where the bound is reached or the leader throws."""
        if not self.search.afford(len(self.round_.members) + len(self.shown.given)):
            return None
        distrusts = self.freedom.distrusts and not self.shown.ghosts  # who revokes them knows them, whatever it trusts
        completed = memory.previous_generation + distrusts
        attempt = replace(self.round_, now_ms=self.case.observed.at_ms, last_completed_generation=completed)
        try:
            return incremental.assign(memory, attempt, max_delay_ms=self.max_delay_ms, era=self.era)
        except CannotAssign:
            return None

    def run_knowing(self, memory: LeaderMemory) -> tuple[ConnectResult, LeaderMemory] | None:
        """The round with this memory and what is known of it besides; None also where the two do not go together."""
        known = self.freedom.known
        told = memory if known is None else known.in_mind(memory, self.case.observed)
        return None if told is None else self.run(told)

    def delay_runs(self, ghosts: frozenset[ConnectorOrTask]) -> Iterator[LeaderMemory]:
        """A delay runs, or is opened: what lies is lost. With nothing lost, somebody was missed after a revocation; in
        the oldest releases a delay goes on."""
        seen_ms, lying = self.case.observed.delay_ms, self.shown.lying
        if not seen_ms and not (lying and self.max_delay_ms == 0):
            return
        if (lying or not self.freedom.forgets) and not any(self._can_lie(roles) for roles in self.freedom.roles):
            return
        until_ms = self.case.observed.at_ms + seen_ms
        memory = replace(_remembering(lying | self.shown.stranded | ghosts), previous_members=_GONE)
        for revoked, can_revoke in ((False, True), (True, True), (False, False)):
            changed = replace(memory, revoked_in_previous=revoked, can_revoke=can_revoke)
            yield changed
            if seen_ms:
                yield replace(changed, scheduled_ms=until_ms, delay_ms=seen_ms)

    def _can_lie(self, roles: LostOrCreated) -> bool:
        """Whether what lies can be what was lost, and all of it."""
        lying = self.shown.lying
        return all(roles.get(job) is not (job not in lying) for job in self.shown.given.keys() - self.shown.stranded)

    def at_once(self, ghosts: frozenset[ConnectorOrTask]) -> Iterator[LeaderMemory]:
        """All that nobody reports is handed out: nobody left, or the delay is over and nobody was idle in it."""
        if self.shown.lying or self.shown.taken_back:
            return
        for balance in self._balances():
            run = self.run(replace(balance, previous=hypotheses.jobs(ghosts)))
            if run is None or not self._alike_but_for_what_is_given(run[0]):
                continue
            nothing: tuple[LostOrCreated | None, ...] = (None,) if self.freedom.forgets else ()
            for roles in (*nothing, *self.freedom.roles) if self.freedom.loses else nothing:
                lost = self._split(run[0], roles)
                if lost is not None:
                    yield replace(balance, previous=hypotheses.jobs(lost | ghosts))
                    break

    def _balances(self) -> Iterator[LeaderMemory]:
        """What it may remember of balancing. Releases that always open a delay place lost jobs when one is over."""
        plain = LeaderMemory(previous_generation=0)
        if not self.era.balances_fully:
            over = plain if self.era.watches_departures else replace(plain, scheduled_ms=_LONG_OVER_MS)
            yield over
            yield replace(over, can_revoke=False)
            return
        yield plain
        for count in range(BACK_OFFS) if self.case.observed.delay_ms else (0,):
            yield replace(plain, revoked_in_previous=True, successive_revocations=count)

    def _alike_but_for_what_is_given(self, result: ConnectResult) -> bool:
        observed = self.case.observed
        return (result.delay_ms, result.error) == (observed.delay_ms, observed.error) and all(
            view.revoked == job_set(result.shares[member_id].revoked) for member_id, view in observed.views.items()
        )

    def _split(self, created: ConnectResult, roles: LostOrCreated | None) -> frozenset[ConnectorOrTask] | None:
        """Which jobs must be lost where this answer deals all of them as created; None if none can be. Without `roles`
        nothing is lost."""
        dealt = {job: one for one, share in created.shares.items() for job in job_set(share.assigned)}
        if any(dealt.get(job) != self.shown.given.get(job) for job in self._static):
            return None
        lost: set[ConnectorOrTask] = set()
        for kind in KINDS:
            received = {
                job: one for job, one in self.shown.received(kind, roles or {}).items() if job not in self._static
            }
            row = [dealt[job] for job in received if job in dealt]
            if len(row) < len(received):
                return None
            for count in range(len(row) + 1) if roles is not None else (0,):
                if not self.search.afford(len(row) + 1):
                    return None
                rows = (row[len(row) - count :], row[: len(row) - count])
                flags = split([*received.values()], *rows, afford=self.search.afford)
                if flags is not None:
                    lost.update(job for job, flag in zip(received, flags, strict=True) if flag)
                    break
            else:
                return None
        return frozenset(lost)

    def delay_over(self, ghosts: frozenset[ConnectorOrTask]) -> Iterator[LeaderMemory]:
        """A delay is over, and what was lost goes to those who were idle in it: in any order that fits."""
        observed = self.case.observed
        if not self.freedom.loses or self.shown.lying or observed.delay_ms or observed.error:
            return
        given = frozenset(self.shown.given.values())
        chosen = [member.id for member in self.round_.members if member.id in self.freedom.idle & given]
        if chosen and self._static:
            self.search.cut = True
            return
        most = len(chosen) if self.era.deals_to_all_candidates else 1
        for order in chain.from_iterable(permutations(chosen, count) for count in range(1, most + 1)):
            for roles in self.freedom.roles:
                lost = self._lost_of(ghosts, order, roles)
                if lost is not None:
                    memory = replace(_remembering(lost | ghosts), scheduled_ms=_LONG_OVER_MS, candidates=order)
                    yield memory
                    yield replace(memory, can_revoke=False)
            if self.search.cut:
                return

    def _lost_of(
        self, ghosts: frozenset[ConnectorOrTask], order: Sequence[str], roles: LostOrCreated
    ) -> frozenset[ConnectorOrTask] | None:
        """Which jobs were lost if these candidates, in this order, were given them; None if none can be."""
        lost: set[ConnectorOrTask] = set()
        for kind in KINDS:
            found = self._lost_of_kind(kind, ghosts, order, roles)
            if found is None:
                return None
            lost |= found
        return frozenset(lost)

    def _lost_of_kind(
        self, kind: str, ghosts: frozenset[ConnectorOrTask], order: Sequence[str], roles: LostOrCreated
    ) -> frozenset[ConnectorOrTask] | None:
        received = self.shown.received(kind, roles)
        members = in_leaders_order(self.round_.members, self.era)[0]
        views = [self.case.observed.views[member.id] for member in members]
        taken = self.shown.twice | ghosts if self.era.balances_fully else ghosts
        forced = [_of_kind(view.held & taken, kind) for view in views]
        sizes = [_of_kind(view.held, kind) - count for view, count in zip(views, forced, strict=True)]
        stopped = [_of_kind(view.revoked, kind) - count for view, count in zip(views, forced, strict=True)]
        total = sum(job_kind(job) == kind for job in self._exists())
        for count in range(len(received), -1, -1):
            if not self.search.afford(len(members) + len(received)):
                return None
            lost_row = [order[place % len(order)] for place in range(count)]
            loads = [size + lost_row.count(view.member_id) for size, view in zip(sizes, views, strict=True)]
            if self.era.balances_fully:
                if surplus_counts(loads, total) != stopped:
                    continue
                loads = [load - less for load, less in zip(loads, stopped, strict=True)]
            rows = (lost_row, _dealt(views, loads, len(received) - count))
            flags = split([*received.values()], *rows, lost_first=True, afford=self.search.afford)
            if flags is not None:
                return frozenset(job for job, flag in zip(received, flags, strict=True) if flag)
        return None

    def _exists(self) -> Iterator[ConnectorOrTask]:
        exists = configured_jobs(self.round_.fresh_config or self.round_.config)
        return chain(exists.connectors, exists.tasks)


def _dealt(views: Sequence[WorkerView], loads: Sequence[int], count: int) -> list[str]:
    """Who is given so many jobs one after the other, the least loaded first."""
    hands = sorted((load, utf16_key(view.member_id), view.member_id) for load, view in zip(loads, views, strict=True))
    return [hands[place][2] for place in turns([load for load, _, _ in hands], count)]


def _remembering(jobs: Iterable[ConnectorOrTask]) -> LeaderMemory:
    return LeaderMemory(previous=hypotheses.jobs(jobs), previous_generation=0)


def _of_kind(jobs: Iterable[ConnectorOrTask], kind: str) -> int:
    return sum(job_kind(job) == kind for job in jobs)
