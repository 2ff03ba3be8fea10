"""Was this target right? Re-runs the broker's assignor on the members, subscriptions and previous targets of the log.

Only two things are not in the records: what the coordinator knew of the topics (`topics`), and which release it runs.
Both are tried: first the likeliest view of the topics in the newest release, then what else may have been. A target
that no assumption gives is unexplained; one that cannot be recomputed is not judged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from rebalance_monitor.assignors.broker.model import NEWEST, Release
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.epochs import expected, topics
from rebalance_monitor.streaming.core.epochs.group import EpochGroup
from rebalance_monitor.streaming.core.epochs.units import partitions_in
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.targets import assumed
from rebalance_monitor.streaming.core.targets.expected import Comparison
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.published import NameOf
from rebalance_monitor.streaming.core.targets.reasons import (
    CANNOT_RUN,
    INFERRED,
    MANY_ORDERS,
    OTHER_TOPICS,
    OVERTAKEN,
    RECORDS_MISSING,
    other_release,
)
from rebalance_monitor.streaming.core.targets.topics import KnownTopics, sampled
from rebalance_monitor.streaming.core.targets.verdict import explained, not_judged, unexplained

ERAS: dict[str, tuple[tuple[str, Release], ...]] = {
    "uniform": ((">=4.0", NEWEST), ("3.8-3.9", (3, 9)), ("3.7", (3, 7))),
    "range": ((">=3.9", NEWEST), ("3.7-3.8", (3, 8))),
}
"""By assignor, the ranges of releases that compute alike, newest first, and one release of each."""

CONVERTED = Reason(
    ReasonKind.CONVERSION, "members of the classic protocol brought it: no assignor of the broker computed it"
)
OTHER_DEFAULT = Reason(ReasonKind.UNKNOWN_DEFAULT, "the broker's default assignor may be another one")
EVEN = Reason(ReasonKind.EQUAL_CHOICE, "as many members prefer another assignor")


def judge(computed: Computed[EpochGroup], history: TopicHistory, at_ms: int, name_of: NameOf) -> Verdict:
    """The verdict on one target, as if every record of the group before it was read."""
    group = computed.after
    named = expected.preferred(group)
    assignor = named[0] if len(named) == 1 else None
    known = [one for one in named if one in ERAS]
    if expected.converted(computed):
        return not_judged(None, CONVERTED)
    if group.behind:
        return not_judged(assignor, OVERTAKEN)
    if any(one.untold for one in computed.before.members.values()):
        return not_judged(assignor, RECORDS_MISSING)
    if any(one.metadata is None for one in group.members.values()):
        read = tuple(dict.fromkeys(name for one in group.members.values() for name in group.names_of(one)))
        return assumed.judged(computed, read, history, lambda filled: judge(filled, history, at_ms, name_of))
    if not known:
        text = f"assignor {', '.join(named)} is not recomputed by this version"
        return not_judged(assignor, Reason(ReasonKind.ASSIGNOR_UNKNOWN, text))
    views = list(_views(group, history, at_ms))
    verdict, why_not = _compared(computed, known, views, name_of)
    if verdict is not None and verdict.grade is not Grade.UNEXPLAINED:
        return verdict
    sure = [one for one in views if one.why is not INFERRED]
    if not any(topics.fits(group, one.topics) for one in sure) and not topics.holed(group):
        names = ", ".join(topics.subscribed(group)[:5])
        text = f"partition counts not known: {names}" if not sure else f"partitions that no sample shows: {names}"
        return not_judged(assignor, Reason(ReasonKind.PARTITIONS_UNKNOWN, text))
    if why_not is not None:
        return not_judged(assignor, why_not)
    return verdict or not_judged(assignor, CANNOT_RUN)


def _compared(
    computed: Computed[EpochGroup], named: Sequence[str], views: Sequence[KnownTopics], name_of: NameOf
) -> tuple[Verdict | None, Reason | None]:
    """The verdict, as far as any assignor could be run; and why a comparison cannot tell, where one cannot."""
    first: Verdict | None = None
    why_not: Reason | None = None
    given = {name: partitions_in(one.wanted()) for name, one in computed.after.members.items()}
    choices = [
        (choice, view, java)
        for choice, view in _choices(computed.after, named, views)
        for java in expected.javas(computed, view.topics)
    ]
    for choice, view, java in choices:
        answer = expected.explained(
            computed, view.topics, choice.assignor, choice.release, java, assumptions=len(choices)
        )
        match answer:
            case Comparison.SAME:
                why = choice.why or view.why
                return explained(choice.assignor, (choice.era,), why, given, name_of), None
            case Comparison.UNSURE:
                why_not = MANY_ORDERS
            case Comparison.FAILED:
                continue
            case Comparison.OTHER:
                if first is None:
                    outcome = expected.run(computed, view.topics, choice.assignor, choice.release, java)
                    first = unexplained(choice.assignor, outcome, given, name_of)
            case _:
                assert_never(answer)
    return first, why_not


@dataclass(frozen=True, slots=True)
class _Choice:
    """An assignor in one range of releases; `why`: what is assumed by that."""

    assignor: str
    era: str
    release: Release
    why: Reason | None = None


def _choices(
    group: EpochGroup, named: Sequence[str], views: Sequence[KnownTopics]
) -> Iterator[tuple[_Choice, KnownTopics]]:
    """What may have been, the likeliest first: the newest release with every view, then others with each."""
    even = None if len(named) == 1 else EVEN
    choices = [
        _Choice(name, era, release, even if at == 0 else other_release(name, era))
        for name in named
        for at, (era, release) in enumerate(ERAS[name])
        if at == 0 or group.metadata_hash is None
    ]
    if not expected.names_one(group):
        others = [name for name in ERAS if name not in named]
        choices += [_Choice(name, era, release, OTHER_DEFAULT) for name in others for era, release in ERAS[name][:1]]
    for choice in choices:
        yield from ((choice, view) for view in views)


def _views(group: EpochGroup, history: TopicHistory, at_ms: int) -> Iterator[KnownTopics]:
    names = topics.subscribed(group)
    told = topics.recorded(group)
    if told is not None or not names:
        yield KnownTopics(told or {})
        return
    views = list(sampled(history, names, at_ms))
    for number, view in enumerate(views):
        yield KnownTopics(view, None if number == 0 else OTHER_TOPICS)
    # A topic that was deleted may still be in the last sample, and one that was just made not yet known to the broker.
    given = {topic for one in group.members.values() for topic, _ in partitions_in(one.wanted())}
    for view in views:
        known = {name: one for name, one in view.items() if one.id in given}
        if known != view:
            yield KnownTopics(known, OTHER_TOPICS)
    # Where samples show all that was given, a partition that nobody was given is none that does not exist.
    if any(one.at_ms <= at_ms for one in history.moments(names)) and any(topics.fits(group, one) for one in views):
        return
    alike = len({frozenset(group.names_of(one)) for one in group.members.values()}) <= 1
    guessed = topics.inferred(group, names) if alike else None
    if guessed is not None:
        yield KnownTopics(guessed, INFERRED)
