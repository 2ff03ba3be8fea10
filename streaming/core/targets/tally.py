"""What the laws ask of all members of a group together, kept up to date as single members change.

Theory. A law is of one member (its epoch is not ahead of the target's), or of all (no partition has two holders). What
a member breaks by itself depends on the member and on a few things of the group, its `frame`: the epochs, for example.
So the facts of each member are worked out once, and the sums over all of them follow. A record that changes one member
costs its facts; a new target changes the frame, and all facts are worked out anew.

    type 8 of m7        facts of m7 dropped, facts of m7 added       whatever the number of members
    type 6              another target: everybody is where it was, the target is not

The tally is no part of the state: who opens a stored group begins with a new one.

Sums follow single members, too: how many have a thing (`Times`), and what is due when (`Dues`). A change costs what the
member has, not what all have.

    m1 {0 1}, m2 {1 2}      0 once, 1 twice, 2 once      several: 1
    m2 {2}                  0 once, 1 once, 2 once       several: nothing
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rebalance_monitor.schemas.group_values import MemberState
from . import units
from .breaches import Breach, Deadline, Terms
from .group import TargetGroup
from .member import TargetMember
from .member_laws import asks_ms, breaches_of, deadline_of
from .units import ROLES, WARM_UP, HeldUnit, RoleTask, Units

T = TypeVar("T")


class Times(Generic[T]):
    """How many times each thing is there. `several`: what is more than once."""

    def __init__(self) -> None:
        self._times: dict[T, int] = {}
        self.several: set[T] = set()

    def count(self, things: Iterable[T], by: int) -> None:
        """Each of these once more (1), or once less (-1)."""
        for thing in things:
            times = self._times.get(thing, 0) + by
            if times:
                self._times[thing] = times
            else:
                del self._times[thing]
            if times > 1:
                self.several.add(thing)
            else:
                self.several.discard(thing)

    def __contains__(self, thing: object) -> bool:
        return thing in self._times

    def __iter__(self) -> Iterator[T]:
        return iter(self._times)


class Dues:
    """Times (ms) at which something of a member is due, in order."""

    def __init__(self) -> None:
        self._dues: list[tuple[int, str]] = []

    def add(self, at_ms: int, name: str) -> None:
        """Something of this member is due at this time."""
        insort(self._dues, (at_ms, name))

    def drop(self, at_ms: int, name: str) -> None:
        """It is not due any more."""
        del self._dues[bisect_left(self._dues, (at_ms, name))]

    def until(self, at_ms: int) -> list[str]:
        """Members of which something is due at this time, or was before."""
        return [name for _, name in self._dues[: bisect_right(self._dues, at_ms, key=_at_ms)]]

    def after(self, at_ms: int | None) -> int | None:
        """The first time after this one, of all times if it is None; None where nothing is due."""
        first = 0 if at_ms is None else bisect_right(self._dues, at_ms, key=_at_ms)
        return self._dues[first][0] if first < len(self._dues) else None


def _at_ms(due: tuple[int, str]) -> int:
    return due[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFacts:
    """One member: whether it is at the newest target, what it holds and should hold, the topics it subscribes to, what
    it breaks by itself and when, and after how long it asks for a target."""

    member: TargetMember
    arrived: bool
    held: Units
    wanted: Units
    names: frozenset[str]
    breaches: tuple[Breach, ...]
    deadline: Deadline | None
    asks_ms: int | None

    @property
    def waits_since_ms(self) -> int | None:
        """Since when a member waits for what others hold; None if it does not."""
        member = self.member
        return member.epoch_since_ms if member.state is MemberState.UNRELEASED and not member.away else None

    def asked(self) -> object:
        """What no target holds is another question where this is another."""
        return self.wanted, self.names, self.member.metadata is None


class Copies:
    """Copies of tasks, in whatever role, by the process that has them."""

    def __init__(self) -> None:
        self._places, self._roles = Times[tuple[str, str, int]](), Times[tuple[str, RoleTask]]()

    def count(self, process: str, some: Iterable[RoleTask], by: int) -> None:
        """The process has these, too, or not any more."""
        for role, name, number in some:
            self._places.count([(process, name, number)], by)
            self._roles.count([(process, (role, name, number))], by)

    def together(self) -> Units:
        """Tasks of which one process has two copies, in each role that it has them in."""
        return frozenset(
            (role, name, number)
            for process, name, number in self._places.several
            for role in ROLES
            if (process, (role, name, number)) in self._roles
        )


class Coverage:
    """What no target of a group holds although it should, worked out once for all moments that show the same.

    Samples of the topics divide time: between two of them the same topics are known. Nearly all records change neither
    targets nor subscriptions, so the answer for the one before holds for them, too."""

    def __init__(self) -> None:
        self._turns_ms: Sequence[int] | None = None
        self._found: dict[int, list[Breach]] = {}

    def lacking(
        self, at_ms: int, turns_ms: Callable[[], Sequence[int]], work_out: Callable[[], list[Breach]]
    ) -> list[Breach]:
        """What is lacking at this time. `turns_ms`: the times in order from which on other topics are known; `work_out`
        gives the answer of this time."""
        if self._turns_ms is None:
            self._turns_ms = turns_ms()
        span = bisect_right(self._turns_ms, at_ms)
        if span not in self._found:
            self._found[span] = work_out()
        return self._found[span]


class Tally:
    """A group with the facts of each member, and the terms of its laws.

    `held` and `wanted`: what one member alone may hold; `warming`: tasks that are to warm up; `names`: topics that
    members subscribe to; `timeouts` and `sessions`: the time-outs (ms) of members and of those that speak the classic
    protocol; `asking`: after how long (ms) those that are there ask for a target; `unknown`: members without metadata;
    `late`: those that are not at the newest target; `away`: static members that left for a while; `broken`: who breaks
    a law by itself; `dues`: deadlines; `waits`: since when members wait; `coverage`: what no target holds."""

    def __init__(self, group: TargetGroup, terms: Terms) -> None:
        self.group, self.terms = group, terms
        self.held, self.wanted, self.warming = Times[HeldUnit](), Times[HeldUnit](), Times[RoleTask]()
        self.copies_held, self.copies_wanted = Copies(), Copies()
        self.names = Times[str]()
        self.timeouts, self.sessions, self.asking = Times[int](), Times[int](), Times[int]()
        self.unknown, self.late, self.away = set[str](), set[str](), set[str]()
        self.broken: dict[str, tuple[Breach, ...]] = {}
        self.dues, self.waits = Dues(), Dues()
        self.coverage = Coverage()
        self.facts: dict[str, MemberFacts] = {}
        for name in group.members:
            self._add(name)

    def after(self, group: TargetGroup, changed: Iterable[str]) -> "Tally":
        """The tally of a later state of the group, in which no other members changed, came or went. It may be this one,
        so nobody asks this one any more."""
        if _frame_of(group) != _frame_of(self.group):
            return Tally(group, self.terms)
        self.group = group
        for name in changed:
            before = self.facts.pop(name, None)
            if before is not None:
                self._drop(name, before)
            after = self._add(name) if name in group.members else None
            if (before and before.asked()) != (after and after.asked()):
                self.coverage = Coverage()
        return self

    def without(self, names: Collection[str]) -> "Tally":
        """The tally of the group as if these were no members of it."""
        if not names:
            return self
        return Tally(self.group.among(self.group.members.keys() - names), self.terms)

    @property
    def reached(self) -> bool:
        """Whether every member that is there holds the newest target."""
        return self.late <= self.away

    @property
    def converged(self) -> bool:
        return not self.group.behind and self.reached

    @property
    def ready(self) -> bool:
        """Whether the coordinator had found all topics of a Streams group's topology, and where its record does not
        tell: whether anybody was given a task."""
        if self.group.topics_there is not None:
            return self.group.topics_there
        return self.group.behind or any(facts.wanted for facts in self.facts.values())

    def places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.group.members)}

    def _add(self, name: str) -> MemberFacts:
        group, member = self.group, self.group.members[name]
        facts = self.facts[name] = MemberFacts(
            member=member,
            arrived=group.arrived(member),
            held=member.held(),
            wanted=member.wanted(),
            names=frozenset(group.names_of(member)),
            breaches=tuple(breaches_of(group, name, member, self.terms.laws)),
            deadline=deadline_of(group, name, member, self.terms),
            asks_ms=asks_ms(member, self.terms.session_ms),
        )
        self._count(facts, 1)
        if member.metadata is None:
            self.unknown.add(name)
        if not facts.arrived:
            self.late.add(name)
        if member.away:
            self.away.add(name)
        if facts.breaches:
            self.broken[name] = facts.breaches
        if facts.deadline is not None:
            self.dues.add(facts.deadline.due_ms, name)
        if facts.waits_since_ms is not None:
            self.waits.add(facts.waits_since_ms, name)
        return facts

    def _drop(self, name: str, facts: MemberFacts) -> None:
        self._count(facts, -1)
        for names in (self.unknown, self.late, self.away):
            names.discard(name)
        self.broken.pop(name, None)
        if facts.deadline is not None:
            self.dues.drop(facts.deadline.due_ms, name)
        if facts.waits_since_ms is not None:
            self.waits.drop(facts.waits_since_ms, name)

    def _count(self, facts: MemberFacts, by: int) -> None:
        member = facts.member
        self.names.count(facts.names, by)
        self.held.count(units.alone(facts.held), by)
        self.wanted.count(units.alone(facts.wanted), by)
        self.warming.count((task for task in units.tasks_in(facts.wanted) if task[0] == WARM_UP), by)
        if member.process is not None:
            self.copies_held.count(member.process, units.tasks_in(facts.held), by)
            self.copies_wanted.count(member.process, units.tasks_in(facts.wanted), by)
        if member.rebalance_timeout_ms is not None:
            self.timeouts.count([member.rebalance_timeout_ms], by)
        if member.classic is not None:
            self.sessions.count([member.classic.session_timeout_ms], by)
        if facts.asks_ms is not None:
            self.asking.count([facts.asks_ms], by)


def _frame_of(group: TargetGroup) -> object:
    """What the facts of every member depend on: the epochs, what names stand for, and what there is to share out."""
    computed_ms = None if group.assignment_ms is None else group.assignment_ms - group.ahead_ms
    epochs = (group.epoch is None, group.assignment_epoch, computed_ms, group.behind)
    return (epochs, group.regexes, group.topics, group.topology, group.metadata_hash, group.states)
