"""Was this answer of a sticky leader right? Re-runs every era of Kafka's own class, then holds it against the laws.

What members held is in the record itself, so one record is enough. Kafka's class decides to the last partition; the
libraries of other languages share its name and its laws, not its choices: what they answer is explained by the laws
alone, and only where the record shows that such a library leads (consumer.md 9):

    C-01  every partition of a subscribed topic has one owner; a cooperative leader may hold back what changes hands
    C-02  nobody is given a topic that it did not subscribe to
    C-03  a cooperative leader gives nobody what another member still owns
    C-04  with equal subscriptions the shares differ by one at most (not where partitions are held back)
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product

from rebalance_monitor.assignors.consumer.model import ConsumerMember, TopicRacks
from rebalance_monitor.assignors.consumer.sticky_eras import ERAS, NEWEST, StickyEra
from rebalance_monitor.assignors.consumer.sticky_group import CannotAssign
from rebalance_monitor.schemas.consumer_protocol import TopicPartition
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import ConsumerShare, ExpectedShare, Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import ClientLibrary
from . import answered_before, leaders_release
from .answer import shown, sole_owners
from .assignors import KEEPING

Shares = Mapping[str, tuple[TopicPartition, ...]]

MOST_VIEWS = 24
"""Other states of the topics' metadata that are tried."""
MOST_RUNS = 72
"""Runs of the assignor for them: each state in every era that may have written the record."""
OTHER_SETS = "given other partitions than expected"
PRESUMED = (
    "likely, not certain: the record does not tell the leader's client, but Kafka's class gave the last answers; "
    "client_libraries in the configuration tells"
)
OTHER_ORDER = Reason(
    ReasonKind.RELEASE_OR_CLIENT, "another release or a foreign client: same partitions in another order"
)
OTHER_TOPICS = Reason(
    ReasonKind.UNKNOWN_TOPICS, "unknown setting: the topics' partitions and racks as the leader knew them then"
)


def judge(
    body: GroupGeneration,
    members: Sequence[ConsumerMember],
    observed: Shares,
    current: TopicRacks,
    others: Iterator[TopicRacks],
    library: ClientLibrary | None,
    *,
    presumed: bool = False,
) -> Verdict:
    """The verdict on a generation of `sticky` or `cooperative-sticky`. `current` is what the last sample shows of the
    topics, `others` what the leader may have known instead, `library` its client's (None: not known). `presumed`: it is
    likely Kafka's own client where its library is not known."""
    assignor = body.protocol or ""
    newest = _answer(assignor, members, current, NEWEST)
    expected = {name: ExpectedShare(assigned=ConsumerShare(newest.get(name, ()))) for name in observed}
    if newest == observed:
        return Verdict(grade=Grade.MATCH, assignor=assignor, expected=expected)
    views = list(islice(others, MOST_VIEWS))
    found = _same_answer(assignor, members, observed, current, views, leaders_release.version_of(body))
    if found is not None:
        return found
    broken = _broken_law(assignor, members, observed, (current, *views))
    if broken is None and library not in (None, ClientLibrary.JAVA):
        text = f"foreign client: {library} chooses otherwise than Kafka's class, within the assignor's laws"
        reason = Reason(ReasonKind.FOREIGN_CLIENT, text)
        return Verdict(grade=Grade.EXPLAINABLE, assignor=assignor, reason=reason)
    if broken is None and library is None and not presumed:
        text = (
            "the leader's client cannot be told from the record: a foreign one may choose so within the laws; "
            "client_libraries in the configuration tells"
        )
        reason = Reason(ReasonKind.CLIENT_UNKNOWN, text)
        return Verdict(grade=Grade.NOT_JUDGED, assignor=assignor, reason=reason)
    other = next((name for name, share in observed.items() if set(newest.get(name, ())) != set(share)), "somebody")
    text = f"{other} was {OTHER_SETS}" + (f"; {broken}" if broken else "")
    reason = Reason(ReasonKind.OTHER_ANSWER, text)
    if broken is None and library is None:
        reason = Reason(ReasonKind.CLIENT_PRESUMED, f"{text}; {PRESUMED}")
    return Verdict(grade=Grade.UNEXPLAINED, assignor=assignor, reason=reason, expected=expected)


def _same_answer(
    assignor: str,
    members: Sequence[ConsumerMember],
    observed: Shares,
    current: TopicRacks,
    views: Iterable[TopicRacks],
    version: int | None,
) -> Verdict | None:
    """An era or a state of the topics' metadata in which Kafka's class gives this answer. `version` stands in front of
    the assignments: the same answer from an era that writes this version is a match."""
    alike: Reason | None = None
    fitting = [one.era for one in leaders_release.writers_of(ERAS, version)]
    for era in (*fitting, *(era for era in reversed(ERAS) if era not in fitting)):
        if assignor == COOPERATIVE_STICKY and not era.cooperative:
            continue
        answer = _answer(assignor, members, current, era)
        if answer == observed:
            same = _explained(
                assignor, answer, Reason(ReasonKind.OTHER_RELEASE, f"as leaders of Kafka {era.name} answer")
            )
            return replace(same, grade=Grade.MATCH) if era in fitting else same
        if alike is None and _sets(answer) == _sets(observed):
            alike = OTHER_ORDER
    if alike is not None:
        return _explained(assignor, observed, alike)
    able = [era for era in dict.fromkeys((*fitting, NEWEST)) if era.cooperative or assignor != COOPERATIVE_STICKY]
    for view, era in islice(product(views, able), MOST_RUNS):
        answer = _answer(assignor, members, view, era)
        if _sets(answer) == _sets(observed):
            return _explained(assignor, answer, OTHER_TOPICS)
    return None


def _explained(assignor: str, answer: Shares, reason: Reason) -> Verdict:
    expected = {name: ExpectedShare(assigned=ConsumerShare(share)) for name, share in answer.items()}
    return Verdict(grade=Grade.EXPLAINABLE, assignor=assignor, reason=reason, expected=expected)


def _answer(assignor: str, members: Sequence[ConsumerMember], topics: TopicRacks, era: StickyEra) -> Shares:
    """The shares as a leader writes them, topic by topic; nothing where Kafka's class fails."""
    try:
        result = answered_before.recompute(KEEPING[assignor], members, topics, era)
    except CannotAssign:
        return {}
    writers = leaders_release.writers_by(era)
    return {name: writers.written(share) for name, share in result.shares.items()}


def _sets(shares: Shares) -> dict[str, list[TopicPartition]]:
    """Without their order. A fault of Kafka's class names a partition twice to one member, which is no other order."""
    return {name: sorted(share) for name, share in shares.items()}


def _broken_law(
    assignor: str, members: Sequence[ConsumerMember], observed: Shares, views: Iterable[TopicRacks]
) -> str | None:
    """What no leader may do under any of these states of the topics' metadata; None if some state allows it."""
    broken: str | None = None
    for view in views:
        found = _broken_under(assignor, members, observed, view)
        if found is None:
            return None
        broken = broken or found
    return broken


def _broken_under(assignor: str, members: Sequence[ConsumerMember], observed: Shares, topics: TopicRacks) -> str | None:
    owners = Counter(tp for share in observed.values() for tp in set(share))
    twice = [tp for tp, count in owners.items() if count > 1]
    if twice:
        return f"C-01: {shown(twice[0])} was given to several members"
    for member in members:
        for tp in observed.get(member.id, ()):
            if tp[0] not in member.topics:
                return f"C-02: {member.id} was given {shown(tp)} without subscribing to it"
            if tp[1] >= len(topics.get(tp[0], ())):
                return f"C-01: {member.id} was given {shown(tp)}, which does not exist"
    cooperative = assignor == COOPERATIVE_STICKY
    owner = sole_owners(members) if cooperative else {}
    for member in members:
        for tp in observed.get(member.id, ()):
            if owner.get(tp, member.id) != member.id:
                return f"C-03: {member.id} was given {shown(tp)}, which {owner[tp]} still owns"
    subscribed = {topic for member in members for topic in member.topics}
    missing = [
        (topic, number)
        for topic in sorted(subscribed)
        for number in range(len(topics.get(topic, ())))
        if (topic, number) not in owners
    ]
    held_back = {tp for member in members for tp in member.owned} if cooperative else set[TopicPartition]()
    unowned = [tp for tp in missing if tp not in held_back]
    if unowned:
        return f"C-01: {shown(unowned[0])} was given to nobody"
    if not missing and len({frozenset(member.topics) for member in members}) == 1:
        sizes = [len(set(share)) for share in observed.values()]
        if max(sizes) - min(sizes) > 1:
            return f"C-04: shares of {min(sizes)} and {max(sizes)} partitions with equal subscriptions"
    return None
