"""CONSUMER-C01 and C09: partitions that nobody owns for longer than the group's time-outs, and unfinished transfers.

A completed generation may leave partitions out for a good reason, and the next one, about a second later, repairs it: a
cooperative leader holds back what changes hands, a new leader does not know every topic yet. So nothing is said of the
record itself. Each partition without owner is remembered with the time at which patience ends.

    10:00:00  generation 7: a-0 and a-2 are given, a-1 is not     a-1 waits until 10:01:10 (time-outs 60 s + 10 s)
    10:00:01  generation 8 gives a-1 to m2                        nothing was said
    10:01:10  no such generation                                  partition_without_owner opens

Which partitions there are: what the last sample of the topics shows, where there is one. Of a topic that no sample
shows, a number below another one that was given exists, since numbers have no holes. Sticky leaders let members keep
numbers that a topic made anew with fewer partitions no longer has; what only such numbers show is possible, no more.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from rebalance_monitor.schemas.consumer_protocol import TopicPartition
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY
from rebalance_monitor.streaming.core.cluster.topics import METADATA_MAX_AGE_MS, TopicHistory
from rebalance_monitor.streaming.core.fold.timeouts import Timeouts
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.model.derived import derived
from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Source, Subject
from . import topic_views
from .answer import STICKY_ONES, Answer, shown
from .catalogue import TRANSFER_UNFINISHED, WITHOUT_OWNER
from .given_numbers import MOST_HOLES

MOST_WAITING = 1_000
"""Partitions of one group that are waited for at a time."""
_ORDER = list(Certainty)
CODES = frozenset({WITHOUT_OWNER.code, TRANSFER_UNFINISHED.code})


@dataclass(frozen=True, slots=True)
class Wait:
    """A partition without owner: until when that is no finding (ms), how sure it is that it exists, and the
    record that showed it first. `told`: patience has ended, the incident is open."""

    until_ms: int
    certainty: Certainty
    source: Source
    told: bool = False


@dataclass(frozen=True, slots=True)
class Waits:
    """`partitions`: by `topic-number`. `transfer_until_ms`: by when a generation must follow; None if none must."""

    partitions: Mapping[str, Wait] = field(default_factory=dict)
    transfer_until_ms: int | None = None
    transfer_certainty: Certainty = Certainty.LIKELY
    transfer_source: Source | None = None

    def due_ms(self) -> int | None:
        times = [one.until_ms for one in self.partitions.values() if not one.told]
        times += [] if self.transfer_until_ms is None else [self.transfer_until_ms]
        return min(times, default=None)

    def moved(self, by_ms: int) -> "Waits":
        """The same by a clock that is so far ahead."""
        if not by_ms:
            return self
        partitions = {key: replace(one, until_ms=one.until_ms + by_ms) for key, one in self.partitions.items()}
        until_ms = None if self.transfer_until_ms is None else self.transfer_until_ms + by_ms
        return replace(self, partitions=partitions, transfer_until_ms=until_ms)


def noted(
    before: Waits,
    answer: Answer,
    history: TopicHistory,
    at_ms: int,
    timeouts: Timeouts,
    source: Source,
    most: Certainty = Certainty.CERTAIN,
) -> Waits:
    """What waits after this answer. A partition that waited already goes on to wait. `most`: how certain it may be.

    The member that has to give partitions up may handle what it holds until its rebalance time-out ends before it joins
    again, and the others have theirs from then on.
    """
    patience_ms = timeouts.both_ms
    found: dict[str, Wait] = {}
    for partition, certainty, more_ms in islice(_without_owner(answer, history, at_ms), MOST_WAITING):
        key = shown(partition)
        sure = max(certainty, most, key=_ORDER.index)
        found[key] = before.partitions.get(key) or Wait(at_ms + patience_ms + more_ms, sure, source)
    if not _lost_something(answer):
        return Waits(found)
    until_ms = at_ms + patience_ms + timeouts.rebalance_ms
    return Waits(found, until_ms, Certainty.CERTAIN if answer.java else Certainty.LIKELY, source)


def seen_again(before: Waits) -> Waits:
    """What goes on where generations before this one may not have been seen: what is open. Whatever else waited may
    have had an owner meanwhile."""
    return Waits({key: one for key, one in before.partitions.items() if one.told})


def still_unowned(waits: Waits) -> tuple[Finding, ...]:
    """What goes on after a record: the partitions whose patience had ended before it."""
    return tuple(_findings({key: one for key, one in waits.partitions.items() if one.told}))


def fired(waits: Waits, group: str, history: TopicHistory, at_ms: int) -> tuple[Waits, tuple[Finding, ...]]:
    """The waits whose patience ends by then, and what they bring up. A topic that a sample shows no more, or smaller,
    waits no longer."""
    found: list[Finding] = []
    until_ms = waits.transfer_until_ms
    if until_ms is not None and until_ms <= at_ms:
        found.append(_unfinished(waits, group))
        waits = replace(waits, transfer_until_ms=None)
    due = {key for key, one in waits.partitions.items() if not one.told and one.until_ms <= at_ms}
    if due:
        gone = {key for key in due if not _exists(key, history, at_ms)}
        partitions = {
            key: replace(one, told=True) if key in due else one
            for key, one in waits.partitions.items()
            if key not in gone
        }
        waits = replace(waits, partitions=partitions)
        topics = {key.rpartition("-")[0] for key in due - gone}
        now = {key: one for key, one in partitions.items() if one.told and key.rpartition("-")[0] in topics}
        found += _findings(now)
    return waits, tuple(found)


def _without_owner(
    answer: Answer, history: TopicHistory, at_ms: int
) -> Iterator[tuple[TopicPartition, Certainty, int]]:
    """Partitions that nobody has and nobody still owns, how sure it is that they exist, and the patience they need
    beside the time-outs. Only cooperative members go on with what they had: all others gave it up before they joined,
    and report a former assignment."""
    given = answer.all_given
    owned = given if answer.assignor != COOPERATIVE_STICKY or answer.unmoved else answer.claims().keys() | given
    topics = sorted({topic for member in answer.members for topic in member.topics})
    sample = topic_views.current(history, topics, at_ms)
    known = Counter(topic for topic, _ in owned)
    for topic in topics:
        if sample is not None and history.ever(topic):
            count, certainty, more_ms = len(sample.get(topic, ())), Certainty.CERTAIN, METADATA_MAX_AGE_MS
            surely = count
        else:
            certainty = Certainty.LIKELY if answer.assignor in STICKY_ONES else Certainty.CERTAIN
            count, more_ms = _highest_given(answer).get(topic, -1) + 1, 0
            surely = _highest_new(answer).get(topic, -1) if answer.client_known else 0
            if count - known[topic] > MOST_HOLES:  # any client may write any number
                continue
        for number in range(count):
            if (topic, number) not in owned:
                yield (topic, number), certainty if number < surely else Certainty.POSSIBLE, more_ms


@derived
def _highest_given(answer: Answer) -> Mapping[str, int]:
    return _highest(answer.all_given)


@derived
def _highest_new(answer: Answer) -> Mapping[str, int]:
    """Of the partitions that members were given without having held them: these exist."""
    shares = answer.given.items()
    return _highest(one for member, share in shares for one in share if one not in answer.held[member])


def _highest(partitions: Iterable[TopicPartition]) -> dict[str, int]:
    """Topic -> the highest of its numbers."""
    found: dict[str, int] = {}
    for topic, number in partitions:
        found[topic] = max(number, found.get(topic, -1))
    return found


def _exists(key: str, history: TopicHistory, at_ms: int) -> bool:
    topic, _, number = key.rpartition("-")
    sample = topic_views.current(history, [topic], at_ms)
    return sample is None or not history.ever(topic) or int(number) < len(sample.get(topic, ()))


def _lost_something(answer: Answer) -> bool:
    """Whether a member must give partitions up: it then joins again, which ends in another generation."""
    if answer.assignor != COOPERATIVE_STICKY:
        return False
    return any(not answer.held[member.id] <= set(answer.given[member.id]) for member in answer.members)


def _findings(waits: Mapping[str, Wait]) -> Iterator[Finding]:
    topics: dict[str, list[str]] = defaultdict(list)
    for key in sorted(waits, key=lambda key: (key.rpartition("-")[0], int(key.rpartition("-")[2]))):
        topics[key.rpartition("-")[0]].append(key)
    for topic, keys in topics.items():
        certainty = max((waits[key].certainty for key in keys), key=_ORDER.index)
        yield Finding(
            rule=WITHOUT_OWNER,
            severity=Severity.INFO if certainty is Certainty.POSSIBLE else WITHOUT_OWNER.severity,
            certainty=certainty,
            subjects=(Subject("topic", topic),),
            message=f"no member has {listed(keys)} for longer than the group's time-outs",
            evidence=tuple(dict.fromkeys(Evidence(source=waits[key].source) for key in keys)),
        )


def _unfinished(waits: Waits, group: str) -> Finding:
    return Finding(
        rule=TRANSFER_UNFINISHED,
        severity=TRANSFER_UNFINISHED.severity,
        certainty=waits.transfer_certainty,
        subjects=(Subject("group", group),),
        message="members had to give partitions up, and no generation followed within the time that all have to join",
        evidence=(Evidence(source=waits.transfer_source),),
    )
