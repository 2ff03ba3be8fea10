"""Real targets of KIP-848, Streams and share groups, each changed by one partition or task: none passes as right.

Noticed: the verdict is unexplained, or a law breaks that the right target keeps. What is neither must be the target of
a right coordinator, and is proved to be: it knew a sample of the topics that lacks the partition, or it walked members
that share a bucket of its map in another order. RM_LONG=1 changes every partition and task of every target; `-s`
prints the tables of kinds.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from rebalance_monitor.assignors.broker import range_assignor, simple, uniform
from rebalance_monitor.assignors.broker.model import BrokerGroup, BrokerResult, Outcome, member_orders
from rebalance_monitor.schemas.group_values import Target
from rebalance_monitor.schemas.streams_values import StreamsTarget
from rebalance_monitor.streaming.cli.captures import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import NOTHING_SAID
from rebalance_monitor.streaming.core.targets import assigning, kinds, tasks, tasks_verdict, verdict
from rebalance_monitor.streaming.core.targets.assigning import converted
from rebalance_monitor.streaming.core.targets.expected import assignor_input, flat_target
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.kind import Kind
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.topics import known_topics, sampled
from rebalance_monitor.streaming.core.targets.units import Units, partitions_in, tasks_in
from tests.streaming.core.target_mutants import mutants, partitions_of, tasks_of
from tests.streaming.core.targets.judged import state_findings
from tests.streaming.core.targets.test_epochs_capture import targets as consumer_targets
from tests.streaming.core.targets.test_share_capture import GROUPS as SHARE_GROUPS
from tests.streaming.core.targets.test_share_capture import computed_ones as share_targets
from tests.streaming.core.targets.test_streams_capture import computed as streams_targets
from tests.vector_files import GROUP_CAPTURES

KIND848 = knowledge_of(GROUP_CAPTURES / "kip848-a").topics
STREAMS = knowledge_of(GROUP_CAPTURES / "streams-kip1071-4.3.1").topics
SHARES = TopicHistory()
"""Their records tell their topics."""
UNEXPLAINED, VIOLATED = "unexplained", "violated"
OTHER_TOPICS, OTHER_ORDER = "right, of another sample of the topics", "right, in another order of the members"
ASSIGNORS: Mapping[str | None, Callable[[BrokerGroup], Outcome]] = {
    "uniform": uniform.assign,
    "range": range_assignor.assign,
}
Kinds = Counter[tuple[str, str]]


def named(topic: bytes) -> str:
    return topic.hex()


def with_partitions(group: TargetGroup, given: Mapping[str, Units]) -> TargetGroup:
    members = {name: replace(view, target=Target(partitions_of(given[name]))) for name, view in group.members.items()}
    return replace(group, members=members)


def with_tasks(group: TargetGroup, given: Mapping[str, Units]) -> TargetGroup:
    members = {
        name: replace(view, target=tasks_of(given[name], view.target))
        if isinstance(view.target, StreamsTarget)
        else view
        for name, view in group.members.items()
    }
    return replace(group, members=members)


def seen(wrong: Verdict, right: TargetGroup, group: TargetGroup, *, unknown: bool, kind: Kind = kinds.CONSUMER) -> str:
    """How a wrong target is noticed: by its verdict, or by a law that the right one keeps. `unknown`: the coordinator
    may have known fewer partitions, without what the target lacks."""
    if wrong.grade is Grade.UNEXPLAINED:
        return UNEXPLAINED
    if {one.law for one in state_findings(group, kind=kind)} - {one.law for one in state_findings(right, kind=kind)}:
        return VIOLATED
    if unknown and wrong.grade is Grade.EXPLAINABLE and wrong.reason is not None:
        return OTHER_TOPICS if wrong.reason.kind is ReasonKind.UNKNOWN_TOPICS else wrong.why
    return f"{wrong.grade.value}: {wrong.why}"


def lacking(given: Mapping[str, Units], wrong: Mapping[str, Units]) -> Units:
    """What nobody is to have any more."""
    return frozenset().union(*given.values()) - frozenset().union(*wrong.values())


def counted(found: Iterator[tuple[str, str]]) -> Kinds:
    kinds: Kinds = Counter(found)
    for kind in sorted({kind for kind, _ in kinds}):
        print(kind, {how: count for (one, how), count in kinds.items() if one == kind})
    return kinds


def of_consumers(dice: random.Random) -> Iterator[tuple[str, str]]:
    for at_ms, target in consumer_targets():
        if converted(target) or not _is_match(verdict.judge(assigning.CONSUMERS, target, KIND848, at_ms, named)):
            continue
        given = {name: view.wanted() for name, view in target.after.members.items()}
        for kind, wrong in mutants(given, dice):
            after = with_partitions(target.after, wrong)
            judged = verdict.judge(assigning.CONSUMERS, replace(target, after=after), KIND848, at_ms, named)
            views = list(sampled(KIND848, target.after.subscribed, at_ms))
            counts = [{topic.id: topic.partitions for topic in view.values()} for view in views]
            less = partitions_in(lacking(given, wrong))
            unknown = any(less and all(number >= of.get(topic, 0) for topic, number in less) for of in counts)
            how = seen(judged, target.after, after, unknown=unknown)
            group = assignor_input(target, views[0]) if judged.grade is Grade.MATCH else None
            if group is not None and in_another_order(group, wrong, ASSIGNORS[judged.assignor]):
                how = OTHER_ORDER
            yield kind, how


def of_streams(dice: random.Random) -> Iterator[tuple[str, str]]:
    for _, at_ms, target in streams_targets():
        if not _is_match(streams_verdict(target, at_ms)):
            continue
        members = target.after.members
        given = {name: view.wanted() for name, view in members.items()}
        processes = {name: view.process or "" for name, view in members.items()}
        for kind, wrong in mutants(given, dice, processes):
            after = with_tasks(target.after, wrong)
            less = tasks_in(lacking(given, wrong))
            counts = [view.counts for view in tasks.views(target.after, STREAMS, at_ms) if view.sampled]
            unknown = any(less and all(number >= of.get(part, 0) for _, part, number in less) for of in counts)
            judged = streams_verdict(replace(target, after=after), at_ms)
            yield kind, seen(judged, target.after, after, unknown=unknown, kind=kinds.STREAMS)


def streams_verdict(target: Computed, at_ms: int) -> Verdict:
    return tasks_verdict.judge(target, NOTHING_SAID, STREAMS, at_ms).verdict


def of_shares(dice: random.Random) -> Iterator[tuple[str, str]]:
    for at_ms, target in (each for group in SHARE_GROUPS for each in share_targets(group)):
        given = {name: view.wanted() for name, view in target.after.members.items()}
        for kind, wrong in mutants(given, dice):
            judged = share_judged(target, wrong, at_ms)
            less = {topic for topic, _ in partitions_in(lacking(given, wrong))}
            left = {topic for units in wrong.values() for topic, _ in partitions_in(units)}
            match judged.grade:
                case Grade.UNEXPLAINED:
                    yield kind, UNEXPLAINED
                case Grade.MATCH if share_in_another_order(target, wrong, at_ms):
                    yield kind, OTHER_ORDER
                case Grade.EXPLAINABLE if less and not less & left:
                    yield kind, OTHER_TOPICS
                case other:
                    yield kind, f"{other.value}: {judged.why}"


def share_in_another_order(target: Computed, wrong: Mapping[str, Units], at_ms: int) -> bool:
    (told, *_) = known_topics(target.after, SHARES, at_ms)
    group = assignor_input(target, told.topics)
    return group is not None and in_another_order(
        group, wrong, partial(simple.assign, assignable=target.after.initialized())
    )


def in_another_order(group: BrokerGroup, wrong: Mapping[str, Units], assign: Callable[[BrokerGroup], Outcome]) -> bool:
    """Whether the assignor gives exactly this for the same members, walked in another order that their map may have."""
    for members in member_orders(group.members):
        answer = assign(replace(group, members=members))
        if isinstance(answer, BrokerResult) and all(flat_target(answer, name) == of for name, of in wrong.items()):
            return members != group.members
    return False


def share_judged(target: Computed, given: Mapping[str, Units], at_ms: int) -> Verdict:
    members = {
        name: replace(view, target=Target(partitions_of(given[name]))) for name, view in target.after.members.items()
    }
    wrong = replace(target, after=replace(target.after, members=members))
    return verdict.judge(assigning.SHARES, wrong, SHARES, at_ms, named)


def rightly(kinds: Kinds) -> int:
    """How many of the changed targets a right coordinator computes, too."""
    return sum(count for (_, how), count in kinds.items() if how in (OTHER_TOPICS, OTHER_ORDER))


def _is_match(verdict: Verdict) -> bool:
    return verdict.grade is Grade.MATCH


def test_no_changed_target_of_a_consumer_group_passes() -> None:
    kinds = counted(of_consumers(random.Random(3)))
    assert {kind for kind, _ in kinds} == {"dropped", "invented", "moved", "doubled", "swapped"}
    assert {how for _, how in kinds} <= {UNEXPLAINED, VIOLATED, OTHER_TOPICS, OTHER_ORDER}
    assert rightly(kinds) <= kinds.total() // 50
    assert kinds.total() > 500


def test_no_changed_target_of_a_streams_group_passes() -> None:
    kinds = counted(of_streams(random.Random(3)))
    assert len({kind for kind, _ in kinds}) == 15
    assert {how for _, how in kinds} <= {UNEXPLAINED, VIOLATED, OTHER_TOPICS}
    assert rightly(kinds) <= kinds.total() // 50
    assert kinds.total() > 300


def test_no_changed_target_of_a_share_group_passes() -> None:
    """A partition may have several members there, but `simple` decides which."""
    kinds = counted(of_shares(random.Random(3)))
    assert {kind for kind, _ in kinds} >= {"dropped", "invented", "moved"}
    assert {how for _, how in kinds} <= {UNEXPLAINED, OTHER_TOPICS, OTHER_ORDER}
    assert rightly(kinds) <= kinds.total() // 50
    assert kinds.total() > 150
