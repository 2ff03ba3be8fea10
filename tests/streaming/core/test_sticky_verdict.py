"""Generations of sticky groups, real ones and such that were changed by hand: what each is graded, and why."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.schemas.sticky_user_data import StickyUserData, encode_sticky_user_data
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory, TopicMetadata, history_of
from rebalance_monitor.streaming.core.consumer.client_library import library_of
from rebalance_monitor.streaming.core.consumer.verdict import judge
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Row
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import ClientLibrary, ClusterSettings
from rebalance_monitor.streaming.core.replay import decode, replay
from tests.vector_files import GROUP_CAPTURES

STICKY = ("sticky", "cooperative-sticky")
NO_RACKS = (frozenset[str](),)


@cache
def verdicts(name: str) -> list[tuple[str, str, str]]:
    """Assignor, grade and reason of every sticky generation of a capture."""
    path = GROUP_CAPTURES / name
    told = replay(records_of(path), settings_of(path), knowledge=knowledge_of(path))
    shown = [one["verdict"] for one in told.objects if one["kind"] == "generation"]
    return [(one["assignor"], one["grade"], one["reason"] or "") for one in shown if one["assignor"] in STICKY]


@cache
def generations(name: str) -> tuple[TopicHistory, list[tuple[Row, GroupGeneration]]]:
    """Sticky generations with members that hold something."""
    path = GROUP_CAPTURES / name
    settings = settings_of(path)
    rows = [row for record in records_of(path) if (row := decode(record, settings)) is not None]
    found = [(row, row.body) for row in rows if isinstance(row.body, GroupGeneration)]
    return knowledge_of(path).topics, [
        (row, body) for row, body in found if body.protocol in STICKY and len(body.members) > 1
    ]


def test_generations_of_java_leaders_are_recomputed() -> None:
    judged = [one for one in verdicts("java-classic") if "written again" not in one[2]]
    grades = Counter(grade for _, grade, _ in judged)
    assert {assignor for assignor, _, _ in judged} == set(STICKY)
    assert set(grades) == {Grade.MATCH, Grade.EXPLAINABLE}
    assert grades[Grade.MATCH] / len(judged) >= 0.98


def test_generations_of_foreign_leaders_are_no_alarm() -> None:
    grades = Counter(grade for _, grade, _ in verdicts("python-clients"))
    assert set(grades) == {Grade.MATCH, Grade.EXPLAINABLE}
    reasons = {reason.split(" chooses")[0] for _, _, reason in verdicts("python-clients") if " chooses" in reason}
    assert reasons == {"foreign client: librdkafka", "foreign client: kafka-python"}


def test_generations_of_leaders_that_name_themselves_otherwise_are_no_alarm() -> None:
    """Half of the clients of this capture have ids that their applications chose: some leaders cannot be told."""
    grades = Counter(grade for _, grade, _ in verdicts("foreign-clients"))
    assert set(grades) == {Grade.MATCH, Grade.EXPLAINABLE, Grade.NOT_JUDGED}
    assert grades[Grade.NOT_JUDGED] / grades.total() < 0.05
    unknown = {reason for _, grade, reason in verdicts("foreign-clients") if grade == Grade.NOT_JUDGED}
    assert all("client_libraries in the configuration tells" in reason for reason in unknown)


def test_configured_libraries_leave_no_leader_of_a_capture_unknown() -> None:
    path = GROUP_CAPTURES / "foreign-clients"
    known = replace(settings_of(path), client_libraries={"app-*": ClientLibrary.OTHER})
    told = [
        one
        for one in replay(records_of(path), known, knowledge=knowledge_of(path)).objects
        if one["kind"] == "generation"
    ]
    assert Counter(one["verdict"]["grade"] for one in told).keys() == {Grade.MATCH, Grade.EXPLAINABLE}


def exchanged(members: tuple[MemberRow, ...]) -> Iterator[tuple[MemberRow, ...]]:
    """Two members exchange their last partitions: all laws of a balanced group still hold."""
    for at in range(len(members) - 1):
        first, other = members[at].assignment, members[at + 1].assignment
        if isinstance(first, ConsumerAssignment) and isinstance(other, ConsumerAssignment):
            if not first.partitions or not other.partitions:
                continue
            changed = list(members)
            changed[at] = given(members[at], *first.partitions[:-1], other.partitions[-1])
            changed[at + 1] = given(members[at + 1], *other.partitions[:-1], first.partitions[-1])
            yield tuple(changed)


def given(member: MemberRow, *partitions: tuple[str, int]) -> MemberRow:
    assert isinstance(member.assignment, ConsumerAssignment)
    return replace(member, assignment=replace(member.assignment, partitions=partitions))


def judged(history: TopicHistory, row: Row, body: GroupGeneration) -> Verdict:
    return judge(ClusterSettings(name="c"), history, body, row.timestamp_ms, first=False)


def test_exchanged_partitions_of_java_groups_never_match() -> None:
    history, found = generations("java-classic")
    grades: Counter[tuple[str, Grade]] = Counter()
    for row, body in found[::3]:
        for members in exchanged(body.members):
            grades[body.protocol or "", judged(history, row, replace(body, members=members)).grade] += 1
    cooperative = {grade: count for (assignor, grade), count in grades.items() if assignor == "cooperative-sticky"}
    assert sum(cooperative.values()) > 50
    assert cooperative[Grade.UNEXPLAINED] / sum(cooperative.values()) >= 0.95
    assert {grade for assignor, grade in grades if assignor == "sticky"} <= {Grade.UNEXPLAINED, Grade.NOT_JUDGED}


@pytest.mark.parametrize("name", ["java-classic", "python-clients", "foreign-clients"])
def test_a_broken_law_is_unexplained_whoever_leads(name: str) -> None:
    history, found = generations(name)
    seen = 0
    for row, body in found[:: 5 if name == "java-classic" else 1]:
        holders = [one for one in body.members if isinstance(one.assignment, ConsumerAssignment)]
        giver = max(holders, key=lambda one: len(getattr(one.assignment, "partitions", ())))
        taker = next(one for one in holders if one is not giver)
        assert isinstance(giver.assignment, ConsumerAssignment)
        assert isinstance(taker.assignment, ConsumerAssignment)
        if not giver.assignment.partitions:
            continue
        doubled = given(taker, *taker.assignment.partitions, giver.assignment.partitions[0])
        members = tuple(doubled if one is taker else one for one in body.members)
        verdict = judged(history, row, replace(body, members=members))
        assert verdict.grade is Grade.UNEXPLAINED
        assert "was given" in verdict.why
        seen += 1
    assert seen > 4


def row_of(name: str, client: str, subscription: ConsumerSubscription, *partitions: tuple[str, int]) -> MemberRow:
    return MemberRow(
        member_id=name,
        instance_id=None,
        client_id=client,
        client_host="/127.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=45_000,
        subscription=subscription,
        assignment=ConsumerAssignment(version=3, partitions=partitions),
        subscription_bytes=b"",
        assignment_bytes=b"",
    )


def says(
    *,
    version: int = 3,
    user_data: bytes | None = None,
    rack: str | None = None,
    owned: tuple[tuple[str, int], ...] = (),
) -> ConsumerSubscription:
    return ConsumerSubscription(
        version=version, topics=("t",), user_data=user_data, owned=owned, generation=4 if owned else -1, rack=rack
    )


GENERATION = encode_sticky_user_data(StickyUserData((), 4), cooperative=True)
WHOLE = encode_sticky_user_data(StickyUserData((), 4))


@pytest.mark.parametrize(
    ("client", "subscription", "name"),
    [
        ("rdkafka", says(), "librdkafka"),
        ("billing", says(rack=""), "librdkafka"),
        ("kgo", says(), "franz-go"),
        ("billing", says(user_data=WHOLE), "franz-go"),
        ("kafka-python-3.0.12", says(version=1), "kafka-python"),
        ("billing", says(version=0), "kafka-python"),
        ("sarama", says(version=1), "sarama"),
        ("billing", says(user_data=GENERATION), "java"),
        ("billing", says(), None),
    ],
)
def test_what_shows_a_foreign_client(client: str, subscription: ConsumerSubscription, name: str | None) -> None:
    assert library_of(row_of("m1", client, subscription), "cooperative-sticky", {}) == name


def shows_java(client: str, subscription: ConsumerSubscription, assignor: str) -> bool:
    return library_of(row_of("m1", client, subscription), assignor, {}) is ClientLibrary.JAVA


def test_what_shows_javas_client() -> None:
    assert shows_java("billing", says(user_data=GENERATION), "cooperative-sticky")
    assert not shows_java("billing", says(), "cooperative-sticky")
    assert not shows_java("rdkafka", says(user_data=GENERATION), "cooperative-sticky")
    assert shows_java("billing", says(), "sticky")
    unsorted = encode_sticky_user_data(StickyUserData((("b", 0), ("a", 0)), 4))
    assert shows_java("billing", says(user_data=unsorted), "sticky")
    assert not shows_java("billing", says(user_data=WHOLE), "sticky")
    assert not shows_java("billing", says(version=1), "sticky")
    assert not shows_java("kgo", says(), "sticky")


def test_what_the_configuration_says_counts_before_what_a_record_shows() -> None:
    configured = {"billing-*": ClientLibrary.FRANZ_GO, "*": ClientLibrary.OTHER}
    told = [library_of(row_of("m1", name, says(rack="")), "sticky", configured) for name in ("billing-7", "rdkafka")]
    assert told == [ClientLibrary.FRANZ_GO, ClientLibrary.OTHER]


def small(*members: MemberRow, protocol: str, partitions: int) -> Verdict:
    body = GroupGeneration(
        protocol_type="consumer", generation=5, protocol=protocol, leader="m1", state_ms=1_000, members=members
    )
    metadata = (TopicMetadata(at_ms=0, topics={"t": NO_RACKS * partitions}),)
    return judge(ClusterSettings(name="c"), history_of(metadata), body, 1_000, first=False)


def test_a_cooperative_leader_may_hold_back_what_changes_hands() -> None:
    old = says(user_data=GENERATION, owned=(("t", 0), ("t", 1), ("t", 2)))
    verdict = small(
        row_of("m1", "a", old, ("t", 0), ("t", 1)), row_of("m2", "b", says(user_data=GENERATION)),
        protocol="cooperative-sticky", partitions=3,
    )  # fmt: skip
    assert verdict.grade is Grade.MATCH


def test_a_cooperative_leader_may_not_give_what_another_owns() -> None:
    old = says(user_data=GENERATION, owned=(("t", 0), ("t", 1), ("t", 2)), rack="")
    verdict = small(
        row_of("m1", "rdkafka", old, ("t", 0), ("t", 1)), row_of("m2", "rdkafka", says(rack=""), ("t", 2)),
        protocol="cooperative-sticky", partitions=3,
    )  # fmt: skip
    assert verdict.grade is Grade.UNEXPLAINED
    assert "C-03: m2 was given t-2, which m1 still owns" in verdict.why


def test_a_leader_may_give_what_another_owned_in_an_older_generation() -> None:
    """Such a member was out of the group meanwhile: releases differ in whether its report counts."""
    verdict = small(
        row_of("m1", "rdkafka", says(owned=(("t", 0),), rack=""), ("t", 0), ("t", 2)),
        row_of("m2", "rdkafka", replace(says(owned=(("t", 1), ("t", 2)), rack=""), generation=3), ("t", 3), ("t", 5)),
        row_of("m3", "rdkafka", says(rack=""), ("t", 1), ("t", 4)),
        protocol="cooperative-sticky", partitions=6,
    )  # fmt: skip
    assert (verdict.grade, "foreign client" in verdict.why) == (Grade.EXPLAINABLE, True), verdict.why


def test_a_leader_may_give_partitions_of_a_topic_that_their_owner_does_not_subscribe_to_any_more() -> None:
    left = replace(says(owned=(("t", 1), ("t", 2)), rack=""), topics=("u",))
    verdict = small(
        row_of("m1", "rdkafka", says(owned=(("t", 0),), rack=""), ("t", 0), ("t", 2)),
        row_of("m2", "rdkafka", left),
        row_of("m3", "rdkafka", says(rack=""), ("t", 1), ("t", 3)),
        protocol="cooperative-sticky", partitions=4,
    )  # fmt: skip
    assert verdict.grade is not Grade.UNEXPLAINED, verdict.why


def test_an_unknown_client_within_the_laws_is_not_judged() -> None:
    verdict = small(
        row_of("m1", "a", says(user_data=WHOLE), ("t", 1), ("t", 2)), row_of("m2", "b", says(), ("t", 0)),
        protocol="sticky", partitions=3,
    )  # fmt: skip
    assert verdict.grade is Grade.NOT_JUDGED
    assert "cannot be told" in verdict.why


def test_javas_client_within_the_laws_is_unexplained() -> None:
    verdict = small(
        row_of("m1", "a", says(), ("t", 1), ("t", 2)), row_of("m2", "b", says(), ("t", 0)),
        protocol="sticky", partitions=3,
    )  # fmt: skip
    assert verdict.grade is Grade.UNEXPLAINED


def test_uneven_shares_of_equal_subscriptions_break_a_law() -> None:
    verdict = small(
        row_of("m1", "kgo", says(), ("t", 0), ("t", 1), ("t", 2)), row_of("m2", "kgo", says()),
        protocol="sticky", partitions=3,
    )  # fmt: skip
    assert verdict.grade is Grade.UNEXPLAINED
    assert "C-04" in verdict.why


def test_a_partition_that_nobody_has_breaks_a_law() -> None:
    verdict = small(
        row_of("m1", "kgo", says(), ("t", 0)), row_of("m2", "kgo", says(), ("t", 1)), protocol="sticky", partitions=3
    )
    assert verdict.grade is Grade.UNEXPLAINED
    assert "C-01: t-2 was given to nobody" in verdict.why
