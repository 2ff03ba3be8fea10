"""Whatever is written is read back equal; text that holds something else is one clear error."""

import json
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.connect.state import ConnectState
from rebalance_monitor.streaming.core.fold.state import read, stored
from rebalance_monitor.streaming.core.lifecycles import REGISTRY, fold_group, route
from rebalance_monitor.streaming.core.model.codec import DERIVED, CodecError, dumps, loads
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick, TopicRecord
from rebalance_monitor.streaming.core.replay import decode
from tests.vector_files import CAPTURES


def again(row: Row) -> Row:
    """The row after a rest in the database, or after the way from a reading task."""
    if isinstance(row.body, TopicRecord):
        owner = REGISTRY.reader_of(row.body)
        return replace(row, body=owner.topic_record(owner.written(row.body)))
    read = loads(Row, dumps(row))
    if isinstance(read.body, GroupGeneration):
        read = replace(read, body=REGISTRY.blobs.read_again(read.body))
    return read


@pytest.mark.parametrize("name", ["zombie", "eager-2.8.2"])
def test_every_row_of_a_real_cluster_survives_the_border(name: str) -> None:
    path = CAPTURES / name
    known = settings_of(path)
    for record in records_of(path):
        row = decode(record, known)
        if row is not None:
            assert again(row) == row


def test_the_state_survives_and_is_written_the_same_again() -> None:
    path = CAPTURES / "zombie"
    known = settings_of(path)
    rows = [row for record in records_of(path) if (row := decode(record, known)) is not None]
    (group,) = known.connect
    state = fold_group(known, group, None, route(rows, known)[group], Tick(0)).state
    envelope, bodies = read(state)
    (body,) = bodies.values()
    assert stored(envelope, {"connect": dumps(loads(ConnectState, body))}) == state


def test_defaults_are_left_out() -> None:
    assert dumps(Tick(5)) == '{"now_ms":5}'
    assert loads(Tick, '{"now_ms":5}') == Tick(5)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"topic":1}', "null"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(CodecError):
        loads(Row, text)


@dataclass(frozen=True, slots=True)
class Leaf:
    text: str
    number: int = 7


@dataclass(frozen=True, slots=True)
class Twig:
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Everything:
    """One field for each kind of type that a stored value may have."""

    leaf: Leaf | None
    grown: Leaf | Twig
    pair: tuple[str, int]
    leaves: tuple[Leaf, ...]
    payload: bytes
    by_name: dict[str, Leaf] = field(default_factory=dict)
    by_pair: dict[tuple[str, int], bool] = field(default_factory=dict)
    names: str | tuple[str, ...] = ()
    derived: int = field(default=-1, metadata=DERIVED)


TEXTS = st.text(st.characters(exclude_categories=()))  # halves of surrogate pairs too: names of topics are bytes
NUMBERS = st.integers(-(2**70), 2**70)
LEAVES = st.builds(Leaf, TEXTS, NUMBERS)
VALUES = st.builds(
    Everything,
    st.none() | LEAVES,
    LEAVES | st.builds(Twig, st.frozensets(TEXTS)),
    st.tuples(TEXTS, NUMBERS),
    st.lists(LEAVES, max_size=3).map(tuple),
    st.binary(),
    st.dictionaries(TEXTS, LEAVES, max_size=2),
    st.dictionaries(st.tuples(TEXTS, NUMBERS), st.booleans(), max_size=2),
    TEXTS | st.lists(TEXTS, max_size=2).map(tuple),
)


@given(VALUES)
def test_any_value_is_read_back_and_its_text_is_plain_json(value: Everything) -> None:
    text = dumps(value)
    assert loads(Everything, text) == value
    assert json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) == text


@given(VALUES, st.integers())
def test_a_derived_field_is_not_written(value: Everything, derived: int) -> None:
    assert dumps(replace(value, derived=derived)) == dumps(value)


@given(VALUES, st.sampled_from(["leaf", "grown", "pair", "leaves", "payload"]))
def test_a_field_without_a_default_is_missed(value: Everything, name: str) -> None:
    raw = json.loads(dumps(value))
    del raw[name]
    with pytest.raises(CodecError, match=f"not a Everything: KeyError '{name}'"):
        loads(Everything, json.dumps(raw))
