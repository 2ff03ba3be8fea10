"""Laws that one member of a KIP-848 or Streams group breaks by itself, given the epochs of its group.

Members that are static and away (epoch -2) break none of them but the order of epochs. Times are those of the member,
to which the group's `ahead_ms` is to be added. Source: docs/protocol/coordinator-log.md, sections 6.4 and 7.1.
"""

from collections.abc import Iterator

from rebalance_monitor.schemas.group_values import MemberState, UnknownState
from rebalance_monitor.streaming.core.epochs.breaches import Breach, Law
from rebalance_monitor.streaming.core.epochs.group import EpochGroup, MemberView
from rebalance_monitor.streaming.core.targets.breaches import Deadline
from rebalance_monitor.streaming.core.targets.timing import SLACK_MS

HEARTBEAT_MS = 5_000
"""A broker's default for the heartbeat interval."""


def breaches_of(group: EpochGroup, name: str, member: MemberView) -> Iterator[Breach]:
    """All laws about one moment that a member breaks."""
    yield from epoch_order(group, name, member)
    yield from previous_ahead(name, member)
    if not member.away:
        yield from stable_unlike_target(group, name, member)
        yield from pending_unlike_state(name, member)
        yield from state_unknown(name, member)
        yield from unreleased_holds_all(group, name, member)


def deadline_of(group: EpochGroup, name: str, member: MemberView, session_ms: int) -> Deadline[Breach] | None:
    """The law about time that the member breaks if it goes on as it is, without waiting for others."""
    if member.away:
        return None
    if member.state is MemberState.UNREVOKED:
        return stuck_revoking(name, member)
    return lagging(group, name, member, session_ms)


def epoch_order(group: EpochGroup, name: str, member: MemberView) -> Iterator[Breach]:
    """Law 3: a member's epoch does not pass the assignment epoch."""
    if group.assignment_epoch is not None and member.epoch is not None and member.epoch > group.assignment_epoch:
        yield Breach(law=Law.EPOCH_ORDER, member=name)


def previous_ahead(name: str, member: MemberView) -> Iterator[Breach]:
    """Law 3: the epoch that a member states to have been at before does not pass its own."""
    if member.previous_ahead:
        yield Breach(law=Law.PREVIOUS_AHEAD, member=name)


def stable_unlike_target(group: EpochGroup, name: str, member: MemberView) -> Iterator[Breach]:
    """Law 4: a stable member at the assignment epoch holds its target; less, while a new target is due, or will be once
    its regular expression is resolved."""
    if not group.arrived(member) or member.untold:
        return
    held, wanted = member.assigned(), member.wanted()
    if held != wanted and not (held < wanted and (group.behind or group.unresolved(member))):
        yield Breach(law=Law.STABLE_UNLIKE_TARGET, member=name, partitions=held ^ wanted)


def pending_unlike_state(name: str, member: MemberView) -> Iterator[Breach]:
    """Law 5: exactly the members that are revoking have partitions to revoke."""
    pending = member.pending()
    if member.state is not None and (member.state is MemberState.UNREVOKED) != bool(pending):
        yield Breach(law=Law.PENDING_UNLIKE_STATE, member=name, partitions=pending)


def state_unknown(name: str, member: MemberView) -> Iterator[Breach]:
    """What a member in a state of a later release may hold, nobody knows. It is information, no fault."""
    if member.current is not None and isinstance(member.current.state, UnknownState):
        yield Breach(law=Law.STATE_UNKNOWN, member=name, state=member.current.state.code)


def unreleased_holds_all(group: EpochGroup, name: str, member: MemberView) -> Iterator[Breach]:
    """Law 6: a member that waits holds a proper part of the target of its epoch."""
    if member.state is not MemberState.UNRELEASED or member.epoch != group.assignment_epoch or member.untold:
        return
    held, wanted = member.assigned(), member.wanted()
    if not held < wanted:
        yield Breach(law=Law.UNRELEASED_HOLDS_ALL, member=name, partitions=held - wanted)


def stuck_revoking(name: str, member: MemberView) -> Deadline[Breach] | None:
    """Law 7: nobody revokes for longer than its rebalance time-out; then the broker removes it."""
    if member.metadata is None or member.epoch_since_ms is None:
        return None
    patience_ms = member.metadata.rebalance_timeout_ms + HEARTBEAT_MS + SLACK_MS
    found = Breach(law=Law.STUCK_REVOKING, member=name, partitions=member.pending())
    return Deadline(member.epoch_since_ms, patience_ms, found)


def lagging(group: EpochGroup, name: str, member: MemberView, session_ms: int) -> Deadline[Breach] | None:
    """Law 8: who is not revoking moves to a new epoch when it next asks, or the broker removes it."""
    since_ms, patient_ms = group.lags_since_ms(member), asks_ms(member, session_ms)
    if since_ms is None or patient_ms is None:
        return None
    return Deadline(since_ms, patient_ms + SLACK_MS, Breach(law=Law.LAGGING, member=name))


def asks_ms(member: MemberView, session_ms: int) -> int | None:
    """After how long at most a member asks for the newest target, or is removed; None where that is not known. One of
    the classic protocol does so by joining, for which it has its rebalance time-out once its heartbeat was refused."""
    if member.metadata is None:
        return None
    classic = member.classic
    return session_ms if classic is None else classic.session_timeout_ms + member.metadata.rebalance_timeout_ms
