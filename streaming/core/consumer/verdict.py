"""Was this consumer assignment right? Re-runs the assignor with the topics' partitions, as far as they are known.

samples before and around the record    match, explainable or unexplained
counts that no sample tells             taken from the assignment itself: explainable, or not judged
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import assert_never

from rebalance_monitor.assignors.consumer.model import ConsumerEra, ConsumerMember, TopicRacks
from rebalance_monitor.assignors.consumer.other_deals import ROUND_ROBIN_ASSIGNER, may_be_franz_gos
from rebalance_monitor.schemas.consumer_protocol import TopicPartition
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.candidates import Candidate, explanation, those
from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import ConsumerShare, ExpectedShare, Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import ClientLibrary, ClusterSettings
from . import answered_before, leaders_release, sticky_verdict, topic_views
from .answer import KNOWN
from .assignors import KEEPING, PLAIN, Assignor
from .client_library import leaders_library
from .foreign_leaders import foreign_deals, foreign_leader, foreign_orders
from .given_numbers import given_numbers, guessed
from .leaders_release import Writers
from .members import ReadMembers, read_members
from .presumed_client import NO_ANSWERS, StickyAnswers, presumed_java

INFERRED = "partition counts inferred from the assignment itself"

BY_LEADERS = Reason(
    ReasonKind.FOREIGN_CLIENT,
    "franz-go chooses within the assignor's laws, by the racks of the partitions' leaders, which no sample shows",
)


def _not_judged(assignor: str | None, kind: ReasonKind, text: str) -> Verdict:
    return Verdict(grade=Grade.NOT_JUDGED, assignor=assignor, reason=Reason(kind, text))


def judge(
    settings: ClusterSettings,
    history: TopicHistory,
    body: GroupGeneration,
    at_ms: int,
    *,
    first: bool,
    read: ReadMembers | str | None = None,
    no_later_sample: bool = False,
    answers: StickyAnswers = NO_ANSWERS,
) -> Verdict:
    """The verdict on one generation of a group that is not a Connect cluster.

    `history`: what samples showed of the topics. `first`: the first record of this life of the group. `read`: its
    members, where they were read before. `no_later_sample`: none was taken after the record, and none will be.
    `answers`: those of sticky leaders before.
    """
    assignor = body.protocol
    if body.protocol_type != "consumer":
        return _not_judged(
            None, ReasonKind.ASSIGNOR_UNKNOWN, f"protocol type {body.protocol_type} has no known assignor"
        )
    sticky = (assignor or "") in KEEPING
    if (assignor or "") not in KNOWN:
        text = f"assignor {assignor} is not recomputed by this version"
        return _not_judged(assignor, ReasonKind.ASSIGNOR_UNKNOWN, text)
    read = read_members(body) if read is None else read
    if isinstance(read, str):
        return _not_judged(assignor, ReasonKind.MEMBER_UNREADABLE, read)
    members, observed = read.members, read.given
    wanted = sorted({topic for member in members for topic in member.topics})
    current = topic_views.current(history, wanted, at_ms)
    by = _by_assignor(settings, body, read, answers)
    numbers = given_numbers(assignor or "", members, observed)
    racked = any(member.rack for member in members)
    verdict = None
    if current is not None and not _no_sample_fits(history, wanted, numbers.given.keys(), sticky=sticky):
        verdict = by(current, topic_views.others(history, wanted, at_ms, numbers, racked=racked))
    if verdict is not None and verdict.grade is not Grade.UNEXPLAINED:
        return verdict
    given = numbers.given.keys()
    # What changed between the last sample of all and the record is shown by nothing but the answer.
    unsure = (frozenset(wanted) if no_later_sample else topic_views.unsure(history, wanted, at_ms)) & given
    near = _later(history, wanted, at_ms, given) if current is None else ()
    guesses = _guesses(near, current, guessed(observed, members, unsure))
    verdict = _by_a_guess(by, guesses, unsure) or verdict
    never = {topic for topic in unsure if not history.ever(topic)}
    if verdict is None or (never and verdict.grade is Grade.UNEXPLAINED):
        text = f"partition counts not known: {listed(sorted(never or wanted))}"
        return _not_judged(assignor, ReasonKind.PARTITIONS_UNKNOWN, text)
    if verdict.grade is not Grade.UNEXPLAINED:
        return verdict
    if no_later_sample and racked:
        text = "racks not known: no sample of the topics was taken after the record"
        return _not_judged(assignor, ReasonKind.PARTITIONS_UNKNOWN, text)
    if first and body.generation > 1:
        text = "first record of the group: it may come from a conversion, not from an assignor"
        return _not_judged(assignor, ReasonKind.CONVERSION, text)
    return verdict


def _by_assignor(
    settings: ClusterSettings, body: GroupGeneration, read: ReadMembers, answers: StickyAnswers
) -> Callable[[TopicRacks, Iterator[TopicRacks]], Verdict]:
    """The verdict by what the leader may have known of the topics: first this, then others."""
    members, observed = read.members, read.given
    leads = partial(leaders_library, body, settings.client_libraries)
    if body.protocol in KEEPING:
        library = leads()
        presumed = library is None and presumed_java(body, answers, settings.client_libraries)
        return lambda view, others: sticky_verdict.judge(
            body, members, observed, view, others, library, presumed=presumed
        )
    plain, version = PLAIN.get(body.protocol or ""), leaders_release.version_of(body)
    foreign = foreign_leader(body, members)

    def by(view: TopicRacks, others: Iterator[TopicRacks]) -> Verdict:
        if foreign is None:
            assert plain is not None
            return _judged(plain, members, observed, view, others, version, leads)
        known = list(others)
        verdict = foreign.judge(observed, view, known)
        if plain is None or verdict.grade is not Grade.UNEXPLAINED:
            return verdict
        return _judged(plain, members, observed, view, iter(known), version, leads)

    return by


def surely_rests_on_samples(history: TopicHistory, body: GroupGeneration, read: ReadMembers | str) -> bool:
    """Whether a later sample may make another verdict of it, told without a run of the assignor. False: not known."""
    if body.protocol_type != "consumer" or body.protocol not in (*PLAIN, ROUND_ROBIN_ASSIGNER) or isinstance(read, str):
        return False
    wanted = {topic for member in read.members for topic in member.topics}
    given = {topic for share in read.given.values() for topic, _ in share}
    return any(not history.ever(topic) for topic in wanted & given)


def _no_sample_fits(history: TopicHistory, wanted: Sequence[str], given: Set[str], *, sticky: bool) -> bool:
    """Whether no sample can show what the leader knew: partitions were given of a topic that none of them shows. Sticky
    leaders may keep what they do not know any more, so of theirs only samples without any of the topics say so."""
    if not sticky:
        return any(topic in given and not history.ever(topic) for topic in wanted)
    return bool(given) and not any(history.ever(topic) for topic in wanted)


def _later(history: TopicHistory, wanted: Sequence[str], at_ms: int, given: Set[str]) -> Iterable[TopicRacks]:
    """What samples after the record show; nothing where none of them can be right."""
    if given and not any(map(history.ever, wanted)):
        return ()
    return topic_views.near(history, wanted, at_ms)


def _guesses(
    near: Iterable[TopicRacks], current: TopicRacks | None, counted: Iterator[TopicRacks]
) -> Iterator[tuple[TopicRacks, str]]:
    """Views that rest on a guess, with what the guess is. `near`: what samples after the record show, where there is
    none before it."""
    known: list[TopicRacks] | None = None
    for later in near:
        yield later, "partition counts as a later sample shows them"
        known = list(counted) if known is None else known
        for counts in known:
            yield {**counts, **later}, INFERRED
    for counts in counted if known is None else known:
        yield {**(current or {}), **counts}, INFERRED


def _by_a_guess(
    by: Callable[[TopicRacks, Iterator[TopicRacks]], Verdict],
    guesses: Iterator[tuple[TopicRacks, str]],
    unsure: frozenset[str],
) -> Verdict | None:
    """The verdict by the first guess that fits; None if none does."""
    for view, guess in guesses:
        found = by(view, iter(()))
        match found.grade:
            case Grade.MATCH | Grade.EXPLAINABLE:
                more = "" if found.reason is None else f"; {found.reason.text}"
                text = f"{guess}: {listed(sorted(unsure))}{more}"
                return replace(found, grade=Grade.EXPLAINABLE, reason=Reason(ReasonKind.COUNTS_INFERRED, text))
            case Grade.NOT_JUDGED:
                return found
            case Grade.UNEXPLAINED:
                continue
            case _:
                assert_never(found.grade)
    return None


def _judged(
    assignor: Assignor[ConsumerEra],
    members: Sequence[ConsumerMember],
    observed: Mapping[str, tuple[TopicPartition, ...]],
    current: TopicRacks,
    others: Iterator[TopicRacks],
    version: int | None,
    leads: Callable[[], ClientLibrary | None],
) -> Verdict:
    """`leads`: the library of the leader's client, if known. `version`: in front of the assignments. Version 0 is also
    what libraries of other languages write, so it tells of no release."""
    by = list(leaders_release.writers_of(assignor.eras, version)) if version else []
    by = by or [Writers(assignor.eras[-1], hashed=False)]
    as_known: list[Verdict] = []
    sets = {member: sorted(share) for member, share in observed.items()}

    def gives(view: TopicRacks) -> bool:
        """The same partitions for each member; hundreds of views are asked, and nearly all of them differ."""
        answer = assignor.recompute(members, view, era=by[0].era).shares
        return all(sorted(answer.get(member, ())) == share for member, share in sets.items())

    def compared(known: Sequence[ConsumerMember], view: TopicRacks, writers: Writers[ConsumerEra]) -> Verdict:
        return _compared(assignor, observed, known, view, writers)

    def candidates() -> Iterator[Candidate[Verdict]]:
        """What the leader may have known or done, the likeliest first."""
        for one in by:
            as_known.append(compared(members, current, one))
            yield Candidate(as_known[-1:], those(lambda one: one.grade is Grade.MATCH))
        yield Candidate(as_known, those(_alike), sticky_verdict.OTHER_ORDER)
        for view in filter(gives, others):
            yield Candidate([compared(members, view, by[0])], those(_alike), sticky_verdict.OTHER_TOPICS)
        for client, ordered in foreign_orders(members, assignor.name):
            reason = Reason(ReasonKind.FOREIGN_CLIENT, f"a foreign client's order of static members: {client}")
            yield Candidate([compared(ordered, current, by[0])], those(_alike), reason)
        for client, shares in foreign_deals(members, assignor.name, current, observed) if version == 0 else ():
            reason = Reason(ReasonKind.FOREIGN_CLIENT, f"as {client} answers")
            yield Candidate([_graded(assignor.name, observed, shares)], those(_alike), reason)
        # Leaders that write the newest version know static members and nothing that later ones lack.
        for era in () if version == leaders_release.NEWEST_VERSION else reversed(assignor.eras):
            reason = Reason(ReasonKind.OTHER_RELEASE, f"as leaders of Kafka {era.name} answer")
            yield Candidate([compared(members, current, Writers(era, hashed=False))], those(_alike), reason)

    found = explanation(candidates())
    if found is None:
        by_leaders = assignor.name == "range" and leads() is ClientLibrary.FRANZ_GO
        if by_leaders and may_be_franz_gos(members, current, observed):
            return Verdict(grade=Grade.EXPLAINABLE, assignor=assignor.name, reason=BY_LEADERS)
        return as_known[0]
    return replace(found.runs[0], grade=found.grade, reason=found.reason)


def _alike(verdict: Verdict) -> bool:
    """The same partitions for each member, in whatever order."""
    return verdict.grade is not Grade.UNEXPLAINED


def _compared(
    assignor: Assignor[ConsumerEra],
    observed: Mapping[str, tuple[TopicPartition, ...]],
    members: Sequence[ConsumerMember],
    topics: TopicRacks,
    writers: Writers[ConsumerEra],
) -> Verdict:
    answer = answered_before.recompute(assignor, members, topics, writers.era).shares
    return _graded(assignor.name, observed, {member: writers.written(answer.get(member, ())) for member in observed})


def _graded(
    name: str, observed: Mapping[str, tuple[TopicPartition, ...]], result: Mapping[str, tuple[TopicPartition, ...]]
) -> Verdict:
    expected = {member: ExpectedShare(assigned=ConsumerShare(share)) for member, share in result.items()}
    if result == observed:
        return Verdict(grade=Grade.MATCH, assignor=name, expected=expected)
    other = next((one for one, share in observed.items() if sorted(result[one]) != sorted(share)), None)
    if other is None:
        return Verdict(grade=Grade.EXPLAINABLE, assignor=name, reason=sticky_verdict.OTHER_ORDER, expected=expected)
    reason = Reason(ReasonKind.OTHER_ANSWER, f"{other} was {sticky_verdict.OTHER_SETS}")
    return Verdict(grade=Grade.UNEXPLAINED, assignor=name, reason=reason, expected=expected)
