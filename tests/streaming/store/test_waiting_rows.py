"""What a store promises of waiting records, held by the one in PostgreSQL and the one in memory."""

from typing import Any

import pytest

from rebalance_monitor.streaming.core.ports import GroupKey, StoredState
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit, onto
from tests.streaming.spark.memory_store import MemoryStore, OwnStore
from tests.streaming.store.test_postgres import rows

ONE, OTHER = GroupKey("c", "one"), GroupKey("c", "other")
HOME = "__consumer_offsets-3"


def waiting(start: int, end: int, **more: Any) -> StoredState:
    """A state whose waiting records with these positions are new."""
    given: dict[str, Any] = {"waits": (0, end), "waiting": {at: f"row {at}".encode() for at in range(start, end)}}
    return StoredState(**{"version": 1, "state": b"s", "due_ms": None, **given, **more})


class WaitingRowsContract:
    """Rows of waiting records are appended, read from the front, and deleted when they are outside of the span."""

    epoch: int

    @pytest.fixture
    def empty(self) -> OwnStore:
        raise NotImplementedError

    def write(self, store: OwnStore, start: int, states: dict[GroupKey, StoredState]) -> None:
        store.commit(commit(self.epoch, start, start + 10, states=onto(store, states)))

    @pytest.fixture
    def claimed(self, empty: OwnStore) -> OwnStore:
        self.epoch = empty.claim()
        return empty

    def test_a_state_comes_with_its_first_two_rows(self, claimed: OwnStore) -> None:
        self.write(claimed, 0, {ONE: waiting(0, 5), OTHER: waiting(0, 1)})
        found = claimed.load([ONE, OTHER, GroupKey("c", "unknown")])
        assert found[ONE].waiting == {0: b"row 0", 1: b"row 1"}
        assert found[OTHER].waiting == {0: b"row 0"}
        assert found.keys() == {ONE, OTHER}

    def test_groups_that_wait_are_listed(self, claimed: OwnStore) -> None:
        self.write(claimed, 0, {ONE: waiting(0, 5), OTHER: waiting(0, 1)})
        assert claimed.waiting("c") == [ONE, OTHER]
        assert claimed.waiting("d") == []
        self.write(claimed, 10, {ONE: waiting(5, 5, waits=(5, 5))})
        assert claimed.waiting("c") == [OTHER]

    def test_more_are_read_from_a_position_on(self, claimed: OwnStore) -> None:
        self.write(claimed, 0, {ONE: waiting(0, 3)})
        self.write(claimed, 10, {ONE: waiting(3, 6)})
        assert claimed.load_waiting(ONE, 2) == {at: f"row {at}".encode() for at in range(2, 6)}
        assert claimed.load_waiting(ONE, 6) == {}
        assert claimed.load_waiting(OTHER, 0) == {}

    def test_a_long_queue_is_read_in_parts(self, claimed: OwnStore) -> None:
        self.write(claimed, 0, {ONE: waiting(0, 2_000)})
        read: dict[int, bytes] = {}
        while part := claimed.load_waiting(ONE, len(read)):
            assert len(part) < 1_000
            read.update(part)
        assert list(read) == list(range(2_000))

    def test_what_is_outside_of_the_span_is_deleted(self, claimed: OwnStore) -> None:
        self.write(claimed, 0, {ONE: waiting(0, 6), OTHER: waiting(0, 6)})
        self.write(claimed, 10, {ONE: waiting(0, 0, waits=(4, 6))})
        assert claimed.load([ONE])[ONE].waiting == {4: b"row 4", 5: b"row 5"}
        assert len(claimed.load_waiting(OTHER, 0)) == 6
        self.write(claimed, 20, {ONE: waiting(0, 0, waits=(0, 0))})
        assert claimed.load([ONE])[ONE].waiting == {}

    def test_a_group_begun_anew_leaves_nothing_of_the_queue_before(self, claimed: OwnStore) -> None:
        self.write(claimed, 0, {ONE: waiting(0, 6)})
        self.write(claimed, 10, {ONE: waiting(0, 2, waiting={0: b"new 0", 1: b"new 1"})})
        assert claimed.load_waiting(ONE, 0) == {0: b"new 0", 1: b"new 1"}

    def test_a_state_without_a_word_on_rows_leaves_them(self, claimed: OwnStore) -> None:
        self.write(claimed, 0, {ONE: StoredState(version=1, state=b"s", due_ms=None)})
        assert claimed.load([ONE])[ONE].waiting == {}

    def test_groups_are_found_by_the_partition_of_their_records(self, claimed: OwnStore) -> None:
        unknown, elsewhere = GroupKey("c", "unknown"), GroupKey("c", "elsewhere")
        self.write(
            claimed,
            0,
            {
                ONE: waiting(0, 0, home=HOME),
                elsewhere: waiting(0, 0, home="__consumer_offsets-4"),
                unknown: waiting(0, 0),
                GroupKey("another cluster", "one"): waiting(0, 0, home=HOME),
            },
        )
        assert sorted(claimed.at_home("c", HOME)) == [ONE, unknown]


class TestMemoryStore(WaitingRowsContract):
    @pytest.fixture
    def empty(self) -> OwnStore:
        return MemoryStore()


@pytest.mark.postgres
class TestPostgresStore(WaitingRowsContract):
    @pytest.fixture
    def empty(self, store: PostgresStore) -> OwnStore:
        return store

    def test_the_number_of_waiting_records_is_seen_from_outside(self, store: PostgresStore) -> None:
        self.epoch = store.claim()
        self.write(store, 0, {ONE: waiting(0, 6, waits=(2, 6)), OTHER: waiting(0, 0)})
        assert rows(store, 'select "group", waits from rebalance_monitor.states order by 1') == [
            ("one", 4),
            ("other", 0),
        ]

    def test_a_refused_state_takes_its_rows_along(self, store: PostgresStore) -> None:
        """The group begins anew, and nothing of the queue before may be found then."""
        self.epoch = store.claim()
        self.write(store, 0, {ONE: waiting(0, 6)})
        with store.database.session() as connection:
            connection.execute("alter table rebalance_monitor.states add check (due_ms <> 7)")
        self.write(store, 10, {ONE: waiting(6, 7, due_ms=7)})
        assert store.load([ONE]) == {}
        assert store.load_waiting(ONE, 0) == {}
