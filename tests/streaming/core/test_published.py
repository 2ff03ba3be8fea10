"""A dataclass as an object, back, and as a schema: what each word of `Says` does."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

import pytest
from jsonschema import Draft202012Validator

from rebalance_monitor.streaming.core.model.published import (
    HIDDEN,
    OPTIONAL,
    Says,
    as_object,
    from_object,
    meaning,
    schemas,
)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Place:
    topic: Annotated[str, Says("Its topic.")]
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    name: str


@dataclass(frozen=True, slots=True)
class Extra:
    first: int = 1
    last: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    KIND: ClassVar[str] = "thing"

    before: Annotated[str, Says("Where from.", name="from")]
    colour: Colour | None
    where: Place | Named | None
    pair: tuple[str, int]
    counts: Annotated[Mapping[str, int], Says(words=("a", "b"))]
    state: Annotated[str | None, Says(words=("on", "off"))] = None
    secret: Annotated[str, HIDDEN] = "unset"
    sampled: Annotated[bool, OPTIONAL] = False

    @property
    def length(self) -> Annotated[int, Says("Of `from`.", before="colour")]:
        return len(self.before)

    @property
    def extra(self) -> Annotated[Extra, Says(before="sampled", spread=True)]:
        return Extra(self.length)

    @property
    def middle(self) -> Annotated[int | None, Says(before="last", optional=True)]:
        return self.length or None

    @property
    def private(self) -> int:
        return 0


THING = Thing(before="xy", colour=Colour.RED, where=Place("t", (1, 2)), pair=("p", 3), counts={"a": 1}, secret="s")
OBJECT = {
    "kind": "thing", "from": "xy", "length": 2, "colour": "red", "where": {"topic": "t", "offsets": [1, 2]},
    "pair": ["p", 3], "counts": {"a": 1}, "state": None, "first": 2, "middle": 2, "last": 2,
}  # fmt: skip
VALID = Draft202012Validator({"$ref": "#/$defs/thing", "$defs": schemas([Thing])})


def test_keys_come_in_the_order_of_their_declaration() -> None:
    assert list(as_object(THING).items()) == list(OBJECT.items())


def test_an_object_is_read_back_with_what_is_hidden_where_somebody_gives_it() -> None:
    assert from_object(Thing, {**OBJECT, "secret": "s"}) == THING
    other = Thing(before="", colour=None, where=Named("n"), pair=("p", 3), counts={}, sampled=True)
    assert from_object(Thing, as_object(other)) == other
    assert "middle" not in as_object(other)


@pytest.mark.parametrize(
    ("change", "is_valid"),
    [
        ({}, True), ({"where": {"name": "n"}}, True), ({"where": None, "state": "on", "sampled": True}, True),
        ({"where": {"name": "n", "topic": "t"}}, False), ({"sampled": False}, False), ({"state": "up"}, False),
        ({"counts": {"c": 1}}, False), ({"colour": "green"}, False), ({"secret": "s"}, False), ({"pair": ["p"]}, False),
        ({"middle": None}, False), ({"kind": "other"}, False),
    ],
)  # fmt: skip
def test_the_schema_takes_objects_and_nothing_else(change: dict[str, object], is_valid: bool) -> None:
    assert VALID.is_valid({**OBJECT, **change}) is is_valid


def test_a_key_that_is_not_optional_is_required() -> None:
    assert not VALID.is_valid({key: value for key, value in OBJECT.items() if key != "state"})


def test_a_meaning_is_found_by_its_place() -> None:
    assert meaning(Thing, "from") == "Where from."
    assert schemas([Thing])["thing"]["properties"]["length"]["description"] == "Of `from`."
