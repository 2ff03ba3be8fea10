"""Frozen dataclasses, changed quickly: what `dataclasses.replace` returns."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import pytest

from rebalance_monitor.schemas.frozen import replace


@dataclass(frozen=True, slots=True)
class Place:
    topic: str
    partition: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(Place):
    """Fields of a base class, and names that a written function could take for its own."""

    old: int = 1
    made: tuple[int, ...] = ()
    value: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Open:
    """With a dictionary of its own."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Doubled:
    """What it has at the end is not what it was given."""

    number: int
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.number)


@dataclass(slots=True)
class Counted:
    times: int = 0


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        (Place("orders", 1), {"partition": 2}),
        (Place("orders", 1), {"topic": "payments", "partition": 0}),
        (Place("orders", 1), {}),
        (Seen(topic="orders"), {"value": {"a": 1}, "old": 3}),
        (Seen(topic="orders", made=(1,)), {"topic": "payments"}),
        (Open(3), {"at_ms": 4}),
        (Doubled(3), {"number": 4}),
        (Counted(1), {"times": 2}),
    ],
    ids=str,
)
def test_a_changed_value_is_what_the_standard_library_returns(given: Any, changes: dict[str, Any]) -> None:
    before = dataclasses.asdict(given)
    changed = replace(given, **changes)
    assert changed == dataclasses.replace(given, **changes)
    assert type(changed) is type(given)
    assert changed is not given
    assert dataclasses.asdict(given) == before


def test_a_changed_value_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        replace(Place("orders"), partition=1).partition = 2  # type: ignore[misc]  # that is what is asked


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="offset"):
        replace(Place("orders"), offset=1)  # type: ignore[call-arg]  # that is what is asked
