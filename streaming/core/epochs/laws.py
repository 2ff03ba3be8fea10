"""Laws of the state of a KIP-848 consumer group or a Streams group, as functions from states to findings.

They hold between two operations, not in the midst of one. What is not known (a record that was compacted away, a topic
without a partition count, a state of a later release) makes a law silent, never broken. Members that are static and
away (epoch -2) count for ownership only. What members share out are units (`units`): partitions, or tasks in a role.
Source: docs/protocol/coordinator-log.md, sections 6.4 and 7.1.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeAlias

from rebalance_monitor.schemas.group_values import MemberState
from rebalance_monitor.streaming.core.epochs import units
from rebalance_monitor.streaming.core.epochs.group import STREAMS, EpochGroup, MemberView
from rebalance_monitor.streaming.core.epochs.units import ACTIVE, NONE, WARM_UP, HeldUnit, RoleTask, Units
from rebalance_monitor.streaming.core.targets.timing import SESSION_MS, SLACK_MS

HEARTBEAT_MS = 5_000
"""A broker's default for the heartbeat interval."""
FIRST_TARGET_MS = 3_000
"""A broker's default for the time that it waits for more members of a Streams group that was empty (4.2)."""


class Law(Enum):
    """What a finding breaks."""

    SEVERAL_HOLDERS = auto()
    """What one member alone may hold is assigned to, or pending revocation from, more than one."""
    SEVERAL_TARGETS = auto()
    """What one member alone may hold stands in more than one target."""
    TARGET_INCOMPLETE = auto()
    """A partition of a subscribed topic, or a task of the topology, stands in no target."""
    EPOCH_ORDER = auto()
    """A member is ahead of the assignment epoch, or that of the group epoch."""
    EPOCH_DECREASED = auto()
    """The group or assignment epoch went back."""
    STABLE_UNLIKE_TARGET = auto()
    """A member is stable at the newest epoch and holds something else than its target."""
    PENDING_UNLIKE_STATE = auto()
    """A member has something to revoke though it should not, or nothing though it should."""
    UNRELEASED_HOLDS_ALL = auto()
    """A member waits although it holds its target, or holds something else."""
    STUCK_REVOKING = auto()
    """A member has not revoked for longer than its rebalance time-out."""
    WAITING_LONG = auto()
    """A member waits for longer than those who hold what it waits for may take."""
    LAGGING = auto()
    """A member did not move to the newest epoch for longer than its session time-out."""
    NO_TARGET = auto()
    """The group needs a target and got none for longer than any member may take to ask for it."""
    COPIES_TOGETHER = auto()
    """One process holds two copies of a task."""
    TARGET_COPIES_TOGETHER = auto()
    """The targets of one process hold two copies of a task."""
    WARM_UP_ALONE = auto()
    """A task warms up that nobody is to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A law that is broken. `member` where one is concerned; `partitions` where some are: of a Streams group, tasks."""

    law: Law
    member: str | None = None
    partitions: Units = NONE
    waited_ms: int | None = None


def state_findings(group: EpochGroup, counts: Mapping[str, tuple[bytes, int]] | None = None) -> list[Breach]:
    """All laws that one state can break. `counts`: topic name to id and number of partitions, as far as known."""
    if group.epoch is None:
        return []
    laws: tuple[Callable[[EpochGroup], Iterator[Breach]], ...] = (
        several_holders,
        several_targets,
        epoch_order,
        stable_unlike_target,
        pending_unlike_state,
        unreleased_holds_all,
        copies_together,
        warm_up_alone,
    )
    found = [finding for law in laws for finding in law(group)]
    return found if counts is None else [*found, *target_incomplete(group, counts)]


@dataclass(frozen=True, slots=True)
class Deadline:
    """A law about time that something may break: since when it lasts (ms), and how long it may."""

    since_ms: int
    patience_ms: int
    finding: Breach

    @property
    def due_ms(self) -> int:
        """The first moment at which the law is broken."""
        return self.since_ms + self.patience_ms + 1


def deadlines(
    group: EpochGroup, *, session_ms: int = SESSION_MS, heartbeat_ms: int = HEARTBEAT_MS
) -> Iterator[Deadline]:
    """Everything that breaks a law if it lasts."""
    if group.epoch is None:
        return
    yield from stuck_revoking(group, heartbeat_ms)
    yield from lagging(group, session_ms)
    yield from waiting_long(group, session_ms, heartbeat_ms)
    yield from no_target(group, session_ms)


def overdue_findings(
    group: EpochGroup, now_ms: int, *, session_ms: int = SESSION_MS, heartbeat_ms: int = HEARTBEAT_MS
) -> list[Breach]:
    """The laws about time, as of `now_ms` (on the clock of the records)."""
    found = deadlines(group, session_ms=session_ms, heartbeat_ms=heartbeat_ms)
    return [replace(one.finding, waited_ms=now_ms - one.since_ms) for one in found if one.due_ms <= now_ms]


def several_holders(group: EpochGroup) -> Iterator[Breach]:
    """Law 1: over all members, what one alone may hold is disjoint, assigned or pending revocation."""
    if twice := _in_several(_alone(group, member.held()) for member in group.members.values()):
        yield Breach(law=Law.SEVERAL_HOLDERS, partitions=twice)


def several_targets(group: EpochGroup) -> Iterator[Breach]:
    """Law 2, first part: targets are disjoint."""
    if twice := _in_several(_alone(group, member.wanted()) for member in group.members.values()):
        yield Breach(law=Law.SEVERAL_TARGETS, partitions=twice)


def target_incomplete(group: EpochGroup, counts: Mapping[str, tuple[bytes, int]]) -> Iterator[Breach]:
    """Law 2, second part: targets cover every partition of every subscribed topic, once the target is the newest.

    Topics without a count are left out: subscribed names need not exist.
    """
    if group.behind or any(member.metadata is None for member in group.members.values()):
        return
    names = {name for member in group.members.values() for name in group.names_of(member)}
    wanted: Units = frozenset(
        (counts[name][0], number) for name in names & counts.keys() for number in range(counts[name][1])
    )
    yield from _without_owner(group, wanted)


def tasks_incomplete(group: EpochGroup, tasks: Mapping[str, int]) -> Iterator[Breach]:
    """The same of a Streams group: every task is active with one member. `tasks`: their number by subtopology."""
    if group.behind or not group.members:
        return
    yield from _without_owner(group, frozenset((ACTIVE, name, at) for name, of in tasks.items() for at in range(of)))


def _without_owner(group: EpochGroup, wanted: Units) -> Iterator[Breach]:
    missing = wanted.difference(*(member.wanted() for member in group.members.values()))
    if missing:
        yield Breach(law=Law.TARGET_INCOMPLETE, partitions=missing)


def copies_together(group: EpochGroup) -> Iterator[Breach]:
    """A process has one copy of a task at most, in whatever role. Members whose process is not known are left out."""
    if twice := _copies(group, MemberView.held):
        yield Breach(law=Law.COPIES_TOGETHER, partitions=twice)
    if twice := _copies(group, MemberView.wanted):
        yield Breach(law=Law.TARGET_COPIES_TOGETHER, partitions=twice)


def _copies(group: EpochGroup, units_of: Callable[[MemberView], Units]) -> Units:
    seen: dict[tuple[str, str, int], RoleTask] = {}
    twice: set[HeldUnit] = set()
    for member in group.members.values():
        if member.process is None:
            continue
        for task in units.tasks_in(units_of(member)):
            _, name, number = task
            other = seen.setdefault((member.process, name, number), task)
            if other is not task:
                twice |= {other, task}
    return frozenset(twice)


def warm_up_alone(group: EpochGroup) -> Iterator[Breach]:
    """A task warms up where another member is to run it until then."""
    wanted = units.tasks_in(unit for member in group.members.values() for unit in member.wanted())
    active = {one[1:] for one in wanted if one[0] == ACTIVE}
    warming = frozenset(one for one in wanted if one[0] == WARM_UP and one[1:] not in active)
    if warming:
        yield Breach(law=Law.WARM_UP_ALONE, partitions=warming)


def epoch_order(group: EpochGroup) -> Iterator[Breach]:
    """Law 3: member epochs, assignment epoch and group epoch never pass one another."""
    if group.epoch is not None and group.assignment_epoch is not None and group.assignment_epoch > group.epoch:
        yield Breach(law=Law.EPOCH_ORDER)
    for name, member in group.members.items():
        if group.assignment_epoch is not None and member.epoch is not None and member.epoch > group.assignment_epoch:
            yield Breach(law=Law.EPOCH_ORDER, member=name)


def epoch_decreased(before: EpochGroup, after: EpochGroup) -> Iterator[Breach]:
    """Law 3: the group's epochs never go back while the group lives."""
    for earlier, later in ((before.epoch, after.epoch), (before.assignment_epoch, after.assignment_epoch)):
        if earlier is not None and later is not None and later < earlier:
            yield Breach(law=Law.EPOCH_DECREASED)


def stable_unlike_target(group: EpochGroup) -> Iterator[Breach]:
    """Law 4: a stable member at the assignment epoch holds its target; less, while a new target is due."""
    for name, member in _present(group):
        if member.state is not MemberState.STABLE or member.epoch != group.assignment_epoch:
            continue
        held, wanted = member.assigned(), member.wanted()
        if held != wanted and not (group.behind and held < wanted):
            yield Breach(law=Law.STABLE_UNLIKE_TARGET, member=name, partitions=held ^ wanted)


def pending_unlike_state(group: EpochGroup) -> Iterator[Breach]:
    """Law 5: exactly the members that are revoking have partitions to revoke."""
    for name, member in _present(group):
        if member.state is not None and (member.state is MemberState.UNREVOKED) != bool(member.pending()):
            yield Breach(law=Law.PENDING_UNLIKE_STATE, member=name, partitions=member.pending())


def unreleased_holds_all(group: EpochGroup) -> Iterator[Breach]:
    """Law 6: a member that waits holds a proper part of the target of its epoch."""
    for name, member in _present(group):
        if member.state is not MemberState.UNRELEASED or member.epoch != group.assignment_epoch:
            continue
        if not member.assigned() < member.wanted():
            yield Breach(law=Law.UNRELEASED_HOLDS_ALL, member=name, partitions=member.assigned() - member.wanted())


def stuck_revoking(group: EpochGroup, heartbeat_ms: int) -> Iterator[Deadline]:
    """Law 7: nobody revokes for longer than its rebalance time-out; then the broker removes it."""
    for name, member in _present(group):
        if member.state is not MemberState.UNREVOKED or member.metadata is None or member.epoch_since_ms is None:
            continue
        patience_ms = member.metadata.rebalance_timeout_ms + heartbeat_ms + SLACK_MS
        found = Breach(law=Law.STUCK_REVOKING, member=name, partitions=member.pending())
        yield Deadline(member.epoch_since_ms, patience_ms, found)


def lagging(group: EpochGroup, session_ms: int) -> Iterator[Deadline]:
    """Law 8: who is not revoking moves to a new epoch when it next asks, or the broker removes it."""
    for name, member in _present(group):
        if member.state in (None, MemberState.UNREVOKED) or member.epoch is None or group.assignment_epoch is None:
            continue
        asks_ms = _asks_ms(member, session_ms)
        if member.epoch >= group.assignment_epoch or None in (member.heard_ms, group.assignment_ms, asks_ms):
            continue
        since_ms = max(member.heard_ms or 0, group.assignment_ms or 0)
        yield Deadline(since_ms, (asks_ms or 0) + SLACK_MS, Breach(law=Law.LAGGING, member=name))


def waiting_long(group: EpochGroup, session_ms: int, heartbeat_ms: int) -> Iterator[Deadline]:
    """Law 9: nobody waits for longer than the others may take to give up what they hold, or to be removed. A holder
    that was revoking for the target before gives that up first, and has its time-out twice."""
    known = [member.metadata for member in group.members.values()]
    longest_ms = max((one.rebalance_timeout_ms for one in known if one is not None), default=0)
    classics = (member.classic for member in group.members.values())
    classic_ms = (one.session_timeout_ms for one in classics if one is not None)
    silent_ms = max(session_ms, *classic_ms, 0)
    if any(one is None for one in known):
        return
    for name, member in _present(group):
        if member.state is not MemberState.UNRELEASED or member.epoch_since_ms is None:
            continue
        found = Breach(law=Law.WAITING_LONG, member=name, partitions=member.wanted() - member.assigned())
        yield Deadline(member.epoch_since_ms, 2 * longest_ms + silent_ms + heartbeat_ms + SLACK_MS, found)


def no_target(group: EpochGroup, session_ms: int) -> Iterator[Deadline]:
    """Law 10: a target follows a new group epoch as soon as a member asks, which one of them does in time or is
    removed."""
    if not group.behind or group.epoch_ms is None:
        return
    times = [asks_ms for _, member in _present(group) if (asks_ms := _asks_ms(member, session_ms)) is not None]
    delay_ms = FIRST_TARGET_MS if group.kind == STREAMS else 0
    if times:
        yield Deadline(group.epoch_ms, min(times) + delay_ms + SLACK_MS, Breach(law=Law.NO_TARGET))


def _asks_ms(member: MemberView, session_ms: int) -> int | None:
    """After how long at most a member asks for the newest target, or is removed; None where that is not known. One of
    the classic protocol does so by joining, for which it has its rebalance time-out once its heartbeat was refused."""
    if member.metadata is None:
        return None
    classic = member.classic
    return session_ms if classic is None else classic.session_timeout_ms + member.metadata.rebalance_timeout_ms


def waiting_for(group: EpochGroup) -> dict[str, dict[str, Units]]:
    """Law 9: for each member that waits, who still holds what of its target, or another copy of it in its process; ""
    for nobody."""
    waiting = [(name, member) for name, member in _present(group) if member.state is MemberState.UNRELEASED]
    holders = _holders(group) if waiting else {}
    chains: dict[str, dict[str, Units]] = {}
    for name, member in waiting:
        by_holder: dict[str, set[HeldUnit]] = {}
        free: set[HeldUnit] = set()
        for unit in member.wanted() - member.assigned():
            alone, together = holders.get(unit, ()), holders.get(_copy_of(member, unit), ())
            others = {other for other in (*alone, *together) if other != name}
            for other in others:
                by_holder.setdefault(other, set()).add(unit)
            if not others:
                free.add(unit)
        found = by_holder | ({"": free} if free else {})
        chains[name] = {other: frozenset(some) for other, some in found.items()}
    return chains


_Copy: TypeAlias = tuple[str, str, str, int] | None
"""A copy of a task in a process, whatever its role: process, "copy", subtopology id, partition; None: there is none."""


def _holders(group: EpochGroup) -> dict[HeldUnit | _Copy, list[str]]:
    """Who holds what one member alone may hold, and who holds a copy of a task in each process."""
    found: dict[HeldUnit | _Copy, list[str]] = {}
    for name, member in group.members.items():
        held = member.held()
        for unit in units.alone(held):
            found.setdefault(unit, []).append(name)
        for copy in {_copy_of(member, unit) for unit in held} - {None}:
            found.setdefault(copy, []).append(name)
    return found


def _copy_of(member: MemberView, unit: HeldUnit) -> _Copy:
    """The place of a task in the member's process; None for a partition, or where the process is not known."""
    if member.process is None or len(unit) != 3:
        return None
    return member.process, "copy", unit[1], unit[2]


def _present(group: EpochGroup) -> Iterator[tuple[str, MemberView]]:
    return ((name, member) for name, member in group.members.items() if not member.away)


def _alone(group: EpochGroup, some: Units) -> Units:
    return units.alone(some) if group.kind == STREAMS else some


def _in_several(sets: Iterable[Units]) -> Units:
    seen: set[HeldUnit] = set()
    twice: set[HeldUnit] = set()
    for held in sets:
        twice |= seen & held
        seen |= held
    return frozenset(twice)
