"""What other kinds of records, and the tombstones among them, do to a group: nothing that was not said of it."""

from dataclasses import replace

import pytest

from streaming.core.fold import isolation
from streaming.core.lifecycles import REGISTRY, fold_group
from streaming.core.model.records import GroupDeleted, OtherGroup, Row, Tick
from streaming.core.model.results import Standing
from streaming.core.ports import FoldError
from tests.streaming.core.rules.builders import CONFIGS, GROUP, OFFSETS, STATUSES, Story
from tests.streaming.core.rules.cases_across import DELAY_MS, calm
from tests.streaming.core.rules.cases_workers import left, two_workers
from tests.streaming.core.test_workers_gone import CODE, ticked
from tests.streaming.states import connect_of, envelope_of

ERROR = FoldError(fingerprint="ValueError-0")


def later(story: Story, body: GroupDeleted | OtherGroup, offset: int = 0) -> Row:
    """One record more of the group."""
    at = story.offsets[OFFSETS] + offset
    return Row(topic=OFFSETS, partition=0, offset=at, timestamp_ms=story.now_ms, group=GROUP, body=body)


def test_what_the_status_topic_says_of_topics_ends_nothing() -> None:
    """Connect notes there which topics a connector uses; a replay passes such records on, so that there is no hole."""
    story = calm()
    noted = replace(later(story, OtherGroup("topic")), topic=STATUSES, offset=story.offsets[STATUSES])
    plain = fold_group(story.settings, GROUP, None, story.rows, Tick(story.now_ms))
    outcome = fold_group(story.settings, GROUP, None, [*story.rows, noted], Tick(story.now_ms))
    assert outcome.results == plain.results
    assert connect_of(outcome.state) == connect_of(plain.state)
    known = envelope_of(outcome.state)
    assert not known.deleted
    assert known.next_offsets == {**envelope_of(plain.state).next_offsets, f"{STATUSES}-0": noted.offset + 1}


@pytest.mark.parametrize("config_first", [True, False])
def test_a_group_first_seen_by_its_tombstone_waits_whenever_its_config_topic_is_read(*, config_first: bool) -> None:
    story = left(two_workers())
    story.tombstone()
    config = [row for row in story.rows if row.topic == CONFIGS]
    gone = [row for row in story.rows if isinstance(row.body, GroupDeleted)]
    first, second = (config, gone) if config_first else (gone, config)
    state = fold_group(story.settings, GROUP, None, first, Tick(story.now_ms, historic=True)).state
    state = fold_group(story.settings, GROUP, state, second, Tick(story.now_ms, historic=True)).state
    state, found = ticked(story.settings, state, story.now_ms, story.now_ms + DELAY_MS - 1)
    assert not found
    assert {one.code for one in ticked(story.settings, state, story.now_ms + DELAY_MS)[1]} == {CODE}


def test_a_tombstone_behind_a_record_that_waits_asks_for_no_folds_meanwhile() -> None:
    story = calm()
    story.configure("c2", 1)
    story.rebalance()
    story.tombstone()
    rows = [row for row in story.rows if row.topic != CONFIGS]
    outcome = fold_group(story.settings, GROUP, None, rows, Tick(story.now_ms))
    assert outcome.due_ms == story.now_ms + story.settings.judge_wait_ms


def test_a_group_that_is_converted_where_the_fold_fails_is_not_dead() -> None:
    story = calm()
    rows = [later(story, GroupDeleted()), later(story, OtherGroup("consumer", member="m"), 1)]
    outcome = isolation.failed(REGISTRY, story.settings, GROUP, None, rows, Tick(story.now_ms), ERROR)
    assert not [one for one in outcome.results if isinstance(one, Standing)]
    outcome = isolation.failed(REGISTRY, story.settings, GROUP, None, rows[:1], Tick(story.now_ms), ERROR)
    assert [one.state for one in outcome.results if isinstance(one, Standing)] == ["Dead"]


def test_a_group_dead_by_its_tombstone_is_shown_to_live_by_other_records() -> None:
    """The compacted log kept the tombstone of the classic group, and of its successor what came later."""
    story = calm()
    rows = [later(story, GroupDeleted()), later(story, OtherGroup("consumer", member="gone", deleted=True), 1)]
    rows.append(later(story, OtherGroup("consumer", member="m"), 2))
    outcome = fold_group(story.settings, GROUP, None, rows, Tick(story.now_ms))
    assert [one.state for one in outcome.results if isinstance(one, Standing)][-1] == "Unknown"
