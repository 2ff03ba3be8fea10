"""What the laws ask of all members of a group together, kept up to date as single members change.

Theory. A law is of one member (its epoch is not ahead of the target's), or of all (no partition has two holders). What
a member breaks by itself depends on the member and on a few things of the group, its `frame`: the epochs, for example.
So the facts of each member are worked out once, and the sums over all of them follow. A record that changes one member
costs its facts; a new target changes the frame, and all facts are worked out anew.

    type 8 of m7        facts of m7 dropped, facts of m7 added       whatever the number of members
    type 6              another target: everybody is where it was, the target is not

The tally is no part of the state: who opens a stored group begins with a new one.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from rebalance_monitor.streaming.core.targets.breaches import Deadline, TargetBreach
from rebalance_monitor.streaming.core.targets.coverage import Coverage
from rebalance_monitor.streaming.core.targets.group import TargetGroup, among
from rebalance_monitor.streaming.core.targets.sums import Dues, Times


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """One member: whether it is known and at the newest target, what it should hold, the topics it subscribes to, and
    when it breaks a law by itself."""

    known: bool
    arrived: bool
    wanted: frozenset[object]
    names: frozenset[str]
    deadline: Deadline[TargetBreach] | None


G = TypeVar("G", bound=TargetGroup)
F = TypeVar("F", bound=TargetFacts)
B = TypeVar("B", bound=TargetBreach)


class Tally(ABC, Generic[G, F, B]):
    """A group with the facts of each member. `session_ms`: the broker's session time-out.

    `names`: topics that members subscribe to; `unknown`: members without metadata; `late`: those that are not at the
    newest target; `dues`: deadlines; `coverage`: what no target holds."""

    def __init__(self, group: G, session_ms: int) -> None:
        self.group, self.session_ms = group, session_ms
        self.names = Times[str]()
        self.unknown, self.late = set[str](), set[str]()
        self.dues = Dues()
        self.coverage = Coverage[B]()
        self.facts: dict[str, F] = {}
        for name in group.members:
            self.facts[name] = self.facts_of(name)
            self.add(name, self.facts[name])

    @abstractmethod
    def frame_of(self, group: G) -> object:
        """What the facts of every member depend on."""

    @abstractmethod
    def facts_of(self, name: str) -> F:
        """What is known of a member of the group in this frame."""

    def add(self, name: str, facts: F) -> None:
        """A member with these facts belongs to the sums."""
        self.names.add(facts.names)
        if not facts.known:
            self.unknown.add(name)
        if not facts.arrived:
            self.late.add(name)
        if facts.deadline is not None:
            self.dues.add(facts.deadline.due_ms, name)

    def drop(self, name: str, facts: F) -> None:
        """It does not any more."""
        self.names.drop(facts.names)
        for names in (self.unknown, self.late):
            names.discard(name)
        if facts.deadline is not None:
            self.dues.drop(facts.deadline.due_ms, name)

    def after(self, group: G, changed: Iterable[str]) -> Self:
        """The tally of a later state of the group, in which no other members changed, came or went. It may be this one,
        so nobody asks this one any more."""
        if self.frame_of(group) != self.frame_of(self.group):
            return type(self)(group, self.session_ms)
        self.group = group
        for name in changed:
            before = self.facts.pop(name, None)
            after = self.facts_of(name) if name in group.members else None
            if before is not None:
                self.drop(name, before)
            if after is not None:
                self.facts[name] = after
                self.add(name, after)
            if _asked(before) != _asked(after):
                self.coverage = Coverage()
        return self

    def without(self, names: Collection[str]) -> Self:
        """The tally of the group as if these were no members of it."""
        if not names:
            return self
        return type(self)(among(self.group, self.group.members.keys() - names), self.session_ms)

    @property
    def reached(self) -> bool:
        """Whether every member that counts holds the newest target."""
        return not self.late

    @property
    def converged(self) -> bool:
        """Whether no newer target is due either."""
        return not self.group.behind and self.reached

    def places(self) -> dict[str, int]:
        """The place of each member in the group's order."""
        return {name: place for place, name in enumerate(self.group.members)}


def _asked(facts: TargetFacts | None) -> object:
    """What no target holds is another question where this is another."""
    return None if facts is None else (facts.wanted, facts.names, facts.known)
