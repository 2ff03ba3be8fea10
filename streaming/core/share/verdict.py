"""Was this target right? Re-runs the `simple` assignor on the members, subscriptions, previous targets and partitions
with share state of the log.

What is not in the records is tried: which release computed it, which Java it ran on, which topics were just deleted.
Brokers before 4.1 write no hash of the topics, and those since 4.3 write when a target was computed: that leaves few
releases. A target that no assumption gives is unexplained; one that cannot be recomputed is not judged.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from rebalance_monitor.assignors.broker.model import JAVA, NEWEST, BrokerResult, Release
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import ConsumerShare, ExpectedShare, Grade, Verdict
from rebalance_monitor.streaming.core.share.expected import explained, run
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.share.topics import INFERRED, KnownTopics, known_topics
from rebalance_monitor.streaming.core.targets import topics
from rebalance_monitor.streaming.core.targets.expected import OVERTAKEN, Comparison, flat_target
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.published import NameOf, share_of

ASSIGNOR = "simple"
JAVAS = (JAVA, 21)
"""Java releases that walk some copied sets differently; either may run the broker."""
BALANCED, SPARING, EVERYTHING = (">=4.2", NEWEST), ("4.1", (4, 1)), ("3.9-4.0", (4, 0))
"""Ranges of releases that compute alike, and one release of each."""

RECORDS_MISSING = Reason(ReasonKind.EVIDENCE_MISSING, "records of the group before this target were not read")
MEMBER_MISSING = Reason(ReasonKind.EVIDENCE_MISSING, "the subscription of a member was not read")
MANY_ORDERS = Reason(
    ReasonKind.EQUAL_CHOICE, "member ids share places in the coordinator's map in more orders than are tried"
)
FAILED = Reason(ReasonKind.CANNOT_RUN, "the assignor of no release can be run on this input")


def eras_of(group: ShareGroup) -> tuple[tuple[str, Release], ...]:
    """The releases that may have computed the newest target, the newest first."""
    if group.dated:
        return (BALANCED,)
    return (EVERYTHING,) if group.metadata_hash is None else (BALANCED, SPARING)


def judge(
    computed: Computed[ShareGroup], history: TopicHistory, at_ms: int, name_of: NameOf, *, trusted: bool
) -> Verdict:
    """The verdict on one target. `trusted`: every record of the group before it was read."""
    group = computed.after
    if not trusted:
        return _not_judged(RECORDS_MISSING)
    if group.behind:
        return _not_judged(OVERTAKEN)
    if any(one.metadata is None for one in group.members.values()):
        return _not_judged(MEMBER_MISSING)
    views = list(known_topics(group, history, at_ms))
    verdict, why_not = _compared(computed, views, name_of)
    if verdict is not None and verdict.grade is not Grade.UNEXPLAINED:
        return verdict
    sure = [one for one in views if one.why is not INFERRED]
    if group.metadata_hash is None and not any(topics.fits(group.wanted, one.topics) for one in sure):
        text = f"partition counts not known: {', '.join(group.subscribed[:5])}"
        return _not_judged(Reason(ReasonKind.PARTITIONS_UNKNOWN, text))
    return _not_judged(why_not) if why_not is not None else verdict or _not_judged(FAILED)


def _compared(
    computed: Computed[ShareGroup], views: Sequence[KnownTopics], name_of: NameOf
) -> tuple[Verdict | None, Reason | None]:
    """The verdict, as far as the assignor could be run; and why a comparison cannot tell, where one cannot."""
    first: Verdict | None = None
    why_not: Reason | None = None
    choices = list(_choices(computed.after, views))
    for view, at, java_version in choices:
        era, release = eras_of(computed.after)[at]
        match explained(computed, view.topics, release, java_version, assumptions=len(choices)):
            case Comparison.SAME:
                why = view.why if at == 0 else _other_release(era)
                return _explained(computed, _eras(computed, view, java_version, len(choices)), why, name_of), None
            case Comparison.UNSURE:
                why_not = MANY_ORDERS
            case Comparison.FAILED:
                continue
            case Comparison.OTHER:
                first = first or _unexplained(computed, view, release, java_version, name_of)
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
        if explained(computed, view.topics, release, java_version, assumptions=assumptions) is Comparison.SAME
    )


def _other_release(era: str) -> Reason:
    return Reason(ReasonKind.OTHER_RELEASE, f"{ASSIGNOR} of the releases {era}")


def _explained(computed: Computed[ShareGroup], eras: tuple[str, ...], why: Reason | None, name_of: NameOf) -> Verdict:
    members = computed.after.members.items()
    shares = {name: ExpectedShare(assigned=share_of(one.wanted(), name_of)) for name, one in members}
    grade = Grade.MATCH if why is None else Grade.EXPLAINABLE
    return Verdict(grade=grade, assignor=ASSIGNOR, eras=eras, reason=why, expected=shares)


def _unexplained(
    computed: Computed[ShareGroup], view: KnownTopics, release: Release, java_version: int, name_of: NameOf
) -> Verdict:
    outcome = run(computed, view.topics, release, java_version)
    members = computed.after.members
    wanted = {name: flat_target(outcome, name) for name in members} if isinstance(outcome, BrokerResult) else {}
    other = next((name for name, of in wanted.items() if of != members[name].wanted()), "a member")
    shares = {name: ExpectedShare(assigned=share_of(of, name_of)) for name, of in wanted.items()}
    reason = Reason(ReasonKind.OTHER_ANSWER, f"{other} was given other partitions than {ASSIGNOR} computes")
    empty = ExpectedShare(assigned=ConsumerShare())
    given = {name: shares.get(name, empty) for name in members}
    return Verdict(grade=Grade.UNEXPLAINED, assignor=ASSIGNOR, reason=reason, expected=given)


def _not_judged(why: Reason) -> Verdict:
    return Verdict(grade=Grade.NOT_JUDGED, assignor=ASSIGNOR, reason=why)
