"""What a rebalance costs, by its object; and that sums are the same whatever they are split by."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.connect.rules.catalogue_status import RUNNING_TWICE
from rebalance_monitor.streaming.core.costs import (
    BY,
    DOUBLED,
    FIGURES,
    HANDED_OVER,
    HOW_LONG_UNKNOWN,
    CostEntry,
    CostQuestion,
    CostSums,
    answer,
    answer_of_objects,
    by_of,
    cost_of,
    doubled_of,
    entry_of,
    split,
)
from rebalance_monitor.streaming.core.model.details import (
    DOWNTIMES,
    MOVES,
    ConnectorCost,
    DowntimeSum,
    GroupEmptied,
    Move,
)
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Certainty, Change, HeldUp, Sampled, Subject
from tests.streaming.builders import generation, incident, part
from tests.streaming.core.rules.builders import Story, generations

ROOT = Path(__file__).parents[3]
MOVED = (Move(job=Subject("task", "a-0"), kind="moved_at_once", before="w1", after="w2"),)
GAINED = {"w1": Change(gained=("a-0", "a-1")), "w2": Change(gained=("b-0",), lost=("a-0",))}
SHARE, TOO_MUCH = ConnectorCost(moved=2, idle_ms=9), ConnectorCost(moved=4, idle_ms=9)
HELD_UP = HeldUp(
    generation=7, rebalances=1, since_ms=1, before=40, records=4_000, caught_up_ms=9, final=True
)  # fmt: skip


def lasted(kind: str, ms: int, count: int = 1, **each_ms: int) -> DowntimeSum:
    return DowntimeSum(kind=kind, jobs=count, total_ms=ms, longest_ms=ms, by_connector=each_ms)


def cost(**more: Any) -> dict[str, Any]:
    return cost_of(as_object(generation(**more))).published()


def figure(name: str, **more: Any) -> tuple[int | None, int]:
    told = cost(**more)
    return told[name], told[f"{name}_of"]


def test_the_words_are_those_of_the_objects() -> None:
    assert RUNNING_TWICE.code == DOUBLED
    assert {*HANDED_OVER} < {*MOVES}
    assert {*HOW_LONG_UNKNOWN} < {*DOWNTIMES}


def test_what_is_gained_is_moved() -> None:
    assert figure("moved", diff=GAINED) == (3, 1)
    assert figure("moved", diff=GAINED, sampled=Sampled(0, 1_000)) == (3, 0), "more may have moved in between"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"idle_ms": {"scheduled_delay": 7, "revocation": 2}}, (9, 1)),
        ({}, (0, 1)),
        ({"emptied": GroupEmptied(1)}, (None, 0)),
        ({"sampled": Sampled(0, 1_000)}, (None, 0)),
        ({"protocol_type": "consumer"}, (None, 0)),
    ],
)
def test_time_in_nobodys_hands_is_told_by_records_of_connect(more: Any, told: Any) -> None:
    assert figure("unassigned_ms", **more) == told


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"settled": True, "downtime": (lasted("clean", 7), lasted("crash", 2))}, (9, 1)),
        ({"settled": True, "downtime": (lasted("clean", 7), lasted("no_stop", 0))}, (7, 0)),
        ({"settled": True, "downtime": (lasted("not_known", 0),)}, (None, 0)),
        ({"settled": True}, (0, 1)),
        ({"settled": True, "moves": MOVED}, (None, 0)),
        ({"settled": True, "emptied": GroupEmptied(None)}, (None, 0)),
        ({"settled": True, "emptied": GroupEmptied(1), "downtime": (lasted("clean", 7),)}, (7, 0)),
        ({"settled": False}, (None, 0)),
        ({"settled": True, "protocol_type": "consumer"}, (None, 0)),
    ],
)
def test_time_stopped_is_0_only_where_statuses_were_told(more: Any, told: Any) -> None:
    assert figure("stopped_ms", **more) == told
    amount, whole = told
    assert figure("doubled_ms", **more) == ((0, 1) if whole else (None, 0)), amount


@pytest.mark.parametrize("killed", [True, False])
def test_what_stood_still_while_a_group_had_no_members_is_not_known(killed: bool) -> None:
    story = Story.begun({"a": 2}, "w1")
    for one in ("a", "a-0", "a-1"):
        story.status(one, "RUNNING", "w1")
    story.wait(60_000)
    if not killed:
        for one in ("a", "a-0", "a-1"):
            story.status(one, "UNASSIGNED", "w1")
    story.empty()
    emptied_ms = story.rows[-1].timestamp_ms
    story.wait(3_600_000)
    story.join("w1")
    story.rebalance()
    for one in ("a", "a-0", "a-1"):
        story.status(one, "RUNNING", "w1")
    story.until(600_000)
    first, back = generations(story.fold())
    assert (first.connect.emptied, back.connect.emptied) == (None, GroupEmptied(emptied_ms))
    told = cost_of(as_object(back)).published()
    assert (told["unassigned_ms"], told["unassigned_ms_of"], told["stopped_ms_of"]) == (None, 0, 0)


def test_a_record_that_repeats_a_generation_is_no_rebalance() -> None:
    assert cost_of(as_object(generation(repeats=True))) == CostSums(0)
    told = cost(repeats=True, held_up=HELD_UP)
    assert (told["rebalances"], told["held_up"], told["held_up_of"]) == (0, 4_000, 0), "records that came meanwhile"


def test_records_that_the_next_rebalance_holds_up_too_are_counted_with_that_one() -> None:
    assert figure("held_up", held_up=HELD_UP) == (4_000, 1)
    assert figure("held_up", held_up=replace(HELD_UP, followed=8)) == (None, 0)
    assert figure("held_up", held_up=replace(HELD_UP, records=None)) == (None, 0)
    assert figure("held_up") == (None, 0)


@pytest.mark.parametrize(
    ("more", "ms"),
    [
        ({}, 8_000),
        ({"certainty": Certainty.LIKELY}, 8_000),
        ({"certainty": Certainty.POSSIBLE}, None),
        ({"resolved_at_ms": None}, None),
        ({"code": "CONNECT-I1"}, None),
    ],
)
def test_what_ran_twice_is_told_by_findings_that_are_over(more: Any, ms: int | None) -> None:
    found = incident("resolved", code=DOUBLED)
    told = doubled_of(as_object(found), part(found, **more))
    assert (None if told is None else told.sums.published()["doubled_ms"]) == ms
    assert told is None or (told.sums.rebalances, told.words["cause"], told.words["day"]) == (0, "", "1970-01-01")


def test_words_that_are_no_words_are_refused_and_a_group_has_its_cluster() -> None:
    assert by_of("cause, team") == ("cause", "team")
    assert by_of("month,rebalance") == ("month", "cluster", "group", "rebalance")
    assert by_of("") == ()
    with pytest.raises(ValueError, match="'topic' is nothing to split costs by; take words of cluster, group, team"):
        by_of("cause,topic")


GENERATIONS = st.builds(
    generation,
    cluster=st.sampled_from(["c", "d"]),
    group=st.sampled_from(["g", "h"]),
    at_ms=st.integers(0, 100 * 86_400_000),
    generation=st.integers(0, 5),
    diff=st.sampled_from([{}, GAINED]),
    idle_ms=st.sampled_from([{}, {"scheduled_delay": 9}]),
    by_connector=st.sampled_from([None, {"a": SHARE, "b": ConnectorCost(moved=1)}, {"c": SHARE}, {"c": TOO_MUCH}]),
    protocol_type=st.sampled_from(["connect", "consumer"]),
    downtime=st.sampled_from(
        [
            (),
            (lasted("clean", 7),),
            (lasted("no_stop", 0, b=0),),
            (lasted("clean", 7, a=3, b=4), lasted("crash", 2, a=2)),
        ]
    ),
    settled=st.booleans(),
    emptied=st.sampled_from([None, GroupEmptied(1)]),
    held_up=st.sampled_from([None, HELD_UP, replace(HELD_UP, followed=8)]),
    repeats=st.booleans(),
)


def team_of(cluster: str, group: str) -> str:
    return "us" if group == "g" else ""


@given(st.lists(GENERATIONS, max_size=12), st.lists(st.sampled_from([*BY])), st.data())
def test_the_total_is_the_same_by_any_words_and_in_any_parts(some: list[Any], by: list[str], data: Any) -> None:
    """By connector, too: what is not split is a line. There a rebalance counts with each connector that it concerns."""
    told = [(entry_of(as_object(one), one.cluster, one.group), as_object(one)) for one in some]
    whole = answer_of_objects(told, (), CostQuestion(by=()), team_of)["total"]
    question = CostQuestion(by=by_of(",".join(by)))
    found = answer_of_objects(data.draw(st.permutations(told)), (), question, team_of)
    assert found["total"] == whole
    rebalances = sum(not one.repeats for one in some)
    assert whole["rebalances"] == rebalances
    assert "connector" in by or rebalances == sum(line["rebalances"] for line in found["lines"])
    for one in FIGURES:
        known = [line[one.name] for line in found["lines"] if line[one.name] is not None]
        assert (whole[one.name] or 0) == sum(known)
        assert "connector" in by or (whole[one.name] is None) == (not known)
        assert all(line[f"{one.name}_of"] <= line["rebalances"] for line in found["lines"])


@given(GENERATIONS)
def test_a_connector_has_what_its_object_says_or_nothing_is_split(one: Any) -> None:
    document = as_object(one)
    whole = entry_of(document, "c", "g")
    lines = {part.words["connector"]: part.sums.published() for part in split(whole, document)}
    left = lines.pop("", None)
    assert {*lines} == {*(one.connect.by_connector or ())} | {
        name for sums in one.connect.downtime for name in sums.by_connector
    }
    for figure_of in FIGURES:
        amount = whole.sums.published()[figure_of.name]
        own = {name: line[figure_of.name] for name, line in lines.items()}
        named = figure_of.by_connector(document) if figure_of.by_connector is not None else {}
        is_split = amount is not None and figure_of.by_connector is not None and sum(named.values()) <= amount
        assert own == {name: named.get(name, 0) if is_split else None for name in lines}, figure_of.name
        rest = None if amount is None else amount - sum(filter(None, own.values()))
        assert rest in (0, None) if left is None else rest == left[figure_of.name]
    assert left is None or any(left[one.name] for one in FIGURES), "a line for nothing"


def test_nothing_costs_nothing_that_is_known() -> None:
    assert CostSums(0) + CostSums(0) == CostSums(0)
    assert answer([CostEntry({}, CostSums(0))], CostQuestion(by=()), team_of)["total"]["moved"] is None


def test_the_page_says_of_each_figure_and_word_what_is_declared() -> None:
    page = (ROOT / "docs/cost.md").read_text(encoding="utf-8")
    for one in FIGURES:
        assert f"| `{one.name}` | {one.unit} | {one.says} | {one.unknown} |\n" in page
    for word, says in BY.items():
        assert f"| `{word}` | {says} |\n" in page
