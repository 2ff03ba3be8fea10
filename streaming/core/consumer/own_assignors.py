"""What an assignor that nobody knows is held to (consumer.md 12).

Its choices are its own, so nothing is recomputed. Four laws hold for nearly all assignors: one owner for each
partition, no partition without owner, only subscribed topics, only partitions that exist. An assignor may break one of
them on purpose: it gives a partition to several members, or leaves some out. So what is found is likely at most, and a
law that each generation of the group has broken so far is information:

    generation 4    m1 a-0 a-1   m2 a-2          keeps every law
    generation 5    m1 a-0 a-1   m2 a-1 a-2      likely: a-1 has two owners

    generation 4    m1 a-0 a-1   m2 a-0 a-1      information: each generation so far gives partitions to several members
    generation 5    m1 a-0 a-1   m2 a-0 a-1      likewise

A generation that cannot break a law does not keep it: that of one member has no partition with two owners.
`own_assignors` in the configuration says what an assignor does on purpose; nothing is looked for then.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.model.results import Certainty, Severity, Subject
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, OwnAssignor
from . import topic_views
from .answer import KNOWN, Answer, shown
from .awaited_sample import METADATA_AGE_MS
from .catalogue import NO_SUCH_PARTITION, TWO_OWNERS, UNSUBSCRIBED, WITHOUT_OWNER
from .members import ReadMembers

_ON_PURPOSE = {OwnAssignor.SHARES: TWO_OWNERS.code, OwnAssignor.OMITS: WITHOUT_OWNER.code}


@dataclass(frozen=True, slots=True)
class Habits:
    """Codes of the laws that some generation under this assignor has kept although it could have broken them."""

    assignor: str = ""
    kept: tuple[str, ...] = ()

    def most(self, code: str) -> Certainty:
        """How certain a finding of this law may be."""
        return Certainty.LIKELY if code in self.kept else Certainty.POSSIBLE


def habits_of(before: Habits, answer: Answer) -> Habits:
    """Those of this answer's assignor: another assignor has habits of its own."""
    return before if before.assignor == answer.assignor else Habits(answer.assignor)


def on_purpose(settings: ClusterSettings, group: str) -> frozenset[str]:
    """Codes of the laws that the group's assignor breaks on purpose, as its users say."""
    return frozenset(_ON_PURPOSE[one] for one in settings.own_assignor_of(group))


def held_to(habits: Habits, found: Iterable[Finding]) -> Iterator[Finding]:
    """The findings as far as they may be believed."""
    for one in found:
        if habits.most(one.rule.code) is Certainty.LIKELY:
            yield replace(one, certainty=Certainty.LIKELY)
        else:
            text = f"{one.message}; each generation seen so far breaks this law, which may be the assignor's purpose"
            yield replace(one, certainty=Certainty.POSSIBLE, severity=Severity.INFO, message=text)


def after(
    habits: Habits, answer: Answer, history: TopicHistory, at_ms: int, broken: Iterable[str], *, unowned: bool
) -> Habits:
    """With what this answer shows. `broken`: codes of its findings; `unowned`: it leaves partitions out."""
    could = {TWO_OWNERS.code: _shared(answer), UNSUBSCRIBED.code: not answer.equal}
    kept = {code for code, possible in could.items() if possible} - set(broken)
    given = any(answer.given.values())
    if given and not unowned and _sampled(answer, history, at_ms):
        kept.add(WITHOUT_OWNER.code)
    return replace(habits, kept=tuple(sorted({*habits.kept, *kept})))


def _shared(answer: Answer) -> bool:
    """Whether something was given that several members could have."""
    subscribers = Counter(topic for member in answer.members for topic in set(member.topics))
    return any(subscribers[topic] > 1 for share in answer.given.values() for topic, _ in share)


def _sampled(answer: Answer, history: TopicHistory, at_ms: int) -> bool:
    topics = sorted({topic for member in answer.members for topic in member.topics})
    return topic_views.current(history, topics, at_ms) is not None and all(map(history.ever, topics))


def awaits_sample(history: TopicHistory, assignor: str | None, read: ReadMembers | str, at_ms: int) -> bool:
    """Whether a partition was given that no sample shows so far."""
    if assignor in KNOWN or isinstance(read, str):
        return False
    return any(_beyond(history, share, at_ms) for share in read.given.values())


def no_such_partition(answer: Answer, history: TopicHistory, at_ms: int) -> Iterator[Finding]:
    """Partitions that no sample around the record shows. Topics may have grown after the last sample before it, so only
    a sample that was asked after the record tells."""
    if answer.assignor in KNOWN or history.asked_ms is None or history.asked_ms < at_ms + METADATA_AGE_MS:
        return
    for member, share in answer.given.items():
        beyond = _beyond(history, share, at_ms)
        if beyond:
            yield Finding(
                rule=NO_SUCH_PARTITION,
                severity=NO_SUCH_PARTITION.severity,
                certainty=Certainty.LIKELY,
                subjects=(Subject("member", member),),
                message=f"{member} was given {beyond[0]}, which no sample of the topics shows",
                evidence=(answer.evidence,),
            )


def _beyond(history: TopicHistory, share: Iterable[tuple[str, int]], at_ms: int) -> list[str]:
    wanted = sorted({topic for topic, _ in share if history.ever(topic)})
    views = list(topic_views.near(history, wanted, at_ms))
    return [
        shown((topic, number))
        for topic, number in share
        if topic in wanted and views and all(number >= len(view.get(topic, ())) for view in views)
    ]
