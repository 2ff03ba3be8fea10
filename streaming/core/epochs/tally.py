"""The members of a KIP-848 or Streams group with the sums that its laws ask for (`targets.tally`)."""

from collections.abc import Iterable
from dataclasses import dataclass

from rebalance_monitor.schemas.group_values import MemberState
from rebalance_monitor.streaming.core.epochs import units
from rebalance_monitor.streaming.core.epochs.breaches import Breach
from rebalance_monitor.streaming.core.epochs.group import EpochGroup, MemberView
from rebalance_monitor.streaming.core.epochs.member_laws import asks_ms, breaches_of, deadline_of
from rebalance_monitor.streaming.core.epochs.units import ROLES, WARM_UP, HeldUnit, RoleTask, Units
from rebalance_monitor.streaming.core.targets.breaches import Deadline
from rebalance_monitor.streaming.core.targets.sums import Dues, Times
from rebalance_monitor.streaming.core.targets.tally import Tally, TargetFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFacts(TargetFacts):
    """One member, with what it holds, what it breaks by itself, and when it asks for a target."""

    member: MemberView
    held: Units
    wanted: Units
    breaches: tuple[Breach, ...]
    deadline: Deadline[Breach] | None
    asks_ms: int | None

    @property
    def waits_since_ms(self) -> int | None:
        """Since when a member waits for what others hold; None if it does not."""
        member = self.member
        return member.epoch_since_ms if member.state is MemberState.UNRELEASED and not member.away else None


class Copies:
    """Copies of tasks, in whatever role, by the process that has them."""

    def __init__(self) -> None:
        self._places, self._roles = Times[tuple[str, str, int]](), Times[tuple[str, RoleTask]]()

    def add(self, process: str, some: Iterable[RoleTask]) -> None:
        """The process has these, too."""
        for role, name, number in some:
            self._places.add([(process, name, number)])
            self._roles.add([(process, (role, name, number))])

    def drop(self, process: str, some: Iterable[RoleTask]) -> None:
        """It does not any more."""
        for role, name, number in some:
            self._places.drop([(process, name, number)])
            self._roles.drop([(process, (role, name, number))])

    def together(self) -> Units:
        """Tasks of which one process has two copies, in each role that it has them in."""
        return frozenset(
            (role, name, number)
            for process, name, number in self._places.several
            for role in ROLES
            if (process, (role, name, number)) in self._roles
        )


class EpochTally(Tally[EpochGroup, MemberFacts, Breach]):
    """`held` and `wanted`: what one member alone may hold; `warming`: tasks that are to warm up; `away`: static members
    that left for a while; `timeouts` and `sessions`: the time-outs (ms) of members and of those that speak the classic
    protocol; `asking`: after how long (ms) those that are there ask for a target; `broken`: who breaks a law by itself;
    `waits`: since when members wait."""

    def __init__(self, group: EpochGroup, session_ms: int) -> None:
        self.held, self.wanted, self.warming = Times[HeldUnit](), Times[HeldUnit](), Times[RoleTask]()
        self.copies_held, self.copies_wanted = Copies(), Copies()
        self.away = set[str]()
        self.timeouts, self.sessions, self.asking = Times[int](), Times[int](), Times[int]()
        self.broken: dict[str, tuple[Breach, ...]] = {}
        self.waits = Dues()
        super().__init__(group, session_ms)

    def frame_of(self, group: EpochGroup) -> object:
        """The epochs, what names stand for, and what there is to share out."""
        computed_ms = None if group.assignment_ms is None else group.assignment_ms - group.ahead_ms
        epochs = (group.epoch is None, group.assignment_epoch, computed_ms, group.behind)
        return (group.kind, epochs, group.regexes, group.topics, group.topology)

    def facts_of(self, name: str) -> MemberFacts:
        group, member = self.group, self.group.members[name]
        return MemberFacts(
            member=member,
            known=member.metadata is not None,
            arrived=group.arrived(member),
            held=member.held(),
            wanted=member.wanted(),
            names=frozenset(group.names_of(member)),
            breaches=tuple(breaches_of(group, name, member)),
            deadline=deadline_of(group, name, member, self.session_ms),
            asks_ms=None if member.away else asks_ms(member, self.session_ms),
        )

    def add(self, name: str, facts: MemberFacts) -> None:
        super().add(name, facts)
        member, metadata = facts.member, facts.member.metadata
        self.held.add(units.alone(facts.held))
        self.wanted.add(units.alone(facts.wanted))
        self.warming.add(task for task in units.tasks_in(facts.wanted) if task[0] == WARM_UP)
        if member.process is not None:
            self.copies_held.add(member.process, units.tasks_in(facts.held))
            self.copies_wanted.add(member.process, units.tasks_in(facts.wanted))
        if metadata is not None:
            self.timeouts.add([metadata.rebalance_timeout_ms])
        if member.classic is not None:
            self.sessions.add([member.classic.session_timeout_ms])
        if member.away:
            self.away.add(name)
        if facts.asks_ms is not None:
            self.asking.add([facts.asks_ms])
        if facts.breaches:
            self.broken[name] = facts.breaches
        if facts.waits_since_ms is not None:
            self.waits.add(facts.waits_since_ms, name)

    def drop(self, name: str, facts: MemberFacts) -> None:
        super().drop(name, facts)
        member, metadata = facts.member, facts.member.metadata
        self.held.drop(units.alone(facts.held))
        self.wanted.drop(units.alone(facts.wanted))
        self.warming.drop(task for task in units.tasks_in(facts.wanted) if task[0] == WARM_UP)
        if member.process is not None:
            self.copies_held.drop(member.process, units.tasks_in(facts.held))
            self.copies_wanted.drop(member.process, units.tasks_in(facts.wanted))
        if metadata is not None:
            self.timeouts.drop([metadata.rebalance_timeout_ms])
        if member.classic is not None:
            self.sessions.drop([member.classic.session_timeout_ms])
        self.away.discard(name)
        if facts.asks_ms is not None:
            self.asking.drop([facts.asks_ms])
        self.broken.pop(name, None)
        if facts.waits_since_ms is not None:
            self.waits.drop(facts.waits_since_ms, name)

    @property
    def reached(self) -> bool:
        """Whether every present member is stable at the epoch of the newest target."""
        return self.late <= self.away

    @property
    def ready(self) -> bool:
        """Whether the coordinator had found all topics of a Streams group's topology, and where its record does not
        tell: whether anybody was given a task."""
        if self.group.topics_there is not None:
            return self.group.topics_there
        return self.group.behind or any(facts.wanted for facts in self.facts.values())
