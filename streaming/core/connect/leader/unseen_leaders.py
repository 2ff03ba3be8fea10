"""Which processes may have led the rounds that left no record (connect.md 5.4, 5.6).

The coordinator gives the lead to another member only when the leader has left the group, and who comes back comes under
a new member id. So between two records, A and B:

    the leader is the same member       it led all rounds between them, and nobody else any
    a member of A that is still in B    never led one: it would lead B
    a member of A or B alone            may have led, before it left, or under another member id before it came
    in neither                          may have come, led and left, if more than one round is missing

A process that has started since then sends no allocation. From its first round that is seen on, the memory of a
process is followed, whatever it led before.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.observed import Observed

MAX_NAMES = 256
"""Processes that are kept in mind; with more of them, any process may have led."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenLeaders:
    """Processes (`Observed.process_of`) that may have led in some hole up to now, and all that were around one. Of
    others that come later `strangers` may have led, too, `zombies` those who bring an allocation; `anybody`: nothing
    can be excluded."""

    names: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    strangers: bool = False
    zombies: bool = False
    anybody: bool = False

    def may_be(self, name: str) -> bool:
        """Whether a process that was never seen to lead may have led."""
        return self.anybody or name in self.names

    def after(self, hole: "UnseenGenerations | None", last: Observed | None, now: Observed) -> "UnseenLeaders":
        """With this record, before which a hole lies or none."""
        known = self._with_strangers(last, now)
        if _moved(last, now):
            return replace(known, anybody=True)
        if hole is None or hole.same_leader:
            return known
        if hole.last is None or not hole.names_everybody:
            return replace(known, anybody=True)
        around = known.around | hole.around()
        if len(around) > MAX_NAMES:
            return UnseenLeaders(anybody=True)
        names = known.names | frozenset(one for one in hole.around() if hole.may_have_led(one))
        return replace(known, names=names, around=around, strangers=known.strangers or hole.wide, zombies=True)

    def _with_strangers(self, last: Observed | None, now: Observed) -> "UnseenLeaders":
        """With those among the members that came since the record before who were out of sight in a hole."""
        if not (self.strangers or self.zombies) or last is None:
            return self
        come = frozenset(
            now.process_of(member_id)
            for member_id, view in now.views.items()
            if member_id not in last.views and (self.strangers or view.had_allocation)
        )
        return replace(self, names=self.names | (come - self.around))


@dataclass(frozen=True, slots=True)
class UnseenGenerations:
    """Generations without a record between `last` (None: not known) and `now`."""

    last: Observed | None
    now: Observed
    generations: int

    @property
    def same_leader(self) -> bool:
        last = self.last
        return last is not None and last.leader is not None and last.leader == self.now.leader

    @property
    def names_everybody(self) -> bool:
        """Whether both records tell who their leaders and members were."""
        last = self.last
        if last is None:
            return False
        return all(view.worker is not None for one in (last, self.now) for view in one.views.values()) and not (
            last.blind and last.leader not in last.views
        )

    @property
    def wide(self) -> bool:
        """Whether a member may have come, led and left within it; in an empty group who comes leads at once."""
        return self.generations > 1 or self.last is None or not self.last.views

    def may_have_led(self, name: str) -> bool:
        """Whether this process may have led in the hole, but for the leader behind it."""
        if _moved(self.last, self.now):
            return True
        if self.same_leader or name in self._stayed():
            return False
        return self.wide or name in self.around()

    def around(self) -> frozenset[str]:
        """The processes of both records."""
        return frozenset(_names(self.now)) | frozenset(_names(self.last) if self.last is not None else ())

    def _stayed(self) -> frozenset[str]:
        before = self.last.views.keys() if self.last is not None else frozenset[str]()
        return frozenset(self.now.process_of(one) for one in self.now.views if one in before)


def _moved(last: Observed | None, now: Observed) -> bool:
    """Whether the lead has moved while its leader stayed: then this coordinator has rules of its own."""
    return last is not None and last.leader != now.leader and last.leader in now.views


def _names(observed: Observed) -> Iterator[str]:
    return map(observed.process_of, observed.views)
