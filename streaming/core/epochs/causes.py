"""Why a KIP-848 or Streams group needs a new target, by the records that raised its epoch (coordinator-log.md 10.5).

    new type 5                               a member joined
    type 5 with other topics, or type 16     a subscription changed
    tombstone of type 5                      a member left, was removed, or nobody can tell
    nothing of these                         the subscribed topics changed (type 4, or another hash)

Of a Streams group types 19, 23 and 17 tell the same; another topology (23), and another process, tags or topology epoch
of a member, is a changed subscription, and other configs (17) are the group's.

A member that leaves asks for it, and is gone at once. A member that falls silent is removed when its session time-out
has passed. Its records do not show its heartbeats: only where its last record of type 8, which it asked for itself, is
too young for a time-out, it surely left.
"""

from rebalance_monitor.schemas.group_values import MemberState
from rebalance_monitor.schemas.streams_values import StreamsMember
from rebalance_monitor.streaming.core.epochs.group import STATIC_AWAY, EpochGroup, MemberView
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence
from rebalance_monitor.streaming.core.targets.causes import LEFT, Departure, departed, departure, members, unknown

STAYED_AWAY = "a static member that was away did not come back within its session time-out"


def named(member_id: str, view: MemberView) -> str:
    """What a member is called: by its instance id, which outlives a restart, or its member id."""
    return member_id if view.metadata is None else view.metadata.instance_id or member_id


def causes_of(
    before: EpochGroup, after: EpochGroup, evidence: tuple[Evidence, ...], at_ms: int, session_ms: int
) -> tuple[Cause, ...]:
    """What changed between two states of a group, of which the later has a higher group epoch. `session_ms`: the
    shortest time after which the broker may have removed a silent member."""
    joined = {name: view for name, view in after.members.items() if name not in before.members}
    gone = {name: view for name, view in before.members.items() if name not in after.members}
    came, went = ({named(*one) for one in some.items()} for some in (joined, gone))
    found: list[Cause] = []
    if came & went:
        found.append(Cause(kind="member_replaced", subjects=members(came & went), evidence=evidence))
    if came - went:
        found.append(Cause(kind="member_joined", subjects=members(came - went), evidence=evidence))
    lost = ((called, view) for name, view in gone.items() if (called := named(name, view)) not in came)
    found += departed(
        ((called, _departure(view, at_ms, before.ahead_ms, session_ms)) for called, view in lost), evidence
    )
    if changed := _resubscribed(before, after):
        found.append(Cause(kind="subscription_changed", subjects=members(changed), evidence=evidence))
    if before.topology is not None and before.topology != after.topology and not changed:
        found.append(Cause(kind="subscription_changed", evidence=evidence))
    if before.configs is not None and before.configs != after.configs:
        told = ", ".join(f"{name}={value}" for name, value in after.configs or ()) or "nothing is set"
        found.append(Cause(kind="configuration_changed", evidence=(*evidence, Evidence(text=told))))
    if not found and (before.metadata_hash, before.topics) != (after.metadata_hash, after.topics):
        found.append(Cause(kind="topic_changed", evidence=evidence))
    return tuple(found) or (unknown(evidence),)


def asked_to_leave(view: MemberView, at_ms: int, ahead_ms: int, session_ms: int) -> bool:
    """Whether a member that is gone at this time left by a request, as far as its records tell."""
    return _departure(view, at_ms, ahead_ms, session_ms).kind == LEFT


def _resubscribed(before: EpochGroup, after: EpochGroup) -> set[str]:
    earlier = {named(*one): _subscription(before, one[1]) for one in before.members.items() if one[1].metadata}
    later = {named(*one): _subscription(after, one[1]) for one in after.members.items() if one[1].metadata}
    return {name for name in earlier.keys() & later.keys() if earlier[name] != later[name]}


def _subscription(group: EpochGroup, member: MemberView) -> tuple[object, ...]:
    """What of a member asks for a new target where it changes."""
    metadata = member.metadata
    if isinstance(metadata, StreamsMember):
        return metadata.process_id, metadata.topology_epoch, metadata.client_tags, metadata.rack
    return (frozenset(group.names_of(member)),)


def _departure(view: MemberView, at_ms: int, ahead_ms: int, session_ms: int) -> Departure:
    metadata, classic = view.metadata, view.classic
    if view.epoch == STATIC_AWAY:
        return Departure("member_gone", Certainty.CERTAIN, STAYED_AWAY)
    if view.state is MemberState.UNREVOKED and metadata is not None and view.epoch_since_ms is not None:
        waited_ms = at_ms - ahead_ms - view.epoch_since_ms
        if waited_ms >= metadata.rebalance_timeout_ms:
            text = (
                f"it did not give up what it had to within its rebalance time-out of {metadata.rebalance_timeout_ms} ms"
            )
            return Departure("member_lost", Certainty.LIKELY, text)
    # The session time-out is the broker's, or the classic member's own; no record shows the broker's.
    if classic is not None:
        return departure(view.wrote_ms, at_ms, classic.session_timeout_ms, stated=True)
    return departure(view.wrote_ms, at_ms, session_ms)
