"""What the store compares before a bundle becomes true: revisions of states, the writer's epoch, what others lock."""

from dataclasses import replace

import psycopg
import pytest

from rebalance_monitor.streaming.core.ports import Deposed, GroupKey, Overtaken, Position, Range
from rebalance_monitor.streaming.store.database import DatabaseUnreachable
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.writer import check_epoch
from tests.streaming.builders import GROUP, PARTITION, commit, generation, state

pytestmark = pytest.mark.postgres


def test_a_state_is_written_over_the_one_that_was_loaded_or_not_at_all(store: PostgresStore) -> None:
    """With all that is in the same bundle; whoever loaded none writes over none."""
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, states={GROUP: state(1)}))
    for late in (state(2), state(2, revision=2)):
        with pytest.raises(Overtaken):
            store.commit(commit(epoch, 10, 20, generation(15), states={GROUP: late, GroupKey("c", "new"): state(3)}))
    assert store.positions() == {PARTITION: 10}
    assert store.load([GROUP, GroupKey("c", "new")]) == {GROUP: state(1, revision=1)}
    store.commit(commit(epoch, 10, 20, states={GROUP: state(2, revision=1)}))
    assert store.load([GROUP]) == {GROUP: state(2, revision=2)}


def test_bundles_of_one_writer_commit_side_by_side(store: PostgresStore, dsn: str) -> None:
    """Both write the same contents of members; neither waits for the other's transaction to know who is the writer."""
    epoch, other = store.claim(), PostgresStore(dsn, "c")
    blobs = {"one": b"1", "two": b"2"}
    with store.database.session() as connection, connection.transaction():
        check_epoch(connection, epoch, lock=True)
        there = PARTITION._replace(partition=4)
        other.commit(commit(epoch, 0, 10, generation(), key=there, blobs=blobs))
        with other.database.session() as second:
            second.execute("set lock_timeout = '100ms'")
        with pytest.raises(DatabaseUnreachable, match="lock timeout"):
            other.claim()
    store.commit(commit(epoch, 0, 10, blobs=dict(reversed(blobs.items()))))
    assert store.positions() == {PARTITION: 10, there: 10}


def test_what_is_remembered_of_holes_comes_with_the_positions(store: PostgresStore) -> None:
    covered = Range(0, 10, hole=7, markers=True)
    store.commit(replace(commit(store.claim()), ranges={PARTITION: covered}))
    there = PARTITION._replace(partition=4)
    assert store.at([PARTITION, there]) == {PARTITION: Position(10, 7, True)}
    assert store.at([]) == {}


def test_groups_with_topics_of_their_own(store: PostgresStore) -> None:
    connect = replace(state(1), has_topics=True, home="log-3")
    store.commit(commit(store.claim(), states={GROUP: connect, GroupKey("c", "consumers"): state(1)}))
    assert store.with_topics("c") == {GROUP.group: "log-3"}
    assert store.with_topics("other") == {}


def test_a_writer_of_one_database_writes_nothing_into_another(store: PostgresStore, server: str) -> None:
    """A worker that reads its configuration itself may find one that was edited meanwhile."""
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("drop database if exists elsewhere with (force)")
        admin.execute("create database elsewhere")
    elsewhere = PostgresStore(server.replace("/postgres?", "/elsewhere?"), "c")
    elsewhere.migrate()
    epochs = {elsewhere.claim(), elsewhere.claim(), store.claim()}
    assert len(epochs) == 3
    with pytest.raises(Deposed):
        elsewhere.commit(commit(max(epochs), 0, 10, generation()))
    assert elsewhere.positions() == {}
    elsewhere.close()
