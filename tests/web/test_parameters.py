"""Parameters are checked by their declaration; cursors open only their own list. And the declaration is whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rebalance_monitor.streaming.web import api
from rebalance_monitor.streaming.web.contract import MOST, ROUTES, USUAL, Route
from rebalance_monitor.streaming.web.openapi import answer_schema, document
from rebalance_monitor.streaming.web.parameters import BadRequest, cursor, parsed, place

BY_NAME = {route.name: route for route in ROUTES}
GENERATIONS, GENERATION = BY_NAME["generations"], BY_NAME["generation"]


def test_defaults_are_filled_in() -> None:
    assert parsed(GENERATIONS, []) == {"limit": USUAL}
    assert parsed(GENERATIONS, [("limit", str(MOST)), ("group", "")]) == {"limit": MOST, "group": ""}


@pytest.mark.parametrize(
    ("route", "given", "sentence"),
    [
        (GENERATIONS, [("limit", "0")], "limit must be a number from 1 to 500"),
        (GENERATIONS, [("limit", "501")], "limit must be a number"),
        (GENERATIONS, [("limit", "٣")], "limit must be a number"),
        (GENERATIONS, [("limit", "9" * 5000)], "limit must be a number"),
        (GENERATIONS, [("grade", "good")], "grade must be one of match, explainable"),
        (GENERATIONS, [("gruop", "x")], "it takes cluster, group, grade, since_ms, until_ms, limit, cursor"),
        (GENERATIONS, [("group", "x"), ("group", "y")], "stands twice"),
        (GENERATIONS, [("group", "a\x00b")], "U+0000"),
        (GENERATION, [("cluster", "c"), ("offset", "1")], "partition is missing"),
        (BY_NAME["health"], [("x", "1")], "it takes none"),
    ],
)
def test_a_wrong_parameter_is_one_sentence(route: Route, given: list[tuple[str, str]], sentence: str) -> None:
    with pytest.raises(BadRequest, match=r"^.+$") as refused:
        parsed(route, given)
    assert sentence in str(refused.value)


@given(st.integers(-(2**63), 2**63 - 1), st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])))
def test_a_cursor_comes_back(number: int, name: str) -> None:
    text = cursor([number, name])
    assert text is not None
    assert place(text, (int, str)) == [number, name]
    with pytest.raises(BadRequest):
        place(text, (str, int))


@given(st.text())
def test_no_other_text_is_a_cursor(text: str) -> None:
    with pytest.raises(BadRequest, match="take `next`"):
        place(text, (int, str))


def test_every_route_has_an_answer_and_a_sound_schema() -> None:
    schemas = document()["components"]["schemas"]
    assert {route.name for route in ROUTES} == {*api.ANSWERS, "events"}
    for route in ROUTES:
        assert route.answer in schemas
        Draft202012Validator.check_schema({**answer_schema(route), "components": {"schemas": schemas}})
