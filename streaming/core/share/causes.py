"""Why a share group needs a new target, by the records that raised its epoch.

    new type 10                              a member joined
    type 10 with other topics                a subscription changed
    tombstone of type 10                     a member left, was removed, or nobody can tell
    other partitions with share state        the coordinator assigns each partition once its state was initialized
    nothing of these, another hash           the subscribed topics changed
    share state of a topic in no target      the topic was deleted, its state not yet: each heartbeat asks again

What asks for an epoch is written before it: an operation of the coordinator begins with members and ends with targets.
So an epoch is compared with the group as it was at the epoch or the target before, also within a moment.

    15 t-0 initialized | 11 epoch 4 | 13 m1 {t-0} | 12 epoch 4      one millisecond: partitions_initialized

A member that leaves asks for it, and is gone at once. One that falls silent is removed when its session time-out has
passed; its records do not show its heartbeats.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence
from rebalance_monitor.streaming.core.share.group import PARTS, ShareGroup
from rebalance_monitor.streaming.core.targets.causes import departed, departure, members, unknown
from rebalance_monitor.streaming.core.targets.stated import StatedPart

STATE_LEFT = "partitions with share state were in no target before: their topic was deleted, and its state was not yet"


@dataclass(frozen=True, slots=True)
class Raised:
    """A group epoch of a moment: the group at the epoch or target before it, or before the moment, and as this epoch
    was written; its record is number `at` of the moment."""

    before: ShareGroup
    after: ShareGroup
    at: int


def raises_of(group: ShareGroup, records: Sequence[GroupRecord], at_ms: int) -> list[Raised]:
    """The group epochs that one moment raises in `group`, in their order."""
    found = []
    before = group
    for at, record in enumerate(records):
        earlier, group, part = group.epoch, group.take(record, at_ms), PARTS.get(record.type)
        if part is StatedPart.EPOCH and group.epoch is not None and group.epoch != earlier:
            found.append(Raised(before, group, at))
        name = record.member or ""
        if part in (StatedPart.EPOCH, StatedPart.ASSIGNED):
            before = group
        elif part is StatedPart.CURRENT and record.value is not None and name in before.members:
            # What members hold ends an operation, and asks for nothing.
            before = replace(before, members={**before.members, name: group.members[name]})
    return found


def causes_of(
    before: ShareGroup, after: ShareGroup, evidence: tuple[Evidence, ...], at_ms: int, session_ms: int
) -> tuple[Cause, ...]:
    """What changed between two states of a group, of which the later has a higher group epoch.

    Nothing if only partitions of a member that left were in no target: what asked for that epoch asked for this one.
    """
    asking = replace(before, states=after.states, anew=after.anew)
    came, gone = after.members.keys() - before.members.keys(), before.members.keys() - after.members.keys()
    found: list[Cause] = []
    if came:
        found.append(Cause(kind="member_joined", subjects=members(came), evidence=evidence))
    lost = ((name, departure(before.members[name].wrote_ms, at_ms, session_ms)) for name in gone)
    found += departed(lost, evidence)
    if changed := _resubscribed(before, after):
        found.append(Cause(kind="subscription_changed", subjects=members(changed), evidence=evidence))
    if after.members and asking.anew and unlike_initialized(asking):
        found.append(Cause(kind="partitions_initialized", evidence=evidence))
    if not found and before.metadata_hash != after.metadata_hash:
        found.append(Cause(kind="topic_changed", evidence=evidence))
    if not found and not unlike_initialized(asking):
        found.append(unknown(evidence))
    elif not found and not before.behind:
        said = (*evidence, Evidence(text=STATE_LEFT))
        found.append(Cause(kind="topic_changed", certainty=Certainty.LIKELY, evidence=said))
    return tuple(found)


def unlike_initialized(group: ShareGroup) -> bool:
    """Whether the targets of any subscribed topic are not exactly its partitions with share state: with the next
    heartbeat the coordinator computes a new target (4.1)."""
    if group.states is None or group.metadata_hash is None:
        return False
    given: dict[bytes, set[int]] = {}
    for topic, number in group.wanted:
        given.setdefault(topic, set()).add(number)
    names = set(group.subscribed)
    listed = (one for one in group.states.initialized if one.name in names)
    return any(given.get(one.topic, set()) != set(one.numbers) for one in listed)


def _resubscribed(before: ShareGroup, after: ShareGroup) -> set[str]:
    both = before.members.keys() & after.members.keys()
    known = {one: (before.members[one], after.members[one]) for one in both}
    return {
        name
        for name, (earlier, later) in known.items()
        if earlier.metadata is not None and set(earlier.names) != set(later.names)
    }
