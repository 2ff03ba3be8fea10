"""A group that goes on under another protocol is never published as Dead (coordinator-log.md 5)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli.captures import records_of
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupDeleted, GroupGeneration, OtherGroup, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Standing
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode
from tests.streaming.folded_group import FoldedGroup
from tests.vector_files import GROUP_CAPTURES

CAPTURE = GROUP_CAPTURES / "kip848-a"
SETTINGS = ClusterSettings(name="k")
CONVERTED = ("k-migrate", "k-migrate-static", "k-migrate-coop")


def rows_by_group() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for record in records_of(CAPTURE):
        row = decode(record, SETTINGS)
        if row is not None and row.group is not None:
            found[row.group].append(row)
    return found


ROWS = rows_by_group()


def states(group: str, batches: Iterable[Sequence[Row]]) -> list[str]:
    """What is published of the group's state, batch by batch, each change once; then a reading without records."""
    followed, shown, now_ms = FoldedGroup(SETTINGS, group), list[str](), 0
    for batch in (*batches, ()):
        now_ms = batch[-1].timestamp_ms + 50 if batch else now_ms + 1_000
        for result in followed.fold(batch, now_ms).results:
            if isinstance(result, Standing) and shown[-1:] != [result.state]:
                shown.append(result.state)
    return shown


@pytest.mark.parametrize("group", CONVERTED)
def test_a_converted_group_is_never_dead_after_any_record(group: str) -> None:
    assert any(isinstance(one.body, GroupDeleted) for one in ROWS[group])
    one_by_one = states(group, ([one] for one in ROWS[group]))
    assert "Dead" not in one_by_one
    assert {"Stable", "Empty"} <= set(one_by_one)
    assert one_by_one[-1] == "Empty"


@given(st.sampled_from(CONVERTED), st.data())
@profile(max_examples=25, deadline=None)
def test_wherever_batches_are_cut_the_same_states_are_published(group: str, data: st.DataObject) -> None:
    rows = ROWS[group]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rows) - 1), max_size=6)))
    batches = [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    assert states(group, batches) == states(group, [rows])


@pytest.mark.parametrize("group", CONVERTED)
def test_every_generation_is_published_whatever_kind_the_group_was_before(group: str) -> None:
    rows = ROWS[group]
    written = [one.offset for one in rows if isinstance(one.body, GroupGeneration) and one.body.members]
    results = fold_group(SETTINGS, group, None, rows, Tick(rows[-1].timestamp_ms + 1_000), end_of_input=True).results
    assert [one.source.offset for one in results if isinstance(one, Generation) and one.epoch is None] == written


def test_a_group_that_was_deleted_is_dead_with_the_next_reading() -> None:
    rows = ROWS["k-migrate"]
    gone = next(at for at, one in enumerate(rows) if isinstance(one.body, GroupDeleted))
    first = fold_group(SETTINGS, "k-migrate", None, rows[: gone + 1], Tick(rows[gone].timestamp_ms + 50))
    assert [one.state for one in first.results if isinstance(one, Standing)] == ["Empty", "Stable"]
    assert first.due_ms is not None
    assert first.due_ms <= rows[gone].timestamp_ms + 50
    then = fold_group(SETTINGS, "k-migrate", first.state, [], Tick(rows[gone].timestamp_ms + 100))
    assert [one.state for one in then.results if isinstance(one, Standing)] == ["Dead"]
    assert not then.state.waiting


def test_a_converted_group_is_dead_once_its_epoch_is_deleted() -> None:
    rows = ROWS["k-migrate"]
    converted = next(at for at, one in enumerate(rows) if isinstance(one.body, GroupDeleted)) + 10
    ended = next(one for one in rows if isinstance(one.body, OtherGroup) and one.body.whole and one.body.deleted)
    later_ms = rows[converted].timestamp_ms + 500
    last = replace(ended, offset=rows[converted].offset + 1, timestamp_ms=later_ms)
    assert states("k-migrate", [[*rows[: converted + 1], last]])[-2:] == ["Reconciling", "Dead"]


def test_a_group_that_never_was_a_classic_one_is_shown_in_kafkas_words() -> None:
    shown = states("k-uniform", [ROWS["k-uniform"]])
    assert shown[-1] == "Empty"
    assert set(shown) == {"Assigning", "Reconciling", "Stable", "Empty"}
