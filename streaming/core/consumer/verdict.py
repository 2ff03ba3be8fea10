"""Was this consumer assignment right? Re-runs the assignor where the topics' partitions are known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rebalance_monitor.assignors.consumer.model import ConsumerEra, ConsumerMember
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription, TopicPartition
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.consumer import sticky_verdict, topic_views
from rebalance_monitor.streaming.core.consumer.assignors import KEEPING, PLAIN, Assignor
from rebalance_monitor.streaming.core.consumer.client_library import leaders_library
from rebalance_monitor.streaming.core.consumer.foreign_orders import foreign_orders
from rebalance_monitor.streaming.core.consumer.members import as_member
from rebalance_monitor.streaming.core.consumer.topic_views import Topics
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import ConsumerShare, ExpectedShare, Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import ClusterSettings


def _not_judged(assignor: str | None, kind: ReasonKind, text: str) -> Verdict:
    return Verdict(grade=Grade.NOT_JUDGED, assignor=assignor, reason=Reason(kind, text))


def judge(
    settings: ClusterSettings,
    history: TopicHistory,
    body: GroupGeneration,
    at_ms: int,
    *,
    repeated: bool,
    first: bool,
) -> Verdict:
    """The verdict on one generation of a group that is not a Connect cluster.

    `history`: what samples showed of the topics. `repeated`: the same generation was written before.
    `first`: the first record of this life of the group.
    """
    assignor = body.protocol
    if body.protocol_type != "consumer":
        return _not_judged(
            None, ReasonKind.ASSIGNOR_UNKNOWN, f"protocol type {body.protocol_type} has no known assignor"
        )
    sticky, plain = (assignor or "") in KEEPING, PLAIN.get(assignor or "")
    if plain is None and not sticky:
        text = f"assignor {assignor} is not recomputed by this version"
        return _not_judged(assignor, ReasonKind.ASSIGNOR_UNKNOWN, text)
    if repeated:
        text = "the same generation was written again, as when a static member is replaced"
        return _not_judged(assignor, ReasonKind.WRITTEN_AGAIN, text)
    subscriptions, observed = [], {}
    for member in body.members:
        name, subscription = member.member_id, member.subscription
        if not isinstance(subscription, ConsumerSubscription):
            return _not_judged(assignor, ReasonKind.MEMBER_UNREADABLE, f"subscription of {name} cannot be decoded")
        if not isinstance(member.assignment, ConsumerAssignment):
            return _not_judged(assignor, ReasonKind.MEMBER_UNREADABLE, f"assignment of {name} cannot be decoded")
        observed[name] = member.assignment.partitions
        subscriptions.append((name, member.instance_id, subscription))
    wanted = sorted({topic for _, _, subscription in subscriptions for topic in subscription.topics})
    current = topic_views.current(history, wanted, at_ms)
    if current is None:
        text = f"partition counts not known: {', '.join(wanted[:5])}"
        return _not_judged(assignor, ReasonKind.PARTITIONS_UNKNOWN, text)
    members = [as_member(*one, assignor or "", again=sticky) for one in subscriptions]
    others = topic_views.others(history, wanted, at_ms)
    if plain is None:
        library = leaders_library(body, settings.client_libraries)
        verdict = sticky_verdict.judge(body, members, observed, current, others, library)
    else:
        verdict = _judged(plain, members, observed, current, others)
    if verdict.grade is not Grade.UNEXPLAINED:
        return verdict
    if first and body.generation > 1:
        text = "first record of the group: it may come from a conversion, not from an assignor"
        return _not_judged(assignor, ReasonKind.CONVERSION, text)
    return verdict


def _judged(
    assignor: Assignor[ConsumerEra],
    members: Sequence[ConsumerMember],
    observed: Mapping[str, tuple[TopicPartition, ...]],
    current: Topics,
    others: Iterator[Topics],
) -> Verdict:
    verdict = _compared(assignor.name, observed, assignor.newest(members, current).shares)
    if verdict.grade is not Grade.UNEXPLAINED:
        return verdict
    return _explained(assignor, members, observed, current, others) or verdict


def _explained(
    assignor: Assignor[ConsumerEra],
    members: Sequence[ConsumerMember],
    observed: Mapping[str, tuple[TopicPartition, ...]],
    current: Topics,
    views: Iterator[Topics],
) -> Verdict | None:
    """What the leader may have known or done otherwise and be right; None where nothing gives this answer."""
    for view in views:
        again = _compared(assignor.name, observed, assignor.newest(members, view).shares)
        if again.grade is not Grade.UNEXPLAINED:
            return replace(again, grade=Grade.EXPLAINABLE, reason=sticky_verdict.OTHER_TOPICS)
    for client, ordered in foreign_orders(members, assignor.name):
        again = _compared(assignor.name, observed, assignor.newest(ordered, current).shares)
        if again.grade is not Grade.UNEXPLAINED:
            reason = Reason(ReasonKind.FOREIGN_CLIENT, f"a foreign client's order of static members: {client}")
            return replace(again, grade=Grade.EXPLAINABLE, reason=reason)
    return None


def _compared(
    assignor: str, observed: Mapping[str, tuple[TopicPartition, ...]], result: Mapping[str, tuple[TopicPartition, ...]]
) -> Verdict:
    expected = {member: ExpectedShare(assigned=ConsumerShare(result.get(member, ()))) for member in observed}
    if all(result.get(member, ()) == partitions for member, partitions in observed.items()):
        return Verdict(grade=Grade.MATCH, assignor=assignor, expected=expected)
    if all(set(result.get(member, ())) == set(partitions) for member, partitions in observed.items()):
        return Verdict(grade=Grade.EXPLAINABLE, assignor=assignor, reason=sticky_verdict.OTHER_ORDER, expected=expected)
    other = next(member for member, partitions in observed.items() if set(result.get(member, ())) != set(partitions))
    reason = Reason(ReasonKind.OTHER_ANSWER, f"{other} was {sticky_verdict.OTHER_SETS}")
    return Verdict(grade=Grade.UNEXPLAINED, assignor=assignor, reason=reason, expected=expected)
