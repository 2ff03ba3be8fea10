"""The history of topics as rows: what is stored batch by batch is the history, and a quiet cluster writes one row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.stored import CLUSTER, UnreadableTopics, changed, history_from
from rebalance_monitor.streaming.core.cluster.topics import KEPT_MS, NO_SAMPLES, TopicSample
from tests.streaming.core.cluster.test_topics import dense, history


@given(dense(), st.booleans())
def test_the_rows_hold_the_history(samples: list[TopicSample], forget: bool) -> None:
    rows: dict[str, str] = {}
    known = NO_SAMPLES
    for sample in samples:
        after = known.with_sample(sample)
        after = after.kept(sample.answered_ms + KEPT_MS) if forget else after
        stored = changed("id", known, after)
        assert stored is not None
        rows = {topic: text for topic, text in {**rows, **stored.rows}.items() if topic not in stored.gone}
        known = after
        assert history_from(rows) == known


def test_a_sample_that_shows_nothing_new_writes_one_row() -> None:
    topics = {f"t{number}": ((1,),) for number in range(1_000)}
    before = history([TopicSample(1, 1, topics)])
    stored = changed("id", before, before.with_sample(TopicSample(2, 2, dict(topics))))
    assert stored is not None
    assert set(stored.rows) == {CLUSTER}
    assert changed("id", before, before) is None


def test_the_ids_of_topics_are_stored_with_them() -> None:
    first = history([TopicSample(1, 1, {"t": ((1,),), "u": ((1,),)}, ids={"t": b"t" * 16})])
    stored = changed("id", NO_SAMPLES, first)
    assert stored is not None
    assert history_from(stored.rows) == first
    anew = first.with_sample(TopicSample(2, 3, {"t": ((1,),), "u": ((1,),)}, ids={"t": b"s" * 16}))
    again = changed("id", first, anew)
    assert again is not None
    assert set(again.rows) == {CLUSTER, "t"}
    known = history_from({**stored.rows, **again.rows})
    assert (known.id_of("t"), known.id_of("t", 2), known.id_of("u")) == (b"s" * 16, b"t" * 16, None)
    assert (known.name_of(b"s" * 16), known.name_of(b"t" * 16), known.name_of(b"x" * 16)) == ("t", "t", None)


def test_end_offsets_are_stored_with_their_topic() -> None:
    topics, ids = {"t-changelog": ((1,), (1,)), "u": ((1,),)}, {"t-changelog": b"t" * 16, "u": b"u" * 16}
    first = history([TopicSample(1, 2, topics, ids=ids, ends={"t-changelog": (5, 1 << 60)})])
    stored = changed("id", NO_SAMPLES, first)
    assert stored is not None
    assert history_from(stored.rows) == first
    second = first.with_sample(TopicSample(3, 4, topics, ids=ids, ends={"t-changelog": (6, 1 << 60)}))
    again = changed("id", first, second)
    assert again is not None
    assert set(again.rows) == {CLUSTER, "t-changelog"}
    assert history_from({**stored.rows, **again.rows}) == second


def test_nothing_is_stored_of_a_new_cluster() -> None:
    assert history_from({}) == NO_SAMPLES


@pytest.mark.parametrize("text", ["", "[]", '{"racks": 1}', '{"racks": [[1]], "asked_ms": 1, "answered_ms": 1}'])
def test_rows_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(UnreadableTopics):
        history_from({CLUSTER: text})
