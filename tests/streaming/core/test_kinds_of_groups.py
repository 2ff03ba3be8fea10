"""What other kinds of records, and the tombstones among them, do to a group: nothing that was not said of it."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.fold import isolation
from rebalance_monitor.streaming.core.fold.state import Envelope, read, stored
from rebalance_monitor.streaming.core.lifecycles import REGISTRY, decode_offsets_record, fold_group
from rebalance_monitor.streaming.core.model.codec import dumps
from rebalance_monitor.streaming.core.model.records import PASSED_OVER, GroupDeleted, OtherGroup, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Standing
from rebalance_monitor.streaming.core.ports import FoldError
from rebalance_monitor.streaming.core.targets.counted import CountedState
from tests.streaming.core.rules.builders import CONFIGS, GROUP, OFFSETS, STATUSES, Story
from tests.streaming.core.rules.cases_across import DELAY_MS, calm
from tests.streaming.core.rules.cases_workers import left, two_workers
from tests.streaming.core.rules.share import pair
from tests.streaming.core.test_workers_gone import CODE, ticked
from tests.streaming.states import connect_of, envelope_of

ERROR = FoldError(fingerprint="ValueError-0")


def later(story: Story, body: GroupDeleted | OtherGroup, offset: int = 0) -> Row:
    """One record more of the group."""
    at = story.offsets[OFFSETS] + offset
    return Row(topic=OFFSETS, partition=0, offset=at, timestamp_ms=story.now_ms, group=GROUP, body=body)


@pytest.mark.parametrize("topic", [STATUSES, f"{GROUP}-statuses"])
def test_what_the_status_topic_says_of_topics_ends_nothing(topic: str) -> None:
    """Connect notes there which topics a connector uses; a replay passes such records on, so that there is no hole."""
    story = calm()
    noted = replace(later(story, PASSED_OVER), topic=topic, offset=story.offsets[STATUSES])
    plain = fold_group(story.settings, GROUP, None, story.rows, Tick(story.now_ms))
    outcome = fold_group(story.settings, GROUP, None, [*story.rows, noted], Tick(story.now_ms))
    assert outcome.results == plain.results
    assert connect_of(outcome.state) == connect_of(plain.state)
    known = envelope_of(outcome.state)
    assert not known.deleted
    assert known.next_offsets == {**envelope_of(plain.state).next_offsets, f"{topic}-0": noted.offset + 1}


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
    assert [one.state for one in outcome.results if isinstance(one, Standing)] == ["Unknown"], (
        "what follows is not read"
    )
    gone = [rows[0], later(story, GroupDeleted(), 1)]
    outcome = isolation.failed(REGISTRY, story.settings, GROUP, None, gone, Tick(story.now_ms), ERROR)
    assert [one.state for one in outcome.results if isinstance(one, Standing)] == ["Dead", "Unknown"]


def test_a_group_dead_by_its_tombstone_is_shown_to_live_by_other_records() -> None:
    """The compacted log kept the tombstone of the classic group, and of its successor what came later."""
    story = calm()
    rows = [later(story, GroupDeleted()), later(story, OtherGroup("consumer", member="gone", deleted=True), 1)]
    rows.append(later(story, OtherGroup("consumer", member="m"), 2))
    outcome = fold_group(story.settings, GROUP, None, rows, Tick(story.now_ms))
    assert [one.state for one in outcome.results if isinstance(one, Standing)][-1] == "Unknown"


def test_a_member_is_there_by_its_share_alone_and_gone_with_the_epoch_of_its_group() -> None:
    """A group that was converted while nobody read: what named its members is gone."""
    story = calm()
    state = stored(Envelope(lifecycle="consumer", generation=4, deleted=True, seen_from_start=True), {})

    def shown(type_: bytes, value: bytes | None, at: int, *names: str) -> Row:
        key = type_ + b"".join(len(one).to_bytes(2, "big") + one.encode() for one in (GROUP, *names))
        row = decode_offsets_record(OFFSETS, 0, at, story.now_ms + at, key, value)
        assert row is not None
        return row

    epoch = bytes.fromhex("00000000000900")
    holds = bytes.fromhex("0000 00000009 00000008 00 01 01 00")
    rows = [shown(b"\x00\x08", holds, 1, "m"), shown(b"\x00\x03", epoch, 2)]
    outcome = fold_group(story.settings, GROUP, state, rows, Tick(story.now_ms + 1_000))
    assert [one.state for one in outcome.results if isinstance(one, Standing)] == ["Unknown"]
    rows = [shown(b"\x00\x03", None, 3), shown(b"\x00\x03", epoch, 4)]
    outcome = fold_group(story.settings, GROUP, outcome.state, rows, Tick(story.now_ms + 1_000))
    assert [one.state for one in outcome.results if isinstance(one, Standing)] == ["Dead"]
    outcome = fold_group(story.settings, GROUP, outcome.state, [], Tick(story.now_ms + 2_000))
    assert [one.state for one in outcome.results if isinstance(one, Standing)] == ["Empty"]


def test_a_group_of_which_only_members_were_known_goes_on_as_a_share_group_without_an_end() -> None:
    """Its records that come are not all there are, and nothing of it ended."""
    story = pair()
    counted = Envelope(lifecycle="counted", next_offsets={f"{OFFSETS}-0": 1}, home=f"{OFFSETS}-0")
    state = stored(counted, {"counted": dumps(CountedState(members=frozenset({"a"}), shown="Unknown"))})
    first, rest = story.rows[:6], story.rows[6:]
    outcome = fold_group(story.settings, GROUP, state, first, Tick(story.now_ms))
    outcome = fold_group(story.settings, GROUP, outcome.state, rest, Tick(story.now_ms + 1_000))
    known = envelope_of(outcome.state)
    assert (known.lifecycle, known.incarnation, known.deleted, known.seen_from_start) == (
        "share_targets",
        0,
        False,
        False,
    )
    assert set(read(outcome.state)[1]) == {"share_targets"}


@pytest.mark.parametrize(
    "envelope",
    [
        Envelope(lifecycle="consumer", generation=4, seen_from_start=True),
        Envelope(lifecycle="connect", generation=4, deleted=True),
        Envelope(),
    ],
    ids=lambda one: one.lifecycle or "none",
)
def test_only_the_tombstone_of_a_consumer_group_waits_for_a_conversion(envelope: Envelope) -> None:
    story = calm()
    state = stored(envelope, {})
    outcome = fold_group(story.settings, GROUP, state, [later(story, GroupDeleted())], Tick(story.now_ms))
    assert any(isinstance(one, Standing) for one in outcome.results) == (envelope.lifecycle != "consumer")


@pytest.mark.parametrize("kind", ["consumer", ""])
def test_after_a_record_of_an_empty_group_of_another_kind_every_worker_has_joined(kind: str) -> None:
    """Who held what before the group was empty, holds nothing now, whichever kind of group the record calls it."""
    story = calm()
    story.generation += 1
    story.group_record((), kind)
    story.rebalance()
    results = fold_group(story.settings, GROUP, None, story.rows, Tick(story.now_ms)).results
    last = [one for one in results if isinstance(one, Generation)][-1]
    assert [(one.kind, [who.id for who in one.subjects]) for one in last.cause] == [
        ("worker_joined", ["w1:8083", "w2:8083"])
    ]
