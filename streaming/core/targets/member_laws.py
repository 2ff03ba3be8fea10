"""Laws that one member breaks by itself, given the epochs of its group.

Members that are static and away (epoch -2) break none of them but the order of epochs. Times are those of the member,
to which the group's `ahead_ms` is to be added. Source: docs/protocol/coordinator-log.md, sections 6.4, 7.1 and 7.2.
"""

from collections.abc import Callable, Iterator, Mapping

from rebalance_monitor.schemas.group_values import MemberState
from .breaches import Breach, Deadline, Terms
from .group import TargetGroup
from .law import Law
from .member import TargetMember
from .units import NONE, Units, partitions_in

HEARTBEAT_MS = 5_000
"""A broker's default for the heartbeat interval."""
SESSION_MS, SLACK_MS = 45_000, 5_000
"""A broker's default for the session time-out, and what a busy machine adds."""

_OF_AWAY = frozenset({Law.EPOCH_ORDER, Law.PREVIOUS_AHEAD})


def breaches_of(group: TargetGroup, name: str, member: TargetMember, laws: frozenset[Law]) -> Iterator[Breach]:
    """All of these laws about one moment that a member breaks."""
    for law, wrong_of in _OF_MEMBER.items():
        wrong = wrong_of(group, member) if law in laws and (law in _OF_AWAY or not member.away) else None
        if wrong is not None:
            yield Breach(law=law, member=name, units=wrong)


def deadline_of(group: TargetGroup, name: str, member: TargetMember, terms: Terms) -> Deadline | None:
    """The law about time that the member breaks if it goes on as it is, without waiting for others."""
    if member.away:
        return None
    if member.state is MemberState.UNREVOKED and Law.STUCK_REVOKING in terms.laws:
        return _stuck_revoking(name, member)
    return _lagging(group, name, member, terms.session_ms)


def asks_ms(member: TargetMember, session_ms: int) -> int | None:
    """After how long at most a member asks for the newest target, or is removed; None where that is not known. One of
    the classic protocol does so by joining, for which it has its rebalance time-out once its heartbeat was refused."""
    if member.metadata is None or member.away:
        return None
    classic = member.classic
    return session_ms if classic is None else classic.session_timeout_ms + (member.rebalance_timeout_ms or 0)


def _epoch_order(group: TargetGroup, member: TargetMember) -> Units | None:
    """Law 3: a member's epoch does not pass the assignment epoch."""
    ahead = group.assignment_epoch is not None and member.epoch is not None and member.epoch > group.assignment_epoch
    return NONE if ahead else None


def _previous_ahead(group: TargetGroup, member: TargetMember) -> Units | None:
    """Law 3: the epoch that a member states to have been at before does not pass its own."""
    return NONE if member.previous_ahead else None


def _unlike_target(group: TargetGroup, member: TargetMember) -> Units | None:
    """Law 4: a stable member at the assignment epoch holds its target; less, while a new target is due, or will be once
    its regular expression is resolved."""
    if not group.arrived(member) or member.untold:
        return None
    held, wanted = member.assigned(), member.wanted()
    sound = held == wanted or (held < wanted and (group.behind or group.unresolved(member)))
    return None if sound else held ^ wanted


def _shared_unlike_target(group: TargetGroup, member: TargetMember) -> Units | None:
    """Law 2 of share groups: a member at the newest target's epoch holds its target, as far as it subscribes to the
    topics.

    A target may keep a topic that a member no longer subscribes to. While a new target is due, less is allowed. A
    partition without share state is one of a topic that was deleted.
    """
    if not group.arrived(member) or member.untold:
        return None
    held, wanted = member.assigned(), member.wanted()
    wrong, lacks = held - wanted, partitions_in(wanted - held)
    if lacks and not group.behind:
        told, with_state, names = group.names(), group.initialized(), group.names_of(member)
        wrong |= {one for one in lacks if told.get(one[0]) in names and one[1] in with_state.get(one[0], ())}
    return wrong or None


def _pending_unlike_state(group: TargetGroup, member: TargetMember) -> Units | None:
    """Law 5: exactly the members that are revoking have partitions to revoke."""
    pending = member.pending()
    unlike = member.state is not None and (member.state is MemberState.UNREVOKED) != bool(pending)
    return pending if unlike else None


def _state_unknown(group: TargetGroup, member: TargetMember) -> Units | None:
    """What a member in a state of a later release may hold, nobody knows. It is information, no fault."""
    return NONE if member.unknown_state is not None else None


def _unreleased_holds_all(group: TargetGroup, member: TargetMember) -> Units | None:
    """Law 6: a member that waits holds a proper part of the target of its epoch."""
    if member.state is not MemberState.UNRELEASED or member.epoch != group.assignment_epoch or member.untold:
        return None
    held, wanted = member.assigned(), member.wanted()
    return None if held < wanted else held - wanted


_OF_MEMBER: Mapping[Law, Callable[[TargetGroup, TargetMember], Units | None]] = {
    Law.EPOCH_ORDER: _epoch_order,
    Law.PREVIOUS_AHEAD: _previous_ahead,
    Law.STABLE_UNLIKE_TARGET: _unlike_target,
    Law.SHARED_UNLIKE_TARGET: _shared_unlike_target,
    Law.PENDING_UNLIKE_STATE: _pending_unlike_state,
    Law.STATE_UNKNOWN: _state_unknown,
    Law.UNRELEASED_HOLDS_ALL: _unreleased_holds_all,
}
"""What of a member breaks the law; None where it keeps it."""


def _stuck_revoking(name: str, member: TargetMember) -> Deadline | None:
    """Law 7: nobody revokes for longer than its rebalance time-out; then the broker removes it."""
    if member.rebalance_timeout_ms is None or member.epoch_since_ms is None:
        return None
    patience_ms = member.rebalance_timeout_ms + HEARTBEAT_MS + SLACK_MS
    found = Breach(law=Law.STUCK_REVOKING, member=name, units=member.pending())
    return Deadline(member.epoch_since_ms, patience_ms, found)


def _lagging(group: TargetGroup, name: str, member: TargetMember, session_ms: int) -> Deadline | None:
    """Law 8: who is not revoking moves to a new epoch when it next asks, or the broker removes it."""
    since_ms, patient_ms = group.lags_since_ms(member), asks_ms(member, session_ms)
    if since_ms is None or patient_ms is None:
        return None
    return Deadline(since_ms, patient_ms + SLACK_MS, Breach(law=Law.LAGGING, member=name))
