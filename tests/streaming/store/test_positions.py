"""How far the job has come: positions move forward only, without holes, and say when they moved."""

import pytest

from rebalance_monitor.streaming.core.model.results import Source
from rebalance_monitor.streaming.core.ports import AlreadyThere, OutOfStep, PartitionKey
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import GROUP, PARTITION, TOPIC, commit, generation, incident, pending, state
from tests.streaming.store.test_postgres import everything, rows

pytestmark = pytest.mark.postgres


def test_a_batch_above_the_stored_position_is_refused_whole(store: PostgresStore) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10))
    before = everything(store)
    with pytest.raises(OutOfStep) as later:
        store.commit(commit(epoch, 11, 20, generation(15), incident(), states={GROUP: state()}))
    assert (later.value.partition, later.value.expected) == (PARTITION, 10)
    assert everything(store) == before


def test_a_new_partition_may_begin_above_zero_where_its_log_begins(store: PostgresStore) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 40, 50, generation(45)))
    assert store.positions() == {PARTITION: 50}


def test_positions_never_go_back(store: PostgresStore) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10))
    for start, end in ((2, 7), (2, 12), (0, 11)):
        with pytest.raises(OutOfStep):
            store.commit(commit(epoch, start, end, generation(9)))
    assert store.positions() == {PARTITION: 10}
    assert rows(store, "select count(*) from rebalance_monitor.generations") == [(0,)]


def test_a_position_says_when_it_moved(store: PostgresStore) -> None:
    def moved_at() -> object:
        return rows(store, "select updated_at from rebalance_monitor.positions")

    epoch = store.claim()
    store.commit(commit(epoch, 0, 10))
    first = moved_at()
    with pytest.raises(AlreadyThere):
        store.commit(commit(epoch, 0, 10))
    assert moved_at() == first, "repeated, nothing moved"
    store.commit(commit(epoch, 10, 20))
    assert moved_at() > first  # type: ignore[operator]


def test_a_recreated_topic_starts_anew_beside_the_old_one(store: PostgresStore) -> None:
    epoch = store.claim()
    again = PartitionKey("k1", "id-2", TOPIC, 3)
    store.commit(commit(epoch, 0, 10, generation(5)))
    store.commit(commit(epoch, 0, 6, generation(5, generation=1, incarnation=1), key=again))
    assert store.positions() == {PARTITION: 10, again: 6}
    found = rows(store, "select topic_id, incarnation from rebalance_monitor.generations order by 1")
    assert found == [("id-1", 0), ("id-2", 1)]


def test_a_result_about_an_older_record_finds_its_topic(store: PostgresStore) -> None:
    epoch = store.claim()
    configs = PartitionKey("k1", "id-9", "connect-configs", 0)
    store.commit(commit(epoch, 0, 10, pending(5)))
    store.commit(commit(epoch, 0, 3, generation(5), generation(6, source=Source(TOPIC, 3, 6)), key=configs))
    found = rows(store, 'select "offset", topic_id, grade from rebalance_monitor.generations order by 1')
    assert found == [(5, "id-1", "match"), (6, "id-1", "match")]
