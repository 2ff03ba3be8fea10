"""Was this consumer assignment right? Re-runs range and roundrobin where the topics' partitions are known."""

from collections.abc import Callable, Mapping, Sequence

from assignors import consumer_range, consumer_round_robin
from assignors.consumer_model import ConsumerMember
from schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription, TopicPartition
from streaming.core.records import GroupGeneration
from streaming.core.results import ConsumerShare, ExpectedShare, Grade, Verdict
from streaming.core.settings import ClusterSettings

Topics = Mapping[str, tuple[frozenset[str], ...]]
Assign = Callable[[Sequence[ConsumerMember], Topics], Mapping[str, tuple[TopicPartition, ...]]]

ASSIGNORS: Mapping[str, Assign] = {
    "range": consumer_range.assign,
    "roundrobin": consumer_round_robin.assign,
}


def _not_judged(reason: str, assignor: str | None = None) -> Verdict:
    return Verdict(grade=Grade.NOT_JUDGED, assignor=assignor, reason=reason)


def judge(settings: ClusterSettings, body: GroupGeneration, at_ms: int) -> Verdict:
    """The verdict on one generation of a group that is not a Connect cluster."""
    if body.protocol_type != "consumer":
        return _not_judged(f"protocol type {body.protocol_type} has no known assignor")
    assign = ASSIGNORS.get(body.protocol or "")
    if assign is None:
        return _not_judged(f"assignor {body.protocol} is not recomputed by this version", body.protocol)
    members = []
    for member in body.members:
        if not isinstance(member.subscription, ConsumerSubscription):
            return _not_judged(f"subscription of {member.member_id} cannot be decoded", body.protocol)
        if not isinstance(member.assignment, ConsumerAssignment):
            return _not_judged(f"assignment of {member.member_id} cannot be decoded", body.protocol)
        members.append(
            ConsumerMember(
                id=member.member_id,
                instance_id=member.instance_id,
                topics=member.subscription.topics,
                rack=member.subscription.rack,
            )
        )
    topics = settings.topics_at(at_ms)
    wanted = {topic for member in members for topic in member.topics}
    if not topics:
        return _not_judged(f"partition counts not known: {', '.join(sorted(wanted)[:5])}", body.protocol)
    result = assign(members, {topic: topics[topic] for topic in wanted if topic in topics})
    expected = {member.id: ExpectedShare(assigned=ConsumerShare(result.get(member.id, ()))) for member in members}
    observed = {
        member.member_id: member.assignment.partitions
        for member in body.members
        if isinstance(member.assignment, ConsumerAssignment)
    }
    return _compared(body.protocol or "", observed, result, expected)


def _compared(
    assignor: str,
    observed: Mapping[str, tuple[TopicPartition, ...]],
    result: Mapping[str, tuple[TopicPartition, ...]],
    expected: Mapping[str, ExpectedShare],
) -> Verdict:
    if all(result.get(member, ()) == partitions for member, partitions in observed.items()):
        return Verdict(grade=Grade.MATCH, assignor=assignor, expected=expected)
    if all(set(result.get(member, ())) == set(partitions) for member, partitions in observed.items()):
        reason = "another release or a foreign client: same partitions in another order"
        return Verdict(grade=Grade.EXPLAINABLE, assignor=assignor, reason=reason, expected=expected)
    other = next(member for member, partitions in observed.items() if set(result.get(member, ())) != set(partitions))
    reason = f"{other} was given other partitions than expected"
    return Verdict(grade=Grade.UNEXPLAINED, assignor=assignor, reason=reason, expected=expected)
