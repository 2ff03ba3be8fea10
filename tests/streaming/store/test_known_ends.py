"""What a reader knew and had not read, in a real database: the last word of the writer counts, for the next job."""

from collections.abc import Iterator

import pytest

from rebalance_monitor.streaming.store.known_ends import EndsKeeper
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.waiting import until

pytestmark = pytest.mark.postgres
KEY = "sinks-status|id|0"


@pytest.fixture
def keeper(dsn: str, store: PostgresStore) -> Iterator[EndsKeeper]:
    made = EndsKeeper(dsn)
    yield made
    made.stop()


def test_what_was_noted_last_is_there_for_the_next_job(dsn: str, store: PostgresStore, keeper: EndsKeeper) -> None:
    assert keeper.stored("k") == {}
    epoch = store.claim()
    keeper.start("k", epoch)
    keeper.start("other", epoch)
    keeper.note("k", {KEY: (0, 5)})
    next_one = EndsKeeper(dsn)
    until(lambda: next_one.stored("k") == {KEY: (0, 5)})
    keeper.note("k", {KEY: (0, 9)})
    keeper.note("k", {})
    keeper.note("other", {KEY: (1, 2)})
    until(lambda: next_one.stored("other") == {KEY: (1, 2)})
    assert next_one.stored("k") == {}
    next_one.stop()


def test_it_is_written_before_the_end(dsn: str, store: PostgresStore, keeper: EndsKeeper) -> None:
    keeper.start("k", store.claim())
    keeper.note("k", {KEY: (0, 5)})
    keeper.stop()
    assert keeper.stored("k") == {KEY: (0, 5)}


def test_a_job_that_is_not_the_writer_any_more_writes_nothing(
    dsn: str, store: PostgresStore, keeper: EndsKeeper
) -> None:
    first = store.claim()
    later = EndsKeeper(dsn)
    later.start("k", store.claim())
    later.note("k", {KEY: (0, 9)})
    later.stop()
    keeper.start("k", first)
    keeper.note("k", {KEY: (0, 5)})
    keeper.stop()
    assert keeper.stored("k") == {KEY: (0, 9)}
