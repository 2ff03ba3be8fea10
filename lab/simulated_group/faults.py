"""Ways in which a simulated Connect worker can be wrong: a closed set, switched on and off while the group runs.

A leader's fault spoils its next answer that offers the opportunity, then is over, except for the revocations that
never end. An answer that the coordinator refused was never given, so the fault waits for the next one. Each is made to
break one law and to leave the others alone as far as it can: jobs go astray only while they are handed out, because
taking them from somebody breaks more laws at once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from lab.simulated_group.protocol import Job
from rebalance_monitor.assignors.connect.model import (
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
    LeaderMemory,
    MemberShare,
)


class LeaderFault(Enum):
    """What a leader can do wrong with the answer it has computed."""

    DUPLICATE_AND_IMBALANCE = auto()  # one member is given all tasks that the busiest runs and keeps
    DUPLICATE = auto()  # a job that is handed out goes to a second member as well
    WRONG_ARITHMETIC = auto()  # a job is taken from a member without need
    IMBALANCE = auto()  # all tasks that are handed out, with nothing pending, go to one member
    STATIC_UNPLACED = auto()  # a static job that has to be handed out is left out
    WILDCARD_UNPLACED = auto()  # a wildcard job that has to be handed out is left out
    STATIC_ON_WILDCARD = auto()  # a static job goes to a wildcard worker
    STATIC_ON_STRANGER = auto()  # a static job goes to a static worker that lists other jobs
    WILDCARD_ON_STATIC = auto()  # a wildcard job goes to a static worker
    MISPLACED_KEPT = auto()  # a job on a worker it does not belong to is not revoked
    HIDDEN_DECLARATIONS = auto()  # declarations count although the group's protocol is not `static`
    MISSING_FORGOTTEN = auto()  # who lists only jobs that do not exist is taken for a wildcard worker
    NEVER_ENDING_REVOCATIONS = auto()  # in every round one more job is taken away


class WorkerFault(Enum):
    """What a member can do wrong by itself; being cut off and coming back is `vanish` and `come_back`."""

    IGNORED_REVOCATION = auto()  # it goes on running what it was told to stop, and says so
    HIDDEN_WORK = auto()  # it goes on running what it was told to stop, and says nothing of it
    STALE_CONFIG = auto()  # it reads the config topic no further


ENDLESS = frozenset({LeaderFault.NEVER_ENDING_REVOCATIONS})
RERUN = frozenset({LeaderFault.HIDDEN_DECLARATIONS, LeaderFault.MISSING_FORGOTTEN})
"""Faults of what the leader believes, not of its answer: the right algorithm runs on a wrong view of the members."""


@dataclass(slots=True)
class ArmedFaults:
    """Leaders' faults that are still to happen, shared by the workers of a group.

    While a group rebalances again, the coordinator refuses the leader's answer: no member receives it and no record
    shows it. So a fault is over only when a member has completed the generation whose answer holds it.
    """

    faults: list[LeaderFault] = field(default_factory=list)
    _answered: dict[LeaderFault, int] = field(default_factory=dict)

    def arm(self, fault: LeaderFault) -> None:
        self.faults.append(fault)

    def answered(self, fault: LeaderFault, generation: int) -> None:
        """The leader's answer of this generation holds the fault."""
        if fault not in ENDLESS:
            self._answered[fault] = generation

    def completed(self, generation: int) -> None:
        """A member has received the answer of this generation."""
        self.faults[:] = [fault for fault in self.faults if self._answered.get(fault) != generation]

    def clear(self) -> None:
        self.faults.clear()
        self._answered.clear()


@dataclass(slots=True)
class _Hand:
    """One member's part of the answer while it is being changed."""

    member: ConnectMember
    assigned: list[Job]
    revoked: list[Job]

    @property
    def held(self) -> list[Job]:
        return [*self.member.held.connectors, *self.member.held.tasks]

    @property
    def holds(self) -> list[Job]:
        return [job for job in self.held if job not in self.revoked] + self.assigned

    @property
    def lists(self) -> frozenset[Job]:
        return frozenset((*self.member.static.connectors, *self.member.static.tasks))

    @property
    def tasks(self) -> int:
        return sum(isinstance(job, tuple) for job in self.holds)


@dataclass(slots=True)
class _Table:
    """All hands, in an order that is the same for the same members."""

    hands: list[_Hand]
    configured: tuple[Job, ...]
    static: frozenset[Job] = field(init=False)

    def __post_init__(self) -> None:
        listed = frozenset(job for hand in self.hands for job in hand.lists)
        self.static = listed & frozenset(self.configured)

    def handed_out(self) -> Iterator[tuple[_Hand, Job]]:
        """Every job that is being given to somebody."""
        return ((hand, job) for hand in self.hands for job in list(hand.assigned))

    def idle(self) -> list[Job]:
        """Configured jobs nobody holds, nor is told to stop."""
        taken = {job for hand in self.hands for job in (*hand.holds, *hand.revoked)}
        return [job for job in self.configured if job not in taken]

    def belongs(self, hand: _Hand, job: Job) -> bool:
        """KIP-987: static jobs to their listers, all others to the members that list nothing."""
        return job in hand.lists if job in self.static else not hand.lists


def _least(hands: Iterable[_Hand]) -> _Hand | None:
    """The one with the fewest jobs."""
    return min(hands, key=lambda hand: len(hand.holds), default=None)


def spoil(
    fault: LeaderFault, result: ConnectResult, members: Sequence[ConnectMember], connectors: Mapping[str, int]
) -> ConnectResult | None:
    """The answer with this fault in it; None where this round offers no opportunity. `connectors`: name -> tasks."""
    hands = [
        _Hand(
            member,
            [*result.shares[member.id].assigned.connectors, *result.shares[member.id].assigned.tasks],
            [*result.shares[member.id].revoked.connectors, *result.shares[member.id].revoked.tasks],
        )
        for member in sorted(members, key=lambda one: one.url)
    ]
    tasks = ((name, number) for name, count in connectors.items() for number in range(count))
    table = _Table(hands, (*connectors, *tasks))
    if result.error or len(hands) < 2 or not _SPOILERS[fault](table):
        return None
    shares = {hand.member.id: MemberShare(_jobs(hand.assigned), _jobs(hand.revoked)) for hand in table.hands}
    return replace(result, shares=shares)


def remembers(memory: LeaderMemory, right: ConnectResult, wrong: ConnectResult) -> LeaderMemory:
    """What the leader remembers of the revocations in its wrong answer: it believes in what it has sent."""
    more, less = _revoked(wrong) - _revoked(right), _revoked(right) - _revoked(wrong)
    previous = _items(memory.previous) - more | less
    revoked = _items(memory.previous_revoked) - less | more
    return replace(memory, previous=_jobs(sorted(previous, key=str)), previous_revoked=_jobs(sorted(revoked, key=str)))


def _revoked(result: ConnectResult) -> set[Job]:
    return {job for one in result.shares.values() for job in _items(one.revoked)}


def _items(jobs: Jobs) -> set[Job]:
    return {*jobs.connectors, *jobs.tasks}


def _jobs(items: Sequence[Job]) -> Jobs:
    return Jobs(
        tuple(job for job in items if isinstance(job, str)), tuple(job for job in items if not isinstance(job, str))
    )


def _duplicate_and_imbalance(table: _Table) -> bool:
    busiest = max(table.hands, key=lambda hand: (len(hand.member.held.tasks), hand.member.url))
    rest = [hand for hand in table.hands if hand is not busiest]
    victim = max(rest, key=lambda hand: (len(hand.member.held.tasks), hand.member.url))
    victim.assigned += busiest.member.held.tasks
    return bool(busiest.member.held.tasks)


def _duplicate(table: _Table) -> bool:
    for hand, job in table.handed_out():
        other = _least(one for one in table.hands if one is not hand and table.belongs(one, job))
        if other is not None:
            other.assigned.append(job)
            return True
    return False


def _wrong_arithmetic(table: _Table) -> bool:
    for hand in table.hands:
        for job in hand.held:
            if job not in hand.revoked:
                hand.revoked.append(job)
                return True
    return False


def _imbalance(table: _Table) -> bool:
    if table.idle() or any(hand.revoked for hand in table.hands):
        return False  # what is still to be placed may even the loads out: no law of balance is broken yet
    out = [
        (hand, job)
        for hand, job in table.handed_out()
        if isinstance(job, tuple) and job not in table.static and table.belongs(hand, job)
    ]
    if not out:
        return False
    wildcard = [hand for hand in table.hands if not hand.lists]
    greedy = max(wildcard, key=lambda hand: hand.tasks)
    for hand, job in out:
        hand.assigned.remove(job)
        greedy.assigned.append(job)
    loads = [hand.tasks for hand in wildcard]
    return max(loads) - min(loads) > 1


def _unplaced(table: _Table, *, static: bool) -> bool:
    for hand, job in table.handed_out():
        if (job in table.static) is static:
            hand.assigned.remove(job)
            return True
    return False


def _astray(table: _Table, *, static: bool, to: Callable[[_Hand, Job], bool]) -> bool:
    """A job of this kind that is handed out, or that nobody may have, goes to a member where it must not be."""
    out: list[tuple[_Hand | None, Job]] = [*table.handed_out(), *((None, job) for job in table.idle())]
    for hand, job in out:
        if (job in table.static) is not static:
            continue
        stranger = _least(one for one in table.hands if to(one, job))
        if stranger is not None:
            if hand is not None:
                hand.assigned.remove(job)
            stranger.assigned.append(job)
            return True
    return False


def _misplaced_kept(table: _Table) -> bool:
    for hand in table.hands:
        for job in hand.revoked:
            if job in table.configured and not table.belongs(hand, job):
                hand.revoked.remove(job)
                return True
    return False


def _one_more_revocation(table: _Table) -> bool:
    hand = max(table.hands, key=lambda one: len(one.holds))
    for job in hand.held:
        if job not in hand.revoked:
            hand.revoked.append(job)
            return True
    return False


_SPOILERS: Mapping[LeaderFault, Callable[[_Table], bool]] = {
    LeaderFault.DUPLICATE_AND_IMBALANCE: _duplicate_and_imbalance,
    LeaderFault.DUPLICATE: _duplicate,
    LeaderFault.WRONG_ARITHMETIC: _wrong_arithmetic,
    LeaderFault.IMBALANCE: _imbalance,
    LeaderFault.STATIC_UNPLACED: lambda table: _unplaced(table, static=True),
    LeaderFault.WILDCARD_UNPLACED: lambda table: _unplaced(table, static=False),
    LeaderFault.STATIC_ON_WILDCARD: lambda table: _astray(table, static=True, to=lambda one, _: not one.lists),
    LeaderFault.STATIC_ON_STRANGER: lambda table: _astray(
        table, static=True, to=lambda one, job: job not in one.lists and not one.lists.isdisjoint(table.static)
    ),
    LeaderFault.WILDCARD_ON_STATIC: lambda table: _astray(
        table, static=False, to=lambda one, _: not one.lists.isdisjoint(table.static)
    ),
    LeaderFault.MISPLACED_KEPT: _misplaced_kept,
    LeaderFault.NEVER_ENDING_REVOCATIONS: _one_more_revocation,
}


def seen_wrongly(
    fault: LeaderFault, round_: ConnectRound, connectors: Mapping[str, int], declared: Mapping[str, Jobs]
) -> ConnectRound | None:
    """The round as a leader sees it that is wrong about declarations; None where that makes no difference.

    `declared` is what the workers' own settings list, by URL.
    """
    if fault is LeaderFault.HIDDEN_DECLARATIONS and round_.protocol in ("sessioned", "compatible"):
        members = tuple(replace(one, static=declared.get(one.url, Jobs())) for one in round_.members)
        return replace(round_, protocol="static", members=members)
    if fault is LeaderFault.MISSING_FORGOTTEN and round_.protocol == "static":
        members = tuple(
            one if _lists_something(one, connectors) else replace(one, static=Jobs()) for one in round_.members
        )
        return replace(round_, members=members) if members != round_.members else None
    return None


def _lists_something(member: ConnectMember, connectors: Mapping[str, int]) -> bool:
    return any(name in connectors for name in member.static.connectors) or any(
        number < connectors.get(name, 0) for name, number in member.static.tasks
    )
