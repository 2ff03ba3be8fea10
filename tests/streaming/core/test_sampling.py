"""A group that is polled: the same eyes, less certainty. Nothing that was not seen is an alarm, and nothing matches."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.cluster.group_states import PREPARING, GroupStates, Rebalancing
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge, knowledge_of
from rebalance_monitor.streaming.core.cluster.shown_groups import ShownGroups
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.connect.rules.catalogue_static import STATIC_ON_WILDCARD
from rebalance_monitor.streaming.core.fold.sampling import MISSING, contents_of
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.records import POLLED, GroupGeneration, Row, Sampled
from rebalance_monitor.streaming.core.model.results import Certainty, Generation, Grade, Incident, Standing
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Owner
from rebalance_monitor.streaming.core.model.topic_names import why_illegal
from tests.profile import size
from tests.streaming.core.polled import Asked, asked, everything, rows_of, snapshot_of
from tests.streaming.core.rules.cases_record import job_in_two_hands
from tests.streaming.core.rules.cases_static import static_job_to_wildcard_worker
from tests.streaming.core.rules.consumers import Consumer, group, shares
from tests.streaming.states import envelope_of

CAPTURES = (
    "captures/steady", "captures/sessioned-4.3.1", "captures/compatible-2.8.2", "captures/eager-2.8.2",
    "captures-groups/java-classic", "captures-groups/python-clients", "captures-groups/foreign-clients",
    "captures-groups/streams-classic-4.3.1",
)  # fmt: skip
RULE = {rule.code: rule for rule in RULES}
NOW_MS = 1_800_000_000_000
PLAIN = ClusterSettings(name="c")


@cache
def capture(name: str) -> Any:
    return rows_of(name)


def results(name: str, seen: Any) -> list[Any]:
    known, knowledge, rows = capture(name)
    return [one for of, own in rows.items() if of for one in asked(known, knowledge, of, own, seen).results]


@cache
def whole(name: str) -> tuple[Any, ...]:
    """What is said where each generation was seen; asked once for all tests."""
    return tuple(results(name, everything))


def generations(some: Iterable[Any]) -> list[Generation]:
    return [one for one in some if isinstance(one, Generation)]


def incidents(some: Iterable[Any]) -> list[Incident]:
    return [one for one in some if isinstance(one, Incident)]


def bodies(*story: Any) -> list[GroupGeneration]:
    return [row.body for row in group(*story).rows if isinstance(row.body, GroupGeneration)]


# -- what is said of real clusters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CAPTURES)
def test_nothing_that_was_polled_matches_or_is_unexplained_and_all_of_it_is_marked(name: str) -> None:
    told = generations(whole(name))
    final = [one for one in told if one.verdict.pending_until_ms is None]
    assert final
    assert {one.verdict.grade for one in final} <= {Grade.EXPLAINABLE, Grade.NOT_JUDGED}
    assert all(one.sampled is not None and one.source.topic == POLLED for one in told)
    assert all(as_object(one)["sampled"] == {"after_ms": None, "at_ms": one.at_ms} for one in told)


@pytest.mark.parametrize("name", CAPTURES)
def test_an_explained_answer_says_that_rounds_may_be_missing(name: str) -> None:
    explained = [one.verdict for one in generations(whole(name)) if one.verdict.grade is Grade.EXPLAINABLE]
    assert explained
    assert all(MISSING in one.why for one in explained)


def test_most_groups_of_consumers_are_explained() -> None:
    grades = Counter(one.verdict.grade for one in generations(whole("captures-groups/java-classic")))
    assert grades[Grade.EXPLAINABLE] > 0.8 * grades.total()


@pytest.mark.parametrize("name", CAPTURES)
@given(masks=st.lists(st.booleans(), min_size=1, max_size=8))
@settings(max_examples=size(2, 60), deadline=None)
def test_whatever_was_not_seen_nothing_healthy_is_an_alarm(name: str, masks: list[bool]) -> None:
    """In the end the workers of a capture are stopped: that their group is empty then, or misses a static member, is
    true."""
    told = results(name, lambda number: masks[number % len(masks)])
    true = ("all_workers_gone", "static_member_missing")
    found = [one for one in incidents(told) if one.transition == "opened" and one.rule not in true]
    assert [(one.rule, one.message) for one in found] == []


def test_ids_of_static_members_are_read_from_their_member_ids() -> None:
    compared = 0
    for name in ("captures-groups/java-classic", "captures-groups/python-clients"):
        _, _, rows = capture(name)
        for row in (row for own in rows.values() for row in own if isinstance(row.body, GroupGeneration)):
            for member in row.body.members:
                (again,) = _described(row, member.member_id)
                if member.instance_id != member.client_id:
                    assert again == member.instance_id
                    compared += member.instance_id is not None
    assert compared > 20


def _described(row: Row, member_id: str) -> list[str | None]:
    assert isinstance(row.body, GroupGeneration)
    members = snapshot_of(row.group or "", row.body).members
    return [one.instance_id for one in members if one.member_id == member_id]


# -- violations ----------------------------------------------------------------------------------------------------

BROKEN = shares(m1="a-0 a-1", m2="a-1 a-2")
HEALTHY = shares(m1="a-0 a-1", m2="a-2")


def test_a_partition_with_two_owners_is_found_in_one_snapshot_and_is_likely() -> None:
    (body,) = bodies("roundrobin", BROKEN)
    polled = Asked(PLAIN, "g")
    found = incidents(polled.told(body, NOW_MS))
    opened = [each for each in found if each.transition == "opened" and each.rule == "partition_with_two_owners"]
    assert [(each.certainty, each.sampled) for each in opened] == [(Certainty.LIKELY, True)]
    assert opened[0].message.endswith(MISSING)
    assert as_object(opened[0])["sampled"] is True


def test_it_ends_with_the_snapshot_in_which_it_is_not_so() -> None:
    broken, healthy = bodies("roundrobin", BROKEN, HEALTHY)
    polled = Asked(PLAIN, "g")
    polled.told(broken, NOW_MS)
    polled.told(healthy, NOW_MS + 10_000)
    last = {each.incident_id: each for each in incidents(polled.results)}
    assert [each.resolved_at_ms is not None for each in last.values()] == [True] * len(last)


def test_a_task_in_two_hands_and_a_static_task_on_another_worker_are_found_in_connect_groups() -> None:
    """The config topic is read beside it, and who led stands in the bytes."""
    for make, rule in (
        (job_in_two_hands, "duplicate_active"),
        (static_job_to_wildcard_worker, STATIC_ON_WILDCARD.title),
    ):
        story = make()
        polled = asked(story.settings, NOTHING_KNOWN, "g", story.rows)
        opened = {each.rule: each for each in incidents(polled.results) if each.transition == "opened"}
        assert rule in opened
        assert not {name for name, each in opened.items() if RULE[each.code].needs_every_generation}
        assert {each.certainty for each in opened.values()} <= {Certainty.LIKELY, Certainty.POSSIBLE}
        assert {each.leader is not None for each in generations(polled.results)} == {True}


@pytest.mark.parametrize("name", ["captures/zombie"])
def test_only_rules_that_need_no_other_generation_open(name: str) -> None:
    told = whole(name)
    assert all(not RULE[one.code].needs_every_generation for one in incidents(told))
    assert all(one.certainty is not Certainty.CERTAIN for one in incidents(told))


def test_a_rule_about_two_generations_is_not_judged() -> None:
    """Between the two the members may have been others."""
    before = shares(held={"m1": "", "m2": ""}, m1="a-0 a-1", m2="a-2 a-3")
    moved = shares(held={"m1": "a-0 a-1", "m2": "a-2 a-3"}, m1="a-0 a-2", m2="a-1 a-3")
    first, second = bodies("sticky", before, moved)
    polled = Asked(PLAIN, "g")
    polled.told(first, NOW_MS)
    polled.told(second, NOW_MS + 10_000)
    assert "needless_moves" not in {each.rule for each in incidents(polled.results)}


def test_an_incident_of_a_group_that_was_read_ends_when_it_is_polled_if_its_rule_is_not_judged_any_more() -> None:
    before = shares(held={"m1": "", "m2": ""}, m1="a-0 a-1", m2="a-2 a-3")
    moved = shares(held={"m1": "a-0 a-1", "m2": "a-2 a-3"}, m1="a-0 a-2", m2="a-1 a-3")
    story = group("sticky", before, moved)
    polled = Asked(story.settings, "g")
    polled.fold(story.rows, story.now_ms)
    assert "needless_moves" in {each.rule for each in incidents(polled.results)}
    ended = incidents(polled.told(bodies("sticky", before)[0], story.now_ms + 10_000))
    assert [each.rule for each in ended if each.resolved_at_ms is not None] == ["needless_moves"]


def test_an_answer_that_nothing_explains_is_not_judged() -> None:
    (body,) = bodies("range", shares(m1="a-0 a-2", m2="a-1"))
    sampled = TopicMetadata(NOW_MS - 60_000, {"a": (frozenset(),) * 3})
    polled = Asked(PLAIN, "g", knowledge_of([sampled]))
    (told,) = generations(polled.told(body, NOW_MS))
    assert told.verdict.grade is Grade.NOT_JUDGED
    assert told.verdict.reason is not None
    assert told.verdict.reason.kind is ReasonKind.SAMPLED


# -- what is folded ------------------------------------------------------------------------------------------------


def test_the_same_assignment_is_folded_once_whatever_the_order_of_its_members() -> None:
    first, second = bodies("roundrobin", HEALTHY, tuple(reversed(HEALTHY)))
    polled = Asked(PLAIN, "g")
    assert len(generations(polled.told(first, NOW_MS))) == 1
    state = polled.state
    assert polled.told(second, NOW_MS + 10_000) == []
    assert polled.state == state


def test_assignments_are_counted_and_say_between_which_polls_they_came() -> None:
    first, second = bodies("roundrobin", HEALTHY, shares(m1="a-0", m2="a-1 a-2"))
    polled = Asked(PLAIN, "g")
    polled.told(first, NOW_MS)
    polled.told(second, NOW_MS + 20_000, after_ms=NOW_MS + 9_900)
    told = generations(polled.results)
    assert [each.generation for each in told] == [1, 2]
    assert [each.sampled for each in told] == [Sampled(None, NOW_MS), Sampled(NOW_MS + 9_900, NOW_MS + 20_000)]
    assert [each.state_ms for each in told] == [None, None]


def test_a_clock_that_went_back_hides_no_assignment() -> None:
    first, second = bodies("roundrobin", HEALTHY, shares(m1="a-0", m2="a-1 a-2"))
    polled = Asked(PLAIN, "g")
    polled.told(first, NOW_MS)
    assert len(generations(polled.told(second, NOW_MS - 3_600_000))) == 1


def test_a_group_that_is_gone_and_comes_back_is_folded_again() -> None:
    (body,) = bodies("roundrobin", HEALTHY)
    polled = Asked(PLAIN, "g")
    polled.told(body, NOW_MS)
    gone = [*polled.gone(NOW_MS + 10_000), *polled.fold([], NOW_MS + 12_000)]
    assert [each.state for each in gone if isinstance(each, Standing)] == ["Dead"]
    (again,) = generations(polled.told(body, NOW_MS + 20_000))
    assert again.incarnation == generations(polled.results)[0].incarnation + 1


def test_a_group_that_is_read_again_is_marked_no_more() -> None:
    story = group("roundrobin", HEALTHY)
    polled = Asked(story.settings, "g")
    polled.told(bodies("roundrobin", BROKEN)[0], story.now_ms - 60_000)
    told = polled.fold(story.rows, story.now_ms)
    assert [each.sampled for each in generations(told)] == [None]
    assert envelope_of(polled.state).polled is None


def test_no_topic_can_be_called_like_what_is_polled() -> None:
    assert why_illegal(POLLED)


@given(st.permutations(range(4)))
def test_contents_do_not_depend_on_the_order_of_members(order: list[int]) -> None:
    members = [Consumer(id=f"m{number}", given=f"a-{number}") for number in range(4)]
    (first,), (second,) = bodies("range", members), bodies("range", [members[at] for at in order])
    assert contents_of(first) != contents_of(bodies("range", members[:3])[0])
    assert contents_of(replace(first, leader=None, state_ms=-1)) == contents_of(
        replace(second, leader=None, state_ms=-1)
    )


# -- time ----------------------------------------------------------------------------------------------------------


def test_a_partition_without_owner_is_found_after_the_time_outs_that_are_assumed() -> None:
    (body,) = bodies("roundrobin", shares(m1="a-0", m2="a-2"))
    polled = Asked(PLAIN, "g")
    polled.told(body, NOW_MS)
    assert polled.fold([], NOW_MS + 340_000) == []
    found = [each.rule for each in incidents(polled.fold([], NOW_MS + 346_000)) if each.transition == "opened"]
    assert found == ["partition_without_owner"]


def stuck(since_ms: int, seen_ms: int) -> Knowledge:
    seen = Rebalancing(PREPARING, since_ms, since_ms, seen_ms)
    return Knowledge(groups=GroupStates({"g": seen}, seen_ms))


def test_a_rebalance_is_stuck_only_by_a_time_out_that_somebody_states() -> None:
    (body,) = bodies("roundrobin", HEALTHY)
    owner = Owner(groups="*", team="t", rebalance_timeout_ms=60_000)
    for known, rules in ((PLAIN, []), (ClusterSettings(name="c", owners=(owner,)), ["stuck_rebalance"])):
        polled = Asked(known, "g", stuck(NOW_MS + 10_000, NOW_MS + 4_000_000))
        polled.told(body, NOW_MS)
        found = incidents(polled.fold([], NOW_MS + 4_000_000))
        assert [each.rule for each in found if each.transition == "opened"] == rules


def test_a_stuck_rebalance_ends_with_the_assignment_that_was_there_before() -> None:
    (body,) = bodies("roundrobin", HEALTHY)
    owner = Owner(groups="*", team="t", rebalance_timeout_ms=60_000)
    polled = Asked(ClusterSettings(name="c", owners=(owner,)), "g", stuck(NOW_MS + 10_000, NOW_MS + 80_000))
    polled.told(body, NOW_MS)
    assert incidents(polled.fold([], NOW_MS + 80_000))
    ended = incidents(polled.told(body, NOW_MS + 90_000))
    assert [each.rule for each in ended if each.resolved_at_ms is not None] == ["stuck_rebalance"]


def seen_with_others(knowledge: Knowledge, at_ms: int) -> Knowledge:
    """An answer of this time described the group with other members than the one before."""
    return replace(knowledge, shown=ShownGroups(anew_ms={"g": at_ms}))


def test_a_group_that_is_seen_with_other_members_meanwhile_is_not_stuck() -> None:
    """Every question finds it rebalancing, while generation follows generation."""
    (body,) = bodies("roundrobin", HEALTHY)
    owner = Owner(groups="*", team="t", rebalance_timeout_ms=9_000)
    settings = ClusterSettings(name="c", owners=(owner,))
    for anew_ms, rules in ((NOW_MS + 5_000, ["stuck_rebalance"]), (NOW_MS + 15_000, [])):
        polled = Asked(settings, "g", seen_with_others(stuck(NOW_MS + 10_000, NOW_MS + 20_000), anew_ms))
        polled.told(body, NOW_MS)
        found = incidents(polled.fold([], NOW_MS + 20_000))
        assert [each.rule for each in found if each.transition == "opened"] == rules


def test_a_stuck_rebalance_is_over_when_the_group_is_seen_with_other_members() -> None:
    (body,) = bodies("roundrobin", HEALTHY)
    owner = Owner(groups="*", team="t", rebalance_timeout_ms=60_000)
    polled = Asked(ClusterSettings(name="c", owners=(owner,)), "g", stuck(NOW_MS + 10_000, NOW_MS + 80_000))
    polled.told(body, NOW_MS)
    assert incidents(polled.fold([], NOW_MS + 80_000))
    polled.learns(seen_with_others(stuck(NOW_MS + 10_000, NOW_MS + 90_000), NOW_MS + 89_000))
    ended = incidents(polled.fold([], NOW_MS + 90_000))
    assert [each.rule for each in ended if each.resolved_at_ms is not None] == ["stuck_rebalance"]
    assert ended[-1].message.endswith("with other members")
