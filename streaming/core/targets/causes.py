"""Why a group needs a new target, by the records that raised its epoch (coordinator-log.md 10.5).

    new type 5 (10, 19)                      a member joined
    type 5 with other topics, or type 16     a subscription changed
    tombstone of type 5                      a member left, was removed, or nobody can tell
    nothing of these                         the subscribed topics changed (type 4, or another hash)

Of a Streams group another topology (23), and another process, tags or topology epoch of a member, is a changed
subscription, and other configs (17) are the group's. Of a share group:

    other partitions with share state        the coordinator assigns each partition once its state was initialized
    share state of a topic in no target      the topic was deleted, its state not yet: each heartbeat asks again

What asks for an epoch is written before it: an operation of the coordinator begins with members and ends with targets.
So an epoch is compared with the group as it was at the epoch or the target before, also within a moment.

    15 t-0 initialized | 11 epoch 4 | 13 m1 {t-0} | 12 epoch 4      one millisecond: partitions_initialized

A member that leaves asks for it, and is gone at once. A member that falls silent is removed when its session time-out
has passed. Its records do not show its heartbeats: only where its last record of what it holds, which it asked for
itself, is too young for a time-out, it surely left.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.group_values import MemberState
from rebalance_monitor.schemas.streams_values import StreamsMember
from rebalance_monitor.streaming.core.fold import departures
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence, Subject
from .group import TargetGroup
from .member import TargetMember

MOST_SUBJECTS = 100
MOST_EVIDENCE = 10
LEFT = "member_left"
CANNOT_TELL = "it left or was removed: its session time-out may have passed since its last record, so nothing tells"
STAYED_AWAY = "a static member that was away did not come back within its session time-out"
STATE_LEFT = "partitions with share state were in no target before: their topic was deleted, and its state was not yet"


@dataclass(frozen=True, slots=True)
class Departure:
    """Why a member is gone: the kind of cause, and what tells it."""

    kind: str
    certainty: Certainty
    text: str


def causes_of(
    before: TargetGroup, after: TargetGroup, evidence: tuple[Evidence, ...], at_ms: int, session_ms: int
) -> tuple[Cause, ...]:
    """What changed between two states of a group, of which the later has a higher group epoch. `session_ms`: the
    shortest time after which the broker may have removed a silent member.

    Nothing if only partitions with share state of a deleted topic were in no target: what asked for that epoch asked
    for this one.
    """
    found = [*_of_members(before, after, evidence, at_ms, session_ms), *_of_the_group(before, after, evidence)]
    if found:
        return tuple(found)
    if (before.metadata_hash, before.topics) != (after.metadata_hash, after.topics):
        return (Cause(kind="topic_changed", evidence=evidence),)
    if not unlike_initialized(_asking(before, after)):
        return (unknown(evidence),)
    if before.behind:
        return ()
    left = (*evidence, Evidence(text=STATE_LEFT))
    return (Cause(kind="topic_changed", certainty=Certainty.LIKELY, evidence=left),)


def merged(before: tuple[Cause, ...], after: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """Causes of several epochs that share a target: each kind once, with all its subjects up to a bound."""
    found: dict[tuple[str, Certainty], Cause] = {}
    for cause in (*before, *after):
        known = found.get((cause.kind, cause.certainty))
        if known is None:
            found[cause.kind, cause.certainty] = cause
            continue
        subjects = tuple(dict.fromkeys((*known.subjects, *cause.subjects)))[:MOST_SUBJECTS]
        evidence = tuple(dict.fromkeys((*known.evidence, *cause.evidence)))[:MOST_EVIDENCE]
        found[cause.kind, cause.certainty] = replace(known, subjects=subjects, evidence=evidence)
    return tuple(found.values())


def unknown(evidence: tuple[Evidence, ...]) -> Cause:
    return Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=evidence)


def asked_to_leave(member: TargetMember, at_ms: int, ahead_ms: int, session_ms: int) -> bool:
    """Whether a member that is gone at this time left by a request, as far as its records tell."""
    return _departure(member, at_ms, ahead_ms, session_ms).kind == LEFT


def unlike_initialized(group: TargetGroup) -> bool:
    """Whether the targets of any subscribed topic are not exactly its partitions with share state: with the next
    heartbeat the coordinator of a share group computes a new target (4.1)."""
    if group.states is None or group.metadata_hash is None:
        return False
    given: dict[bytes, set[int]] = {}
    for topic, number in group.wanted:
        given.setdefault(topic, set()).add(number)
    names = set(group.subscribed)
    listed = (one for one in group.states.initialized if one.name in names)
    return any(given.get(one.topic, set()) != set(one.numbers) for one in listed)


def _of_members(
    before: TargetGroup, after: TargetGroup, evidence: tuple[Evidence, ...], at_ms: int, session_ms: int
) -> Iterator[Cause]:
    """Who came, went, came back as another process, or wants something else."""
    gone = {name: one for name, one in before.members.items() if name not in after.members}
    came = {one.named(name) for name, one in after.members.items() if name not in before.members}
    went = {one.named(name) for name, one in gone.items()}
    if came & went:
        yield Cause(kind="member_replaced", subjects=_members(came & went), evidence=evidence)
    if came - went:
        yield Cause(kind="member_joined", subjects=_members(came - went), evidence=evidence)
    alike: dict[Departure, list[str]] = {}
    for name, member in gone.items():
        if member.named(name) not in came:
            why = _departure(member, at_ms, before.ahead_ms, session_ms)
            alike.setdefault(why, []).append(member.named(name))
    for why, names in alike.items():
        said = (*evidence, Evidence(text=why.text))
        yield Cause(kind=why.kind, subjects=_members(names), certainty=why.certainty, evidence=said)
    if changed := _resubscribed(before, after):
        yield Cause(kind="subscription_changed", subjects=_members(changed), evidence=evidence)


def _of_the_group(before: TargetGroup, after: TargetGroup, evidence: tuple[Evidence, ...]) -> Iterator[Cause]:
    """What a Streams group is to do, and which partitions a share group may have."""
    if before.topology is not None and before.topology != after.topology and not _resubscribed(before, after):
        yield Cause(kind="subscription_changed", evidence=evidence)
    if before.configs is not None and before.configs != after.configs:
        told = ", ".join(f"{name}={value}" for name, value in after.configs or ()) or "nothing is set"
        yield Cause(kind="configuration_changed", evidence=(*evidence, Evidence(text=told)))
    asking = _asking(before, after)
    if after.members and asking.anew and unlike_initialized(asking):
        yield Cause(kind="partitions_initialized", evidence=evidence)


def _asking(before: TargetGroup, after: TargetGroup) -> TargetGroup:
    """The members and targets before, with the share states as they are known now."""
    return replace(before, states=after.states, anew=after.anew)


def _resubscribed(before: TargetGroup, after: TargetGroup) -> set[str]:
    earlier, later = (
        {one.named(name): _subscription(group, one) for name, one in group.members.items() if one.metadata}
        for group in (before, after)
    )
    return {name for name in earlier.keys() & later.keys() if earlier[name] != later[name]}


def _subscription(group: TargetGroup, member: TargetMember) -> tuple[object, ...]:
    """What of a member asks for a new target where it changes."""
    metadata = member.metadata
    if isinstance(metadata, StreamsMember):
        return metadata.process_id, metadata.topology_epoch, metadata.client_tags, metadata.rack
    return (frozenset(group.names_of(member)),)


def _departure(member: TargetMember, at_ms: int, ahead_ms: int, session_ms: int) -> Departure:
    """A member whose last record, which it asked for itself, is too young for a session time-out left; of others
    nothing tells."""
    since_ms, timeout_ms, classic = member.epoch_since_ms, member.rebalance_timeout_ms, member.classic
    if member.away:
        return Departure("member_gone", Certainty.CERTAIN, STAYED_AWAY)
    revokes = member.state is MemberState.UNREVOKED and since_ms is not None and timeout_ms is not None
    if revokes and at_ms - ahead_ms - (since_ms or 0) >= (timeout_ms or 0):
        text = f"it did not give up what it had to within its rebalance time-out of {timeout_ms} ms"
        return Departure("member_lost", Certainty.LIKELY, text)
    # The session time-out is the broker's, or the classic member's own; no record shows the broker's.
    session_ms = session_ms if classic is None else classic.session_timeout_ms
    asked = departures.left(member.wrote_ms or 0, at_ms, session_ms)
    if asked is None:
        return Departure("member_gone", Certainty.CERTAIN, CANNOT_TELL)
    waited_ms = at_ms - (member.wrote_ms or 0)
    text = f"{waited_ms} ms after its last record: too soon for a session time-out of {session_ms} ms"
    return Departure(LEFT, asked if classic is not None else Certainty.LIKELY, text)


def _members(names: Iterable[str]) -> tuple[Subject, ...]:
    """Members as subjects of a cause, up to a bound."""
    return tuple(Subject("member", one) for one in sorted(names))[:MOST_SUBJECTS]
