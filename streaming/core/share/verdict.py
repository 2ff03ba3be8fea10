"""Was this target right? Re-runs the `simple` assignor on the members, subscriptions, previous targets and partitions
with share state of the log.

What is not in the records is tried: which release computed it, which Java it ran on, which topics were just deleted.
Brokers before 4.1 write no hash of the topics, and those since 4.3 write when a target was computed: that leaves few
releases. A target that no assumption gives is unexplained; one that cannot be recomputed is not judged.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from rebalance_monitor.assignors.broker.model import JAVAS, NEWEST, Release
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.share import expected
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.share.topics import known_topics
from rebalance_monitor.streaming.core.targets import assumed, topics
from rebalance_monitor.streaming.core.targets.expected import Comparison
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.published import NameOf
from rebalance_monitor.streaming.core.targets.reasons import (
    CANNOT_RUN,
    INFERRED,
    MANY_ORDERS,
    OVERTAKEN,
    RECORDS_MISSING,
    other_release,
)
from rebalance_monitor.streaming.core.targets.topics import KnownTopics
from rebalance_monitor.streaming.core.targets.verdict import explained, not_judged, unexplained

ASSIGNOR = "simple"
BALANCED, SPARING, EVERYTHING = (">=4.2", NEWEST), ("4.1", (4, 1)), ("3.9-4.0", (4, 0))
"""Ranges of releases that compute alike, and one release of each."""


def eras_of(group: ShareGroup) -> tuple[tuple[str, Release], ...]:
    """The releases that may have computed the newest target, the newest first."""
    if group.dated:
        return (BALANCED,)
    return (EVERYTHING,) if group.metadata_hash is None else (BALANCED, SPARING)


def judge(computed: Computed[ShareGroup], history: TopicHistory, at_ms: int, name_of: NameOf) -> Verdict:
    """The verdict on one target, as if every record of the group before it was read."""
    group = computed.after
    if group.behind:
        return not_judged(ASSIGNOR, OVERTAKEN)
    if any(one.untold for one in computed.before.members.values()):
        return not_judged(ASSIGNOR, RECORDS_MISSING)
    if any(one.metadata is None for one in group.members.values()):
        known = tuple(dict.fromkeys(name for one in group.members.values() for name in one.names))
        return assumed.judged(computed, known, history, lambda filled: judge(filled, history, at_ms, name_of))
    views = list(known_topics(group, history, at_ms))
    verdict, why_not = _compared(computed, views, name_of)
    if verdict is not None and verdict.grade is not Grade.UNEXPLAINED:
        return verdict
    sure = [one for one in views if one.why is not INFERRED]
    if group.metadata_hash is None and not any(topics.fits(group.wanted, one.topics) for one in sure):
        text = f"partition counts not known: {', '.join(group.subscribed[:5])}"
        return not_judged(ASSIGNOR, Reason(ReasonKind.PARTITIONS_UNKNOWN, text))
    return not_judged(ASSIGNOR, why_not) if why_not is not None else verdict or not_judged(ASSIGNOR, CANNOT_RUN)


def _compared(
    computed: Computed[ShareGroup], views: Sequence[KnownTopics], name_of: NameOf
) -> tuple[Verdict | None, Reason | None]:
    """The verdict, as far as the assignor could be run; and why a comparison cannot tell, where one cannot."""
    first: Verdict | None = None
    why_not: Reason | None = None
    given = {name: one.wanted() for name, one in computed.after.members.items()}
    choices = list(_choices(computed.after, views))
    for view, at, java_version in choices:
        era, release = eras_of(computed.after)[at]
        match expected.explained(computed, view.topics, release, java_version, assumptions=len(choices)):
            case Comparison.SAME:
                why = view.why if at == 0 else other_release(ASSIGNOR, era)
                eras = _eras(computed, view, java_version, len(choices))
                return explained(ASSIGNOR, eras, why, given, name_of), None
            case Comparison.UNSURE:
                why_not = MANY_ORDERS
            case Comparison.FAILED:
                continue
            case Comparison.OTHER:
                if first is None:
                    outcome = expected.run(computed, view.topics, release, java_version)
                    first = unexplained(ASSIGNOR, outcome, given, name_of)
            case unknown:
                assert_never(unknown)
    return first, why_not


def _choices(group: ShareGroup, views: Sequence[KnownTopics]) -> Iterator[tuple[KnownTopics, int, int]]:
    """What may have been, the likeliest first: topics, place of the release in `eras_of`, Java release."""
    for view in views:
        for at, _ in enumerate(eras_of(group)):
            yield from ((view, at, java_version) for java_version in JAVAS)


def _eras(computed: Computed[ShareGroup], view: KnownTopics, java_version: int, assumptions: int) -> tuple[str, ...]:
    return tuple(
        era
        for era, release in eras_of(computed.after)
        if expected.explained(computed, view.topics, release, java_version, assumptions=assumptions) is Comparison.SAME
    )
