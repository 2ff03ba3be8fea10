"""The time of a group that is polled goes on as far as answers show it: no answer is no proof that all is as it was."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from rebalance_monitor.streaming.core.cluster.shown_groups import ShownGroups
from rebalance_monitor.streaming.core.connect.rules.catalogue_across import ALL_WORKERS_GONE
from rebalance_monitor.streaming.core.model.records import GroupDeleted, GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from tests.profile import size
from tests.streaming.core.polled import Asked, rows_of
from tests.streaming.core.rules.cases_record import job_in_two_hands
from tests.streaming.core.rules.cases_status import all_running
from tests.streaming.core.rules.consumers import group, shares
from tests.streaming.states import envelope_of

NOW_MS = 1_800_000_000_000
PLAIN = ClusterSettings(name="c")
HOUR_MS = 3_600_000
UNOWNED = shares(m1="a-0", m2="a-2")
OTHERWISE = shares(m1="a-2", m2="a-0")
BROKEN, HEALTHY = shares(m1="a-0 a-1", m2="a-1 a-2"), shares(m1="a-0 a-1", m2="a-2")


def bodies(*story: object) -> list[GroupGeneration]:
    return [row.body for row in group("roundrobin", *story).rows if isinstance(row.body, GroupGeneration)]  # type: ignore[arg-type]


def said(results: list[Result], rule: str) -> list[str]:
    return [one.transition for one in results if isinstance(one, Incident) and one.rule == rule]


def test_nothing_lasts_longer_than_the_last_answer_shows() -> None:
    (body,) = bodies(UNOWNED)
    polled = Asked(PLAIN, "g")
    polled.told(body, NOW_MS)
    assert polled.fold([], NOW_MS + HOUR_MS, shown_ms=NOW_MS + 340_000) == []
    found = polled.fold([], NOW_MS + HOUR_MS, shown_ms=NOW_MS + 346_000)
    assert said(found, "partition_without_owner")[:1] == ["opened"]


def test_what_is_due_and_not_shown_is_looked_at_again_and_not_in_a_loop() -> None:
    (body,) = bodies(UNOWNED)
    polled = Asked(PLAIN, "g")
    polled.told(body, NOW_MS)
    polled.fold([], NOW_MS + HOUR_MS, shown_ms=NOW_MS)
    assert polled.due_ms is not None
    assert NOW_MS + HOUR_MS + 1_000 < polled.due_ms <= NOW_MS + HOUR_MS + 10_000


def test_people_are_notified_of_what_an_answer_shows_to_last() -> None:
    (body,) = bodies(BROKEN)
    polled = Asked(PLAIN, "g")
    assert said(polled.told(body, NOW_MS), "partition_with_two_owners")[0] == "opened"
    assert said(polled.fold([], NOW_MS + HOUR_MS, shown_ms=NOW_MS), "partition_with_two_owners") == []


def test_what_has_ended_when_the_group_is_seen_again_was_not_shown_to_last_until_then() -> None:
    """The incident waits for as long as its rule says before people are notified."""
    unowned, healthy = bodies(UNOWNED, HEALTHY)
    polled = Asked(PLAIN, "g")
    polled.told(unowned, NOW_MS)
    later = polled.told(healthy, NOW_MS + HOUR_MS, after_ms=NOW_MS + 10_000)
    assert said(later, "partition_without_owner") == []
    broken, healthy = bodies(BROKEN, HEALTHY)
    two = Asked(PLAIN, "g")
    opened = two.told(broken, NOW_MS)
    later = two.told(healthy, NOW_MS + HOUR_MS, after_ms=NOW_MS + 1_000)
    assert "fired" not in said([*opened, *later], "partition_with_two_owners")


def test_a_partition_may_have_had_an_owner_between_two_assignments() -> None:
    """Each of the two shows it without, and a generation between them may have given it to somebody."""
    first, second = bodies(UNOWNED, OTHERWISE)
    polled = Asked(PLAIN, "g")
    polled.told(first, NOW_MS)
    polled.told(second, NOW_MS + 200_000, after_ms=NOW_MS + 190_000)
    assert said(polled.fold([], NOW_MS + 500_000), "partition_without_owner") == []
    assert said(polled.fold([], NOW_MS + 546_000), "partition_without_owner")[:1] == ["opened"]


def test_what_was_found_goes_on_with_the_next_assignment_that_shows_it() -> None:
    first, second = bodies(UNOWNED, OTHERWISE)
    polled = Asked(PLAIN, "g")
    polled.told(first, NOW_MS)
    polled.fold([], NOW_MS + 346_000)
    polled.told(second, NOW_MS + 400_000, after_ms=NOW_MS + 390_000)
    assert "resolved" not in said(polled.results, "partition_without_owner")


def test_a_group_that_is_gone_is_known_to_be_so_by_complete_answers() -> None:
    """No answer shows it: that it is left out is what is shown."""
    story = all_running()
    body = [row.body for row in story.rows if isinstance(row.body, GroupGeneration)][-1]
    polled = Asked(story.settings, "g")
    polled.fold([row for row in story.rows if not isinstance(row.body, GroupGeneration)], story.now_ms)
    polled.told(body, story.now_ms + 1_000)
    polled.gone(story.now_ms + 60_000)
    assert said(polled.fold([], story.now_ms + HOUR_MS, shown_ms=story.now_ms + 61_000), ALL_WORKERS_GONE.title) == []
    assert "opened" in said(polled.fold([], story.now_ms + HOUR_MS), ALL_WORKERS_GONE.title)


def test_a_group_that_came_back_and_is_not_settled_is_not_gone() -> None:
    shown = ShownGroups({"here": 10, "joins": 0}, complete_ms=20)
    assert [shown.until_ms(one, gone=True) for one in ("here", "joins", "away")] == [0, 0, 20]
    assert [shown.until_ms(one, gone=False) for one in ("here", "joins", "away")] == [10, 0, 0]


# -- a group of another kind, and a source of another kind -----------------------------------------------------------


def test_a_group_of_another_kind_is_another_life_and_what_was_open_is_over() -> None:
    """Between the two it had no members: a broker takes members of one kind only."""
    story = job_in_two_hands()
    connect = [row.body for row in story.rows if isinstance(row.body, GroupGeneration)][-1]
    broken, unowned = bodies(BROKEN, UNOWNED)
    polled = Asked(PLAIN, "g")
    opened = [each for each in polled.told(broken, NOW_MS) if isinstance(each, Incident)]
    assert opened
    polled.told(connect, NOW_MS + 10_000, after_ms=NOW_MS + 9_900)
    then = polled.fold([], NOW_MS + 10_000 + PLAIN.judge_wait_ms)
    last = {each.incident_id: each for each in polled.results if isinstance(each, Incident)}
    assert all(last[each.incident_id].resolved_at_ms is not None for each in opened)
    (generation,) = [each for each in then if isinstance(each, Generation)]
    assert (generation.protocol_type, generation.incarnation) == ("connect", 1)
    assert said(polled.fold([], NOW_MS + HOUR_MS), "partition_without_owner") == []
    back = polled.told(unowned, NOW_MS + HOUR_MS + 10_000)
    assert {each.incarnation for each in back if isinstance(each, Generation)} == {2}


def test_timers_of_the_kind_before_are_over() -> None:
    story = job_in_two_hands()
    connect = [row.body for row in story.rows if isinstance(row.body, GroupGeneration)][-1]
    (unowned,) = bodies(UNOWNED)
    polled = Asked(PLAIN, "g")
    polled.told(unowned, NOW_MS)
    polled.told(connect, NOW_MS + 10_000, after_ms=NOW_MS + 9_900)
    assert said(polled.fold([], NOW_MS + HOUR_MS), "partition_without_owner") == []


def test_a_group_that_is_read_again_begins_a_new_life() -> None:
    """Numbers of assignments that were seen are no generations: the two are never compared."""
    story = group("roundrobin", HEALTHY, BROKEN, HEALTHY, HEALTHY)
    (polled,) = bodies(HEALTHY)
    for number in range(1, 5):
        asking = Asked(PLAIN, "g")
        asking.told(polled, story.now_ms - HOUR_MS)
        read = [row for row in story.rows if isinstance(row.body, GroupGeneration) and row.body.generation >= number]
        told = [each for each in asking.fold(read, story.now_ms) if isinstance(each, Generation)]
        assert {each.incarnation for each in told} == {1}
        assert {each.verdict.grade for each in told} <= {Grade.MATCH, Grade.EXPLAINABLE, Grade.NOT_JUDGED}
        assert envelope_of(asking.state).generation == 4


def test_time_goes_on_for_a_group_that_is_read_again_although_no_answer_comes() -> None:
    story = group("roundrobin", UNOWNED)
    polled = Asked(PLAIN, "g")
    polled.told(bodies(HEALTHY)[0], story.now_ms - HOUR_MS)
    polled.fold(story.rows, story.now_ms)
    found = polled.fold([], story.now_ms + HOUR_MS, shown_ms=0)
    assert said(found, "partition_without_owner")[:1] == ["opened"]


def test_the_time_of_a_group_that_is_read_is_nobodys_answer() -> None:
    story = group("roundrobin", UNOWNED)
    polled = Asked(replace(PLAIN, name="log"), "g")
    polled.fold(story.rows, story.now_ms)
    assert envelope_of(polled.state).polled is None
    assert said(polled.fold([], story.now_ms + HOUR_MS, shown_ms=0), "partition_without_owner")[:1] == ["opened"]


@cache
def changed(name: str, cut: int, *, again: bool) -> Counter[str]:
    """Rules that are broken by the groups of a capture that are polled up to this generation (0: never), and read from
    then on; `again`: what was polled stands in the log as well, and is read first."""
    known, knowledge, by_group = rows_of(name)
    found = Counter[str]()
    for of, own in by_group.items():
        polled, now_ms, number, missed = Asked(known, of, knowledge), 0, 0, list[Row]()
        for row in sorted(own if of else (), key=lambda row: row.timestamp_ms):
            now_ms = max(now_ms, row.timestamp_ms)
            number += isinstance(row.body, GroupGeneration)
            if number > cut or not isinstance(row.body, GroupGeneration | GroupDeleted):
                polled.fold([*(missed if again and number > cut else ()), row], now_ms)
                missed = [] if number > cut else missed
                continue
            missed.append(row)
            if isinstance(row.body, GroupGeneration):
                polled.told(row.body, now_ms + 1_000)
            else:
                polled.gone(now_ms + 1_000)
        found.update(each.rule for each in polled.results if isinstance(each, Incident) and each.transition == "opened")
    return found


@pytest.mark.parametrize("name", ["captures/steady", "captures/sessioned-4.3.1", "captures-groups/java-classic"])
@pytest.mark.parametrize("again", [False, True])
def test_a_cluster_that_goes_back_to_the_log_brings_up_nothing_that_the_log_alone_does_not(
    name: str, again: bool
) -> None:
    of_the_log = set(changed(name, 0, again=False))
    for cut in size((5,), (2, 5)):
        assert set(changed(name, cut, again=again)) <= of_the_log
