"""Histories of real Connect clusters with more or fewer workers, and of consumers with more or fewer members."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.whatif import connect_history, history
from rebalance_monitor.streaming.stories.whatif.change import WrongChange
from rebalance_monitor.streaming.stories.whatif.connect_history import ConnectSetting, under_setting
from rebalance_monitor.streaming.stories.whatif.history import HistoryAnswer, under_number
from rebalance_monitor.streaming.stories.whatif.other_members import (
    TRIED_CHOICES,
    OtherMembers,
    choices_left_out,
    usual_number,
    with_number,
)

CAPTURES = Path(__file__).parents[3] / "vectors" / "captures"
CLASSIC = "captures-groups/java-classic"
CONSUMERS = ("range", "roundrobin", "sticky", "cooperative-sticky")
GROUPS = {
    "sessioned-4.3.1": "connect-main", "compatible-2.8.2": "compat-282", "zombie": "zombies", "eager-2.8.2": "eager-282"
}  # fmt: skip


@cache
def life(capture: str) -> tuple[list[Published], int]:
    """The newest first, and when the capture ends."""
    source = capture_of(str(CAPTURES / capture))
    return list(source.generations((capture, GROUPS[capture]))), source.at_ms


def answered(capture: str, workers: int) -> HistoryAnswer:
    generations, until_ms = life(capture)
    return under_setting(generations, ConnectSetting(workers=workers), until_ms)


@pytest.mark.parametrize("capture", GROUPS)
def test_with_the_workers_of_the_records_a_history_gives_the_records(
    capture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect_history, "with_number", lambda *_: [OtherMembers()])
    answer = answered(capture, 99)
    assert answer.courses == (answer.recorded,)


@pytest.mark.parametrize("capture", GROUPS)
def test_one_with_more_workers_has_fewer_tasks(capture: str) -> None:
    generations, until_ms = life(capture)
    usual = usual_number(generations[::-1], until_ms)
    most = [answered(capture, workers).range_of("most_held") for workers in (usual - 1, usual + 1, 100)]
    assert [least for least, _ in most] == sorted((least for least, _ in most), reverse=True)
    assert most[0][0] > most[1][1] >= most[2][1] == 1, "more workers than tasks"


def test_a_worker_more_waits_for_less_of_what_is_lost() -> None:
    """Each of the two losses leaves fewer connectors and tasks without a worker."""
    answer = answered("sessioned-4.3.1", 6)
    assert answer.recorded.idle_ms == (6 + 4) * 8_000
    assert answer.range_of("idle_ms")[1] < answer.recorded.idle_ms
    assert answer.range_of("rebalances") == (32, 32), "the same workers come and go"


def test_a_worker_that_is_never_there_causes_no_rebalance() -> None:
    """Each of the five was lost or joined at least once, but for the first."""
    least, most = answered("sessioned-4.3.1", 4).range_of("rebalances")
    assert least < most < 32


def test_a_worker_that_comes_back_is_the_same_one() -> None:
    generations, until_ms = life("zombie")
    never = [one.never for one in with_number(generations[::-1], 3, until_ms, "workers")]
    by_worker: dict[str, set[str]] = {}
    for member in (member for one in generations for member in one["members"]):
        by_worker.setdefault(member["worker"], set()).add(member["member_id"])
    assert sorted(never, key=min) == sorted((frozenset(ids) for ids in by_worker.values()), key=min)


def seen(*moments: tuple[int, str]) -> list[Any]:
    """Generations of workers that are called by one letter."""
    return [
        {"at_ms": at_ms, "members": [{"member_id": one, "worker": f"{one}:8083"} for one in there]}
        for at_ms, there in moments
    ]


def test_the_usual_number_is_that_of_most_of_the_time() -> None:
    history = seen((0, "ab"), (10, "abc"), (20, ""), (500, "ab"))
    assert usual_number(history, 505) == 2
    assert usual_number(history[:2], 500) == 3, "the newest generation lasts until then"


def test_a_worker_with_a_new_address_takes_the_place_of_one_that_went() -> None:
    history = seen((0, "abc"), (10, "ab"), (20, "abd"))
    assert {one.never for one in with_number(history, 2, 500, "members")} == {
        frozenset("a"),
        frozenset("b"),
        frozenset("cd"),
    }


def test_choices_are_tried_up_to_a_bound() -> None:
    history = seen((0, "abcdefghij"))
    tried = [one.never for one in with_number(history, 5, 500, "members")]
    assert len(tried) == TRIED_CHOICES
    assert choices_left_out(10, 5) == 252 - TRIED_CHOICES
    assert frozenset.union(*tried) == frozenset("abcdefghij")


def test_what_is_no_other_number() -> None:
    recorded = answered("sessioned-4.3.1", 5)
    assert recorded.courses == (recorded.recorded,)
    for number in (0, 501):
        with pytest.raises(WrongChange, match="take one from 1 to 500"):
            answered("sessioned-4.3.1", number)


@cache
def consumers(assignor: str) -> tuple[list[Published], int]:
    source = capture_of(str(CAPTURES.parent / CLASSIC))
    return list(source.generations(("java-classic", f"j-{assignor}"))), source.at_ms


def of_consumers(assignor: str, members: int, other: str | None = None) -> HistoryAnswer:
    generations, until_ms = consumers(assignor)
    return under_number(generations, members, until_ms, other)


@pytest.mark.parametrize("assignor", CONSUMERS)
def test_with_the_members_of_the_records_a_history_of_consumers_gives_the_records(
    assignor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With cooperative-sticky the second rebalance comes before the next member does, or not: the records mix both."""
    monkeypatch.setattr(history, "with_number", lambda *_: [OtherMembers()])
    answer = of_consumers(assignor, 99)
    for figure in ("rebalances", "moved", "stopped", "most_held"):
        least, most = answer.range_of(figure)
        assert least <= getattr(answer.recorded, figure) <= most, figure
        assert least == most or assignor == "cooperative-sticky", figure


@pytest.mark.parametrize("assignor", CONSUMERS)
def test_one_with_more_members_has_fewer_partitions(assignor: str) -> None:
    generations, until_ms = consumers(assignor)
    usual = usual_number(generations[::-1], until_ms)
    most = [of_consumers(assignor, members).range_of("most_held") for members in (usual - 1, usual + 1, 100)]
    assert most[0][1] > most[1][0] > most[2][0]
    assert (most[2][0] == 1) == (assignor != "range"), "of each topic, range gives the first members one"


@pytest.mark.parametrize("assignor", CONSUMERS)
def test_every_rebalance_of_consumers_is_computed_or_left_out(assignor: str) -> None:
    generations, _ = consumers(assignor)
    answer = of_consumers(assignor, 1)
    pairs = sum(1 for one in generations[:-1] if not one.get("repeats"))
    assert answer.recorded.rebalances + sum(answer.left_out.values()) == pairs
    assert answer.range_of("rebalances")[0] < answer.recorded.rebalances, "who is alone waits for nobody"


def test_the_change_itself_is_computed_from_what_members_have_now() -> None:
    """Five members of an eager assignor: each that stays stops everything for it."""
    generations, until_ms = consumers("range")
    now = next(place for place, one in enumerate(generations) if len(one["members"]) == 5)
    answer = under_number(generations[now:], 6, until_ms)
    partitions = sum(len(one["assigned"]["partitions"]) for one in generations[now]["members"])
    assert {one.stopped for one in answer.first} == {partitions}
    assert all(one.least_held is not None and one.least_held * 6 <= partitions for one in answer.first)
    assert all(one.most_held is not None and one.most_held * 6 >= partitions for one in answer.first)


def test_another_number_may_go_with_another_assignor() -> None:
    """What the change itself moves is not told then: it takes two rolling restarts."""
    alone, both = of_consumers("range", 6), of_consumers("range", 6, "sticky")
    assert both.recorded == alone.recorded
    assert both.range_of("moved")[1] < alone.range_of("moved")[0]
    assert (bool(alone.first), bool(both.first)) == (True, False)


def test_rebalances_of_another_assignor_than_the_group_has_now_are_left_out() -> None:
    generations, until_ms = consumers("upgrade")
    answer = under_number(generations, 2, until_ms)
    assert history.OF_ANOTHER in answer.left_out
