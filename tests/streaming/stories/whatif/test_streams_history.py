"""Histories of real Streams applications with other standbys, warm-ups and acceptable lag."""

from functools import cache
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.whatif import streams_history
from rebalance_monitor.streaming.stories.whatif.change import CannotPredict, WrongChange
from rebalance_monitor.streaming.stories.whatif.history import HistoryAnswer
from rebalance_monitor.streaming.stories.whatif.streams_history import (
    NOT_NEXT,
    NOT_PLACED_BY_LAG,
    NOT_SAMPLED,
    StreamsSetting,
    own_setting,
    under_streams_setting,
)
from tests.vector_files import VECTORS

FIGURES = ("rebalances", "moved", "restored", "copied", "bare_ms")
BY_LAG = {
    "streams-churn": "s12-2-topology", "streams-classic-4.3.1": "app-4.3.1", "streams-probing": "slowly",
    "streams-source-changelog-hf20223": "orders-app", "streams-source-changelog-hf20259": "my_app",
}  # fmt: skip
NEVER = ("streams-probing", "never")


@cache
def life(capture: str, group: str) -> tuple[list[Published], int]:
    """The newest first, and when the capture ends."""
    source = capture_of(str(VECTORS / "captures-groups" / capture))
    return list(source.generations((capture, group))), source.at_ms


def answered(capture: str, group: str, setting: StreamsSetting) -> HistoryAnswer:
    generations, until_ms = life(capture, group)
    return under_streams_setting(generations, setting, until_ms)


@pytest.mark.parametrize(("capture", "group"), BY_LAG.items())
def test_its_own_settings_give_the_records_again(capture: str, group: str) -> None:
    """Whatever the course: a copy of the records reports what it did."""
    generations, _ = life(capture, group)
    own = own_setting(generations)
    answer = answered(capture, group, StreamsSetting(own.standbys, own.warm_ups))
    assert answer.courses == (answer.recorded,)
    assert answer.recorded.rebalances + sum(answer.left_out.values()) == len(generations) - 1


@pytest.mark.parametrize(("capture", "group"), BY_LAG.items())
def test_standbys_are_copies_that_a_task_which_goes_finds(capture: str, group: str) -> None:
    none, one, two = (answered(capture, group, StreamsSetting(standbys)) for standbys in range(3))
    for fewer, more in ((none, one), (one, two)):
        assert more.range_of("restored")[0] <= fewer.range_of("restored")[0]
        assert more.range_of("bare_ms")[1] <= fewer.range_of("bare_ms")[1]
    assert one.range_of("bare_ms")[1] < none.range_of("bare_ms")[0]


def test_without_standbys_more_tasks_begin_with_nothing() -> None:
    answer = answered("streams-classic-4.3.1", "app-4.3.1", StreamsSetting(0))
    assert answer.range_of("restored")[0] > answer.recorded.restored > 0
    assert answer.range_of("copied")[1] < answer.recorded.copied, "only warm-ups are left"


def test_a_copy_of_no_record_has_caught_up_or_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two courses of it, what it saves is a range; each by itself is a figure."""
    both = answered("streams-classic-4.3.1", "app-4.3.1", StreamsSetting(2)).range_of("restored")
    assert both[0] < both[1]
    for at_once, restored in ((True, both[0]), (False, both[1])):
        courses = [streams_history.CopyCourse(at_once, "verdict")]
        monkeypatch.setattr(streams_history, "COURSES", courses)
        alone = answered("streams-classic-4.3.1", "app-4.3.1", StreamsSetting(2))
        assert alone.range_of("restored") == (restored, restored)


def test_under_a_larger_acceptable_lag_tasks_go_at_once() -> None:
    """In this capture a warm-up never catches up, and brokers said where its changelog ends: two tasks that wait for
    that would have gone to the second process as it came."""
    answer = answered(*NEVER, StreamsSetting(acceptable_lag=10_000))
    assert (answer.recorded.moved, answer.recorded.copied) == (0, 1)
    assert [(one.moved, one.restored, one.copied) for one in answer.courses] == [(2, 2, 0)]
    assert answered(*NEVER, StreamsSetting(acceptable_lag=100)).courses == (answer.recorded,)


def test_more_warm_ups_are_copies_at_once() -> None:
    answer = answered(*NEVER, StreamsSetting(warm_ups=8))
    assert answer.range_of("copied") == (2, 2)
    assert answer.range_of("bare_ms")[0] < answer.recorded.bare_ms


def test_another_acceptable_lag_needs_sampled_end_offsets() -> None:
    with pytest.raises(CannotPredict, match=f"37 times: {NOT_SAMPLED}"):
        answered("streams-classic-4.3.1", "app-4.3.1", StreamsSetting(acceptable_lag=0))


def test_what_was_not_placed_by_lags_is_left_out() -> None:
    with pytest.raises(CannotPredict, match=f"21 times: {NOT_PLACED_BY_LAG}"):
        answered("streams-churn", "s13-4-sticky", StreamsSetting(1))


def test_after_a_hole_computing_begins_anew() -> None:
    generations, until_ms = life(*NEVER)
    holed: list[Any] = [one for one in generations if one["generation"] not in (10, 11)]
    answer = under_streams_setting(holed, StreamsSetting(0), until_ms)
    assert answer.left_out == {NOT_NEXT: 1}
    assert answer.recorded.rebalances == len(holed) - 2
    assert answer.courses == (answer.recorded,)


def test_a_generation_whose_reports_give_another_placement_is_left_out() -> None:
    generations, until_ms = life(*NEVER)
    tenth = next(one for one in generations if one["generation"] == 10)
    streams = tenth["streams"]
    other = {**streams, "placed_by": {**streams["placed_by"], "standbys": 1}}
    changed = [{**one, "streams": other} if one is tenth else one for one in generations]
    answer = under_streams_setting(changed, StreamsSetting(0), until_ms)
    assert answer.left_out == {streams_history.NO_FIT: 1, NOT_NEXT: 1}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (StreamsSetting(101), "101 is no number of standbys that is computed; take one from 0 to 100"),
        (StreamsSetting(warm_ups=-1), "-1 is no number of warm-ups"),
        (StreamsSetting(warm_ups=0), "Kafka takes no max.warmup.replicas below 1"),
        (StreamsSetting(acceptable_lag=-1), "no acceptable.recovery.lag below 0"),
    ],
)
def test_no_such_setting(setting: StreamsSetting, said: str) -> None:
    with pytest.raises(WrongChange, match=said):
        answered(*NEVER, setting)


@pytest.mark.parametrize("generations", [[], [{"lifecycle": "streams", "streams": {}}], [{"lifecycle": "classic"}]])
def test_only_classic_streams_groups_are_computed(generations: list[Any]) -> None:
    with pytest.raises(CannotPredict, match="only Kafka Streams with the classic protocol"):
        under_streams_setting(generations, StreamsSetting(1))
