"""Was this target right? Re-runs the broker's assignor on the members, subscriptions and previous targets of the log.

What is not in the records is tried, the likeliest first: what the coordinator knew of the topics (`topics`), which
release it runs, and on which Java. A target that no assumption gives is unexplained; one that cannot be recomputed is
not judged. How a kind of group chooses its assignor says an `Assigning` (`assigning`).

At first contact, or behind a hole, a member's subscription may not have been read: it is written when the member joins,
and its target whenever that changes. So the targets are known long before all subscriptions are. If the assignor gives
exactly these targets for a likely subscription, that is an explanation; if not, nobody knows why.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from rebalance_monitor.assignors.broker.model import BrokerResult, Outcome
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import ConsumerShare, ExpectedShare, Grade, Verdict
from .expected import Assign, Comparison, assignor_input, explained, flat_target
from .group import TargetGroup
from .operation import Computed
from .reasons import (
    CANNOT_RUN,
    INFERRED,
    MANY_ORDERS,
    OVERTAKEN,
    RECORDS_MISSING,
    SUBSCRIPTION_ASSUMED,
    SUBSCRIPTION_MISSING,
    not_judged,
)
from .shown import share_of
from .topics import KnownTopics, NameOf, Topics, fits, holed, known_topics
from .units import partitions_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """An assignor of a range of releases (`era`) on one Java, given these topics; `why`: what is assumed by that.
    `others`: later ranges that may compute alike."""

    assignor: str
    era: str
    assign: Assign
    topics: Topics
    why: Reason | None
    others: tuple[tuple[str, Assign], ...] = ()


@dataclass(frozen=True, slots=True)
class Assigning:
    """How targets of one kind of group are computed. `assignor`: its name, as far as that is known; `choices`: what may
    have been, for these views of the topics; `unknown`: why nobody can recompute it; `shared`: several members
    may have a partition, and since 4.1 the records tell every one that may be assigned."""

    assignor: Callable[[TargetGroup], str | None]
    choices: Callable[[Computed, Sequence[KnownTopics]], list[Assumption]]
    unknown: Callable[[TargetGroup], Reason | None] = lambda group: None
    shared: bool = False


def judge(assigning: Assigning, computed: Computed, history: TopicHistory, at_ms: int, name_of: NameOf) -> Verdict:
    """The verdict on one target, as if every record of the group before it was read."""
    group, assignor = computed.after, assigning.assignor(computed.after)
    if group.behind:
        return not_judged(assignor, OVERTAKEN)
    if any(one.untold for one in computed.before.members.values()):
        return not_judged(assignor, RECORDS_MISSING)
    if any(one.metadata is None for one in group.members.values()):
        return _as_likely_subscribed(assigning, computed, history, at_ms, name_of)
    unknown = assigning.unknown(group)
    if unknown is not None:
        return not_judged(assignor, unknown)
    views = list(known_topics(group, history, at_ms, shared=assigning.shared))
    verdict, why_not = _compared(computed, assigning.choices(computed, views), name_of)
    if verdict is not None and verdict.grade is not Grade.UNEXPLAINED:
        return verdict
    sure = [one for one in views if one.why is not INFERRED]
    told = group.metadata_hash is not None if assigning.shared else holed(group.wanted)
    if not told and not any(fits(group.wanted, one.topics) for one in sure):
        unseen = "partitions that no sample shows" if sure and not assigning.shared else "partition counts not known"
        text = f"{unseen}: {', '.join(group.subscribed[:5])}"
        return not_judged(assignor, Reason(ReasonKind.PARTITIONS_UNKNOWN, text))
    if why_not is not None:
        return not_judged(assignor, why_not)
    return verdict or not_judged(assignor, CANNOT_RUN)


def _compared(
    computed: Computed, choices: Sequence[Assumption], name_of: NameOf
) -> tuple[Verdict | None, Reason | None]:
    """The verdict, as far as any assignor could be run; and why a comparison cannot tell, where one cannot."""
    first: Verdict | None = None
    why_not: Reason | None = None
    for choice in choices:
        answer = explained(computed, choice.topics, choice.assign, assumptions=len(choices))
        match answer:
            case Comparison.SAME:
                return _explained(computed, choice, len(choices), name_of), None
            case Comparison.UNSURE:
                why_not = MANY_ORDERS
            case Comparison.FAILED:
                continue
            case Comparison.OTHER:
                first = first or _unexplained(computed, choice, name_of)
            case _:
                assert_never(answer)
    return first, why_not


def _explained(computed: Computed, choice: Assumption, assumptions: int, name_of: NameOf) -> Verdict:
    others = (
        era
        for era, assign in choice.others
        if explained(computed, choice.topics, assign, assumptions=assumptions) is Comparison.SAME
    )
    shares = {
        name: ExpectedShare(assigned=share_of(one.wanted(), name_of)) for name, one in computed.after.members.items()
    }
    grade = Grade.MATCH if choice.why is None else Grade.EXPLAINABLE
    eras = (choice.era, *others)
    return Verdict(grade=grade, assignor=choice.assignor, eras=eras, reason=choice.why, expected=shares)


def _unexplained(computed: Computed, choice: Assumption, name_of: NameOf) -> Verdict:
    group = assignor_input(computed, choice.topics)
    outcome: Outcome | None = None if group is None else choice.assign(group)
    members = computed.after.members
    wanted = {name: flat_target(outcome, name) for name in members} if isinstance(outcome, BrokerResult) else {}
    other = next((name for name, of in wanted.items() if of != members[name].wanted()), "a member")
    reason = Reason(ReasonKind.OTHER_ANSWER, f"{other} was given other partitions than {choice.assignor} computes")
    empty = ExpectedShare(assigned=ConsumerShare())
    shares = {name: ExpectedShare(assigned=share_of(of, name_of)) for name, of in wanted.items()}
    expected = {name: shares.get(name, empty) for name in members}
    return Verdict(grade=Grade.UNEXPLAINED, assignor=choice.assignor, reason=reason, expected=expected)


def _as_likely_subscribed(
    assigning: Assigning, computed: Computed, history: TopicHistory, at_ms: int, name_of: NameOf
) -> Verdict:
    """The verdict on a target of a group in which subscriptions are missing."""
    assignor = None
    for names in _subscriptions(computed, history):
        members = {
            name: member.subscribing(names[name]) if name in names else member
            for name, member in computed.after.members.items()
        }
        filled = replace(computed, after=replace(computed.after, members=members))
        verdict = judge(assigning, filled, history, at_ms, name_of)
        assignor = verdict.assignor
        if verdict.grade is Grade.MATCH:
            return replace(verdict, grade=Grade.EXPLAINABLE, reason=SUBSCRIPTION_ASSUMED)
    return not_judged(assignor, SUBSCRIPTION_MISSING)


def _subscriptions(computed: Computed, history: TopicHistory) -> Iterator[Mapping[str, tuple[str, ...]]]:
    """What the members may subscribe to whose subscription is missing: all to everything that anybody reads, or each to
    the topics of its targets, the one before and the new one."""
    group, told = computed.after, computed.after.names()
    known = tuple(dict.fromkeys(name for one in group.members.values() for name in group.names_of(one)))
    topics: dict[str, set[bytes]] = {}
    for members in (group.members, computed.before.members):
        for name, member in members.items():
            topics.setdefault(name, set()).update(topic for topic, _ in partitions_in(member.wanted()))
    named = {topic: told.get(topic) or history.name_of(topic) for of in topics.values() for topic in of}
    names = {topic: name for topic, name in named.items() if name is not None}
    if len(names) < len(named):
        return
    missing = [name for name, member in group.members.items() if member.metadata is None]
    alike = dict.fromkeys(missing, (*known, *sorted(set(names.values()) - set(known))))
    yield alike
    own = {name: tuple(sorted(names[topic] for topic in topics[name])) for name in missing}
    if own != alike:
        yield own
