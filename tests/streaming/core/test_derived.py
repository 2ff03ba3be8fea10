"""What is remembered with a value is neither compared nor stored, and another value does not have it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from rebalance_monitor.streaming.core.model.codec import (
    KEPT,
    CodecError,
    dumps,
    dumps_in_parts,
    forget_parts,
    loads,
    loads_in_parts,
)
from rebalance_monitor.streaming.core.model.derived import Derives, Latest, derived, recent

OWNER = "a group"


@dataclass(frozen=True, slots=True)
class Seats(Derives):
    names: tuple[str, ...] = ()
    count: int = 0


@dataclass(frozen=True, slots=True)
class Body:
    seats: Seats = field(default_factory=Seats, metadata=KEPT)
    last: Seats | None = field(default=None, metadata=KEPT)
    by_name: Mapping[str, Seats] = field(default_factory=dict)
    number: int = 0


asked: list[object] = []


@derived
def longest(seats: Seats) -> str:
    asked.append(seats)
    return max(seats.names, key=len)


@recent
def doubled(names: list[str]) -> list[str]:
    asked.append(names)
    return [*names, *names]


def test_a_value_is_asked_once() -> None:
    asked.clear()
    seats = Seats(("a", "bcd"))
    assert [longest(seats), longest(seats)] == ["bcd", "bcd"]
    assert len(asked) == 1
    assert longest(replace(seats, names=("ef",))) == "ef"
    assert seats == Seats(("a", "bcd"))
    assert hash(seats) == hash(Seats(("a", "bcd")))
    assert dumps(seats) == '{"names":["a","bcd"]}'


def test_the_same_object_is_not_asked_again() -> None:
    asked.clear()
    names = ["a"]
    assert doubled(names) is doubled(names)
    assert doubled(["a"]) == ["a", "a"]
    assert len(asked) == 2


def test_the_latest_of_few() -> None:
    latest = Latest[str, int](2)
    for number, name in enumerate(("a", "b", "a", "c")):
        latest.put(name, number)
    assert [latest.get(name) for name in "abc"] == [2, None, 3]


@pytest.mark.parametrize(
    "body",
    [
        Body(),
        Body(seats=Seats(("a",), 3), number=7),
        Body(last=Seats(("é", "b")), by_name={"x": Seats(("y",)), "z": Seats()}),
        Body(seats=Seats(("half \ud800",)), by_name={"x": Seats(("half \ud800",))}),
        Body(last=Seats(count=2**80)),
    ],
)
def test_parts_are_written_as_the_whole_is(body: Body) -> None:
    forget_parts()
    text = dumps(body)
    assert dumps_in_parts(body, OWNER) == text
    assert dumps_in_parts(body, OWNER) == text
    assert loads(Body, text) == loads_in_parts(Body, text, OWNER) == body
    forget_parts()
    assert loads_in_parts(Body, text, OWNER) == body


def test_a_part_with_the_same_text_is_the_same_value() -> None:
    forget_parts()
    body = Body(seats=Seats(("a", "b")), number=1)
    again = loads_in_parts(Body, dumps_in_parts(body, OWNER), OWNER)
    assert again.seats is body.seats
    assert loads_in_parts(Body, dumps(replace(body, number=2)), OWNER).seats is body.seats
    assert loads_in_parts(Body, dumps(Body(seats=Seats(("a", "c")))), OWNER).seats == Seats(("a", "c"))


def test_of_each_owner_the_last_part_alone_is_remembered() -> None:
    forget_parts()
    first, second = (Body(seats=Seats((name,))) for name in "ab")
    of_first = dumps_in_parts(first, OWNER)
    assert loads_in_parts(Body, of_first, "another group").seats is not first.seats
    assert loads_in_parts(Body, of_first, OWNER).seats is first.seats
    dumps_in_parts(second, OWNER)
    assert loads_in_parts(Body, of_first, OWNER).seats is not first.seats


@pytest.mark.parametrize("text", ["", "7", '{"seats":7}', '{"number":1,"seats":{"names":3}}', "{"])
def test_what_is_no_body_is_one_clear_error(text: str) -> None:
    with pytest.raises(CodecError, match="not a Body"):
        loads_in_parts(Body, text, OWNER)
