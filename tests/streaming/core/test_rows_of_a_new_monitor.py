"""A monitor that begins on an empty database ends with the rows of connectors and tasks that a live one has."""

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, JobState, Standing
from rebalance_monitor.streaming.core.model.subjects import Subject
from tests.streaming.core.test_late_statuses import rows_of
from tests.streaming.folded_group import FoldedGroup

NAMES = ["compatible-2.8.2", "eager-2.8.2", "sessioned-4.3.1", "steady", "zombie"]
LATER_MS = 600_000
Published = tuple[dict[Subject, JobState], set[tuple[int, int]], Standing | None]


def fold(name: str, batches: list[tuple[list[Row], Tick]]) -> Published:
    """The last row of each connector and task, which generations were stored, and how the group stands."""
    known, group, _ = rows_of(name)
    followed = FoldedGroup(known, group)
    for batch, tick in batches:
        followed.fold(batch, tick.now_ms, historic=tick.historic)
    rows = {one.job: one for one in followed.results if isinstance(one, JobState)}
    generations = {(one.incarnation, one.generation) for one in followed.results if isinstance(one, Generation)}
    standing = next((one for one in reversed(followed.results) if isinstance(one, Standing)), None)
    return rows, generations, standing


def live(name: str, rows: list[Row]) -> Published:
    """Each two seconds a batch, while it happens."""
    rows = sorted(rows, key=lambda one: one.timestamp_ms)
    begin_ms, end_ms = rows[0].timestamp_ms, rows[-1].timestamp_ms + LATER_MS
    batches = []
    for at_ms in (*range(begin_ms, rows[-1].timestamp_ms + 20_000, 2_000), end_ms):
        batch = [one for one in rows if one.timestamp_ms <= at_ms]
        rows = rows[len(batch) :]
        batches.append((batch, Tick(at_ms)))
    return fold(name, batches)


def afterwards(name: str, rows: list[Row], later: list[Row]) -> Published:
    """Everything at once and as history, and `later` once the job has caught up."""
    end_ms = max(one.timestamp_ms for one in (*rows, *later)) + LATER_MS
    return fold(name, [(rows, Tick(end_ms, historic=True)), ([], Tick(end_ms)), (later, Tick(end_ms + LATER_MS))])


def present(published: Published) -> dict[Subject, JobState]:
    return {job: row for job, row in published[0].items() if not row.gone}


def check(published: Published) -> None:
    """Each row stands at a stored generation, unless the group has no members; and says since when workers have it,
    if any has."""
    rows, generations, standing = published
    assert not [row for row in rows.values() if (row.since_ms is None) != (not row.assigned)]
    if standing is not None and standing.state == "Stable":
        astray = {job.key: (row.incarnation, row.generation, row.agreement) for job, row in rows.items()
                  if (row.incarnation, row.generation) not in generations}  # fmt: skip
        assert not astray


@pytest.mark.parametrize("name", NAMES)
def test_live_and_catching_up_end_with_the_same_rows(name: str) -> None:
    rows = list(rows_of(name)[2])
    seen, read = live(name, rows), afterwards(name, rows, [])
    check(seen)
    check(read)
    assert present(seen) == present(read)
    for job, row in read[0].items():
        assert seen[0][job] == row


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@profile(max_examples=6, deadline=None)
def test_wherever_the_log_begins_and_the_first_batch_ends_each_row_stands_at_a_stored_generation(
    name: str, data: st.DataObject
) -> None:
    """Compaction leaves the newest records of a group, and statuses of what was deleted before them."""
    rows = sorted(rows_of(name)[2], key=lambda one: one.timestamp_ms)
    records = [at for at, one in enumerate(rows) if isinstance(one.body, GroupGeneration)]
    first = data.draw(st.sampled_from(records))
    end = data.draw(st.integers(first + 1, len(rows)))
    left = [one for at, one in enumerate(rows[:end]) if at >= first or at not in records]
    cut = data.draw(st.integers(0, len(left)))
    check(afterwards(name, left[:cut], left[cut:]))
