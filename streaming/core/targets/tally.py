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
from collections.abc import Iterable, Mapping
from typing import Generic, Self, TypeVar

from rebalance_monitor.streaming.core.targets.group import TargetGroup, TimedMember

G = TypeVar("G", bound=TargetGroup)
M = TypeVar("M", bound=TimedMember)
F = TypeVar("F")


class Tally(ABC, Generic[G, M, F]):
    """A group with the facts of each member. `session_ms`: the broker's session time-out."""

    def __init__(self, group: G, session_ms: int) -> None:
        self.group, self.session_ms = group, session_ms
        self.facts: dict[str, F] = {}
        for name, member in self.members_of(group).items():
            self.facts[name] = self.facts_of(name, member)
            self.add(name, self.facts[name])

    @abstractmethod
    def members_of(self, group: G) -> Mapping[str, M]:
        """The members by their ids."""

    @abstractmethod
    def frame_of(self, group: G) -> object:
        """What the facts of every member depend on."""

    @abstractmethod
    def facts_of(self, name: str, member: M) -> F:
        """What is known of a member in this frame."""

    @abstractmethod
    def add(self, name: str, facts: F) -> None:
        """A member with these facts belongs to the sums."""

    @abstractmethod
    def drop(self, name: str, facts: F) -> None:
        """It does not any more."""

    @abstractmethod
    def changed(self, before: F | None, after: F | None) -> None:
        """The facts of one member were replaced; None where it was or is not there."""

    def after(self, group: G, changed: Iterable[str]) -> Self:
        """The tally of a later state of the group, in which no other members changed, came or went. It may be this one,
        so nobody asks this one any more."""
        if self.frame_of(group) != self.frame_of(self.group):
            return type(self)(group, self.session_ms)
        members = self.members_of(group)
        self.group = group
        for name in changed:
            before, member = self.facts.pop(name, None), members.get(name)
            after = None if member is None else self.facts_of(name, member)
            if before is not None:
                self.drop(name, before)
            if after is not None:
                self.facts[name] = after
                self.add(name, after)
            self.changed(before, after)
        return self

    def places(self) -> dict[str, int]:
        """The place of each member in the group's order."""
        return {name: place for place, name in enumerate(self.members_of(self.group))}
