"""Planning from one offset to the next, without Kafka or Spark."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.spark.offsets import (
    DELETED,
    FIRST_BATCH_RECORDS,
    LEAST_BATCH_RECORDS,
    MADE_ANEW,
    BatchLimit,
    Bounds,
    Offset,
    Sample,
    SourcePartition,
    Span,
    TokenBucket,
    advance,
    bundles,
    gone_back,
    spans,
    with_homes,
)

A, B = SourcePartition("t", "id", 0), SourcePartition("t", "id", 1)
HEARTBEAT_MS = 10_000


def sample(tick_ms: int, *ends: int, low: int = 0, complete: bool = True) -> Sample:
    bounds = {SourcePartition("t", "id", number): Bounds(low, end, broker=1) for number, end in enumerate(ends)}
    return Sample(tick_ms, bounds, complete)


def test_json_and_back() -> None:
    offset = Offset({A: 5, B: 0}, {B: 0}, 77, {A: MADE_ANEW})
    assert Offset.parse(offset.json()) == offset


def test_nothing_new_is_the_same_offset() -> None:
    start = Offset({A: 5}, {}, 1_000)
    assert advance(start, sample(1_500, 5), None, None, HEARTBEAT_MS) is start


def test_new_records_bring_the_tick_along() -> None:
    end = advance(Offset({A: 5}, {}, 1_000), sample(1_500, 8), None, None, HEARTBEAT_MS)
    assert (end.partitions, end.tick_ms) == ({A: 8}, 1_500)


def test_a_quiet_topic_ticks_once_per_heartbeat() -> None:
    start = Offset({A: 5}, {}, 1_000)
    assert advance(start, sample(10_999, 5), None, None, HEARTBEAT_MS) is start
    assert advance(start, sample(11_000, 5), None, None, HEARTBEAT_MS).tick_ms == 11_000


def test_a_due_timer_ticks_and_one_not_due_does_not() -> None:
    start = Offset({A: 5}, {}, 1_000)
    assert advance(start, sample(1_500, 5), None, 1_501, HEARTBEAT_MS) is start
    assert advance(start, sample(1_501, 5), None, 1_501, HEARTBEAT_MS).tick_ms == 1_501


def test_no_tick_before_every_sampled_record_is_covered() -> None:
    start = Offset({A: 0}, {}, 1_000)
    end = advance(start, sample(99_000, 100), {1: 10}, 0, HEARTBEAT_MS)
    assert (end.partitions, end.tick_ms) == ({A: 10}, 1_000)


def test_no_tick_while_a_partition_gives_no_answer() -> None:
    start = Offset({A: 5, B: 7}, {}, 1_000)
    seen = sample(99_000, 5, complete=False)
    assert advance(start, seen, None, 0, HEARTBEAT_MS) is start


def test_a_new_partition_begins_at_its_beginning() -> None:
    end = advance(Offset({A: 5}, {}, 1_000), sample(1_500, 5, 9, low=3), None, None, HEARTBEAT_MS)
    assert end.begins == {B: 3}
    assert spans(Offset({A: 5}, {}, 1_000), end) == [Span(B, 3, 9)]


OLD = SourcePartition("t", "old", 0)


def test_a_topic_made_anew_is_stated_first_and_then_read_from_its_own_beginning() -> None:
    start = Offset({OLD: 500}, {}, 1_000)
    stated = advance(start, sample(1_500, 4), None, None, HEARTBEAT_MS)
    assert (stated.partitions, stated.gone, stated.tick_ms) == ({OLD: 500}, {OLD: MADE_ANEW}, 1_000)
    assert spans(start, stated) == [Span(OLD, 500, 500)]
    end = advance(stated, sample(1_500, 4), None, None, HEARTBEAT_MS)
    assert (end.partitions, end.gone, end.tick_ms) == ({A: 4}, {}, 1_500)
    assert spans(stated, end) == [Span(A, 0, 4)]
    assert advance(end, sample(1_600, 4), None, None, HEARTBEAT_MS) is end, "once"


@pytest.mark.parametrize("again", [False, True])
def test_what_was_known_of_a_deleted_topic_and_not_read_is_given_up(again: bool) -> None:
    gone = {
        OLD: Bounds(0, 620, 1),
        SourcePartition("t", "old", 1): Bounds(3, 9, 1),
        SourcePartition("t", "old", 2): Bounds(0, 7, 1),
    }
    seen = Sample(1_500, {A: Bounds(0, 4, 1)} if again else {}, again, gone)
    start = Offset({OLD: 500, SourcePartition("t", "old", 2): 7}, {}, 1_000)
    stated = advance(start, seen, None, None, HEARTBEAT_MS)
    told = [(span.key.partition, span.start, span.end) for span in spans(start, stated)]
    assert told == [(0, 500, 620), (1, 3, 9), *([(2, 7, 7)] if again else [])]
    assert set(stated.gone.values()) == {MADE_ANEW if again else DELETED}
    after = advance(stated, seen, None, None, HEARTBEAT_MS)
    assert (after.partitions == {A: 4}) if again else (after is stated)
    made = Sample(2_000, {A: Bounds(0, 4, 1)}, True, gone)
    for _ in range(3):
        further = advance(after, made, None, None, HEARTBEAT_MS)
        assert not [one for one in spans(after, further) if one.key in further.gone and one.end > one.start], "once"
        after = further
    assert after.partitions == {A: 4}
    assert advance(after, made, None, None, HEARTBEAT_MS) is after


def test_a_partition_that_gives_no_answer_for_a_while_is_not_given_up() -> None:
    start = Offset({A: 5, B: 7}, {}, 1_000)
    assert advance(start, sample(1_500, 5, complete=False), None, None, HEARTBEAT_MS) is start


def test_a_truncated_log_never_moves_an_offset_back() -> None:
    start = Offset({A: 50}, {}, 1_000)
    assert advance(start, sample(1_500, 40), None, None, HEARTBEAT_MS) is start


def test_a_truncated_log_is_told_of_until_it_is_past_the_position() -> None:
    start = Offset({A: 50, B: 7}, {}, 1_000)
    told = gone_back(start, sample(1_500, 40, 7))
    assert told == {"t": "the log of partition 0 went back: records from 40 to 50 are not read"}
    assert not gone_back(start, sample(1_500, 50, 9))
    assert not gone_back(start, sample(1_500, 60, complete=False))


def test_without_allowance_nothing_is_planned() -> None:
    start = Offset({A: 0}, {}, 1_000)
    assert advance(start, sample(1_500, 40), {1: 0}, None, HEARTBEAT_MS) is start


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), min_size=1, max_size=6),
    st.integers(1, 400),
)
def test_limited_steps_reach_the_end_without_gap_or_overlap(sizes: list[tuple[int, int]], allowed: int) -> None:
    ends = [low + size for low, size in sizes]
    bounds = {
        SourcePartition("t", "id", n): Bounds(low, end, 1)
        for n, ((low, _), end) in enumerate(zip(sizes, ends, strict=True))
    }
    seen, offset = Sample(1_000, bounds), Offset()
    read: dict[SourcePartition, int] = {key: b.low for key, b in bounds.items()}
    for _ in range(4_000):
        after = advance(offset, seen, {1: allowed}, None, HEARTBEAT_MS)
        if after is offset:
            break
        todo = spans(offset, after)
        assert sum(span.end - span.start for span in todo) <= allowed + len(bounds)
        for span in todo:
            assert span.start == read[span.key]
            read[span.key] = span.end
        offset = after
    assert read == {key: b.end for key, b in bounds.items()}
    assert offset.tick_ms == 1_000


GROUPS = {f"connect-{n}": ("", f"c{n % 2}-configs", f"c{n}-status") for n in range(4)}
"""Two and two of them share their config topic."""
LOG = "__consumer_offsets"
LOG_PARTITIONS = 10


@given(st.lists(st.integers(0, 5_000), max_size=20), st.integers(1, 4), st.sets(st.sampled_from(sorted(GROUPS))))
def test_bundles_keep_every_span_once_and_what_concerns_a_group_together(
    sizes: list[int], at_most: int, named: set[str]
) -> None:
    groups = with_homes({name: GROUPS[name] for name in named}, LOG, LOG_PARTITIONS)
    topics = sorted({topic for _, *own in groups.values() for topic in own})
    keys = [
        *(SourcePartition(LOG, "id", n) for n in range(LOG_PARTITIONS)),
        *(SourcePartition(topic, "id", n) for topic in topics for n in range(2)),
    ]
    todo = [Span(key, 0, size) for key, size in zip(keys, sizes, strict=False)]
    made = bundles(todo, at_most, FIRST_BATCH_RECORDS, groups)
    assert sorted(span for one in made for span in one.spans) == sorted(todo)
    assert len(made) <= max(1, at_most)
    for group, (home, *own) in groups.items():
        concerned = {span for span in todo if span.key.topic in own or f"{span.key.topic}-{span.key.partition}" == home}
        holding = [one for one in made if concerned & set(one.spans)]
        assert len(holding) == (1 if concerned else 0)
        assert all(group in one.groups for one in holding)
        assert sum(group in one.groups for one in made) <= 1


def test_a_home_that_is_known_counts_more_than_the_hash() -> None:
    assert with_homes({"connect-cluster": ("", "t")}, LOG, 50) == {"connect-cluster": (f"{LOG}-13", "t")}
    assert with_homes({"connect-cluster": ("mirrored-3", "t")}, LOG, 50) == {"connect-cluster": ("mirrored-3", "t")}


def test_little_is_read_by_one_task_and_much_by_several() -> None:
    assert len(bundles([Span(A, 0, 10), Span(B, 0, 10)], 2, 2_000)) == 1
    assert len(bundles([Span(A, 0, 1_000), Span(B, 0, 900)], 2, 2_000)) == 2
    assert len(bundles([Span(A, 0, 10), Span(B, 0, 10)], 2, 50)) == 2, "expensive ones"


def test_nobody_waits_for_the_backlog_of_another_partition() -> None:
    seen = sample(1_000, 10, 40, 500)
    after = advance(Offset(), seen, {1: 100}, None, HEARTBEAT_MS)
    assert [after.partitions[SourcePartition("t", "id", number)] for number in range(3)] == [10, 40, 50]


def test_a_first_batch_is_small_and_the_next_ones_are_as_large_as_their_time_allows() -> None:
    assert BatchLimit().most == FIRST_BATCH_RECORDS
    limit = BatchLimit(2_000)
    assert limit.after(10, 0.2) is limit, "it was no test of what is possible"
    costly = limit.after(2_000, 30.0)
    assert costly.most == 250, "at once, but not by more than to an eighth"
    assert costly.after(250, 3.75).most == LEAST_BATCH_RECORDS
    cheap = limit.after(2_000, 0.1)
    assert cheap.most == 8_000
    for _ in range(20):
        cheap = cheap.after(cheap.most, cheap.most / 100_000)
    assert 120_000 <= cheap.most <= 150_000, "1.5 s at 100,000 records a second"
    assert cheap.after(cheap.most, 1.4) is cheap, "a small change is not worth a write"


def test_the_bucket_refills_at_its_rate_up_to_the_burst() -> None:
    bucket = TokenBucket(100, 200)
    assert bucket.available(1, 0.0) == 200
    bucket.take(1, 250)
    assert bucket.available(1, 0.0) == -50
    assert bucket.available(1, 1.0) == 50
    assert bucket.available(1, 60.0) == 200
