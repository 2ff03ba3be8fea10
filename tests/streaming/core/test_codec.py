"""Whatever is written is read back equal; text that holds something else is one clear error."""

from dataclasses import replace
from pathlib import Path

import pytest

from streaming.cli.captures import records_of, settings_of
from streaming.core.connect.state import ConnectState
from streaming.core.fold.routing import route
from streaming.core.fold.state import read, stored
from streaming.core.lifecycles import REGISTRY, fold_group
from streaming.core.model.codec import CodecError, dumps, loads
from streaming.core.model.records import GroupGeneration, Row, Tick, TopicRecord
from streaming.core.replay import decode

CAPTURES = Path(__file__).parents[2] / "vectors" / "captures"


def again(row: Row) -> Row:
    """The row after a rest in the database, or after the way from a reading task."""
    if isinstance(row.body, TopicRecord):
        owner = REGISTRY.owner(row.body)
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
