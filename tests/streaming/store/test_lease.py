"""Leases in a real PostgreSQL: one holder, all its clusters or none, and who may take them when it is gone."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from rebalance_monitor.streaming.core.ports import Deposed
from rebalance_monitor.streaming.store.lease import LASTS_S, OVER_FOR_S, RENEW_EVERY_S, Lease
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.supervision import PartFailed
from tests.streaming.builders import commit

pytestmark = pytest.mark.postgres


class Job:
    """A lease whose steps are called one by one, with a clock of its own; time in the database is moved by hand."""

    def __init__(self, dsn: str, name: str, *clusters: str) -> None:
        self.now_s = 0.0
        self.lease = Lease(dsn, name, clusters or ("c",), clock_s=lambda: self.now_s)
        self.lease.look()

    def look(self, later_s: float = 0.0) -> None:
        self.now_s += later_s
        self.lease.look()

    def waits(self) -> int | None:
        """Looks for as long as a lease must be over; the epoch then."""
        self.look()
        self.look(OVER_FOR_S)
        return self.lease.epoch("c")

    def killed(self) -> None:
        """The process is gone, and PostgreSQL has ended its session."""
        self.lease._database.close()


@pytest.fixture
def first(store: PostgresStore, dsn: str) -> Iterator[Job]:
    job = Job(dsn, "first", "c", "d")
    with closing(job.lease._database):
        yield job


@pytest.fixture
def second(first: Job, dsn: str) -> Iterator[Job]:
    job = Job(dsn, "second", "c", "d")
    with closing(job.lease._database):
        yield job


def pass_time(dsn: str, seconds: float) -> None:
    """Every lease ends so much earlier."""
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "update rebalance_monitor.leases set until = until - make_interval(secs => %s) where until <> '-infinity'",
            (seconds,),
        )


def ended(dsn: str, job: Job) -> None:
    """Waits until PostgreSQL has ended the session of a killed job."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        gone = "select count(*) from pg_stat_activity a join rebalance_monitor.leases l on l.session_pid = a.pid"
        while connection.execute(gone).fetchone() != (0,):
            pass


def test_the_second_job_waits_for_the_first(first: Job, second: Job) -> None:
    assert isinstance(first.lease.epoch("c"), int)
    assert second.waits() is None
    assert second.lease.holders("c") == "first"


def test_a_lease_that_is_renewed_does_not_end(first: Job, second: Job, dsn: str) -> None:
    pass_time(dsn, LASTS_S - 1)
    first.look(RENEW_EVERY_S)
    pass_time(dsn, LASTS_S - 1)
    assert second.waits() is None


def test_a_job_that_stands_still_loses_its_lease_and_takes_none_again(first: Job, second: Job, dsn: str) -> None:
    pass_time(dsn, LASTS_S + 1)
    second.look()
    assert second.lease.epoch("c") is None, "a holder may come first after an outage"
    second.look(OVER_FOR_S)
    assert second.lease.epoch("c") != first.lease.epoch("c")
    first.look(RENEW_EVERY_S)
    for cluster in ("c", "d"):
        with pytest.raises(Deposed):
            first.lease.epoch(cluster)
    second.lease.give_up()
    first.look(RENEW_EVERY_S)
    with pytest.raises(Deposed):
        first.lease.epoch("c")


def test_what_the_lost_job_had_to_write_is_refused(first: Job, second: Job, store: PostgresStore, dsn: str) -> None:
    before = first.lease.epoch("c")
    assert before is not None
    store.commit(commit(before, 0, 10))
    pass_time(dsn, LASTS_S + 1)
    after = second.waits()
    assert after is not None
    with pytest.raises(Deposed):
        store.commit(commit(before, 10, 20))
    store.commit(commit(after, 10, 20))


def test_a_late_holder_keeps_what_nobody_has_taken(first: Job, second: Job, dsn: str) -> None:
    before = first.lease.epoch("c")
    pass_time(dsn, LASTS_S + 60)
    second.look()
    first.look(RENEW_EVERY_S)
    second.look(OVER_FOR_S)
    assert second.lease.epoch("c") is None
    assert first.lease.epoch("c") == before


def test_a_killed_job_is_not_waited_for(first: Job, second: Job, dsn: str) -> None:
    first.killed()
    ended(dsn, first)
    assert second.waits() is not None


def test_a_holder_whose_connection_broke_comes_back_first(first: Job, second: Job, dsn: str) -> None:
    before = first.lease.epoch("c")
    first.killed()
    ended(dsn, first)
    second.look()
    first.look(RENEW_EVERY_S)
    assert second.waits() is None
    assert first.lease.epoch("c") == before


def test_what_is_given_up_is_taken_at_once(first: Job, second: Job) -> None:
    first.lease.give_up("d")
    second.look()
    assert second.lease.epoch("d") is None, "all of a job's clusters or none"
    first.lease.give_up()
    second.look()
    assert second.lease.epoch("c") is not None
    assert second.lease.epoch("d") is not None
    first.look(RENEW_EVERY_S)
    assert first.lease.epoch("c") is None, "it asked for the end, and wants nothing"


def test_other_clusters_are_nobodys_business(first: Job, dsn: str) -> None:
    other = Job(dsn, "other", "e")
    with closing(other.lease._database):
        assert other.lease.epoch("e") is not None
        other.lease.want("c")
        other.look()
        assert other.lease.epoch("c") is None
        assert other.lease.holders("c") == "first"
        assert other.lease.epoch("e") is not None


def test_an_own_lease_whose_answer_was_lost_is_taken_again(first: Job, dsn: str) -> None:
    """The transaction became true, and the connection broke before the job knew."""
    first.lease._epochs.clear()
    first.look()
    assert first.lease.epoch("c") is not None


def test_an_outage_of_the_database_ends_no_lease(first: Job, dsn: str) -> None:
    """The holder renews as soon as the database is back; whoever looks first waits a moment."""
    nowhere = Lease("postgresql://127.0.0.1:1/nowhere", "second", ["c"])
    nowhere._over_since_s["c"] = 0.0
    with pytest.raises(PartFailed, match="can't be used"):
        nowhere.look()
    assert nowhere.epoch("c") is None
    assert not nowhere._over_since_s


def test_the_thread_takes_renews_and_gives_up(store: PostgresStore, dsn: str) -> None:
    job = Lease(dsn, "thread", ["c"])
    job.start()
    assert job.epoch("c") is not None
    job.stop()
    after = Job(dsn, "after")
    with closing(after.lease._database):
        assert after.lease.epoch("c") is not None
