"""History ends by days: what goes, what is left of it, and what stays whatever its age."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from rebalance_monitor.streaming.core.columns import DAY_MS
from rebalance_monitor.streaming.core.model.results import Cause, Change, Standing
from rebalance_monitor.streaming.core.ports import GroupKey
from rebalance_monitor.streaming.store import retention
from rebalance_monitor.streaming.store.database import Database
from rebalance_monitor.streaming.store.days import BY_DAY, partition
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.retention import WARNED_FOR_MS, Kept, Retention
from tests.streaming.builders import commit, generation, incident, member, state
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.postgres
TODAY = 20_000
NOW_MS = TODAY * DAY_MS + 3_600_000
KEPT = Kept(days=30, max_bytes=10**12, summary_days=730)


def named(day: int | str) -> str:
    return partition("stored_generations", day)


class World:
    """A store at a given time, and what it has."""

    def __init__(self, dsn: str) -> None:
        self.dsn, self.now_ms = dsn, NOW_MS
        self.store = PostgresStore(dsn, "c", now_ms=lambda: self.now_ms)
        self.store.migrate()
        self.epoch = self.store.claim()
        self.next = 0
        self.known: dict[GroupKey, int] = {}

    def write(self, day: int, *results: Any, group: str = "g", **more: Any) -> None:
        """One generation of a group on that day, and what else is given."""
        start, self.next = self.next, self.next + 10
        made = generation(start, group=group, at_ms=day * DAY_MS + start, generation=start, **more)
        blobs = {f"hash-{day}": b"bytes"}
        made = replace(made, members=(replace(member(1), subscription_hash=f"hash-{day}"),))
        key = GroupKey("c", group)
        states = {key: state(revision=self.known.get(key, 0))}
        self.known[key] = self.known.get(key, 0) + 1
        self.store.commit(commit(self.epoch, start, self.next, made, *results, states=states, blobs=blobs))

    def cut(self, kept: Kept = KEPT, archive: retention.Archive | None = None) -> retention.HistoryCut:
        return Retention(self.store.database, kept, archive).cut(self.now_ms)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self.store.database.session() as connection:
            return connection.execute(statement.encode()).fetchall()

    def change(self, statement: str) -> None:
        with self.store.database.session() as connection:
            connection.execute(statement.encode())

    def days(self, table: str = "generations") -> list[int]:
        return [day for (day,) in self.rows(f"select day from rebalance_monitor.{table} order by 1")]

    def partitions(self) -> list[str]:
        named = (
            "select relname::text from pg_class where relname ~ '^stored_generations_' and relkind = 'r'"
            " and relnamespace = 'rebalance_monitor'::regnamespace order by 1"
        )
        return [name for (name,) in self.rows(named)]


@pytest.fixture
def world(dsn: str) -> Iterator[World]:
    made = World(dsn)
    yield made
    made.store.close()


def test_a_day_has_partitions_of_its_own_and_one_long_ago_or_to_come_has_none(world: World) -> None:
    for day in (0, TODAY - 63, TODAY + 400, TODAY - 1, TODAY):
        world.write(day)
    assert world.partitions() == [named(TODAY - 1), named(TODAY), named("other")]
    assert world.days() == [0, TODAY - 63, TODAY - 1, TODAY, TODAY + 400]
    world.cut()
    assert world.days() == [TODAY - 1, TODAY, TODAY + 400]
    assert world.rows("select day from rebalance_monitor.cuts order by 1") == [(0,), (TODAY - 63,)]


def test_a_day_whose_partitions_cannot_be_made_now_is_stored_all_the_same_and_ends(world: World) -> None:
    with psycopg.connect(world.dsn) as reader:  # a query that takes long
        reader.execute("select from rebalance_monitor.generations")
        world.write(TODAY - 40)
    assert world.partitions() == [named("other")]
    world.write(TODAY - 40)
    world.write(TODAY)
    assert named(TODAY - 40) not in world.partitions()
    world.cut()
    world.cut()
    assert world.days() == [TODAY]
    assert world.rows("select kind, count from rebalance_monitor.daily_summaries order by 1") == [
        ("cause", 2), ("grade", 2)
    ]  # fmt: skip
    assert world.rows("select day from rebalance_monitor.cuts") == [(TODAY - 40,)]


def test_what_is_older_goes_with_its_members_and_bytes_and_leaves_counts(world: World) -> None:
    old = TODAY - 31
    world.write(old, cause=(Cause(kind="worker_joined"),), diff={"w1": Change(gained=("a", "b"))})
    world.write(old)
    world.write(TODAY - 30)
    assert world.cut().cut == (old,)
    for table in BY_DAY:
        assert set(world.days(table)) == {TODAY - 30}
    assert named(old) not in world.partitions()
    left = world.rows('select "group", day, kind, name, count from rebalance_monitor.daily_summaries order by 3, 4')
    assert left == [
        ("g", old, "cause", "none", 1), ("g", old, "cause", "worker_joined", 1), ("g", old, "grade", "match", 2),
        ("g", old, "moved", "assignments", 2),
    ]  # fmt: skip
    assert world.rows("select day, reason, dropped_at is not null from rebalance_monitor.cuts") == [(old, "age", True)]
    assert world.cut() == retention.HistoryCut()


def test_the_last_generation_of_a_group_stays_until_another_one_comes(world: World) -> None:
    old = TODAY - 40
    world.write(old, group="quiet")
    world.write(old, group="busy")
    world.write(old, Standing(cluster="c", group="gone", state="Dead", at_ms=old * DAY_MS), group="gone")
    world.write(TODAY, group="busy")
    world.cut()
    kept = 'select "group", day from rebalance_monitor.generations order by 2, 1'
    assert world.rows(kept) == [("quiet", old), ("busy", TODAY)]
    assert world.days("members") == [old, TODAY]
    assert world.rows("select hash from rebalance_monitor.assignments order by 1") == [
        (f"hash-{old}",), (f"hash-{TODAY}",)
    ]  # fmt: skip
    assert [one.group for one in world.store.latest_generations()] == ["busy", "quiet"]
    world.write(TODAY, group="quiet")
    world.cut()
    assert world.days() == [TODAY, TODAY]
    assert world.days("members") == [TODAY, TODAY]
    assert world.days("assignments") == [TODAY]


def test_where_an_open_incident_began_stays_and_one_that_is_over_leaves_a_count(world: World) -> None:
    old = TODAY - 40
    at: dict[str, Any] = {"group": "g", "opened_at_ms": old * DAY_MS}
    world.write(old, incident("fired", **at, opened_generation=0))
    world.write(old, incident("resolved", "i2", **at, resolved_at_ms=old * DAY_MS + 5))
    world.write(TODAY)
    assert world.cut().incidents == 0, "its end is not told yet"
    world.change("update rebalance_monitor.outbox set done = true")
    passed = world.cut()
    assert world.rows("select incident_id from rebalance_monitor.incidents") == [("i1",)]
    assert passed.incidents == 1
    assert world.days() == [old, TODAY]
    ((_, count),) = world.rows("select name, count from rebalance_monitor.daily_summaries where kind = 'rule'")
    assert count == 1


def test_summaries_stay_for_two_years_and_then_go_by_days(world: World) -> None:
    """In virtual time: every ten days of 26 months a generation, an incident that is over, and a cut."""
    first = TODAY - 800
    played = [*range(first, TODAY, 10), TODAY, TODAY + 1]
    for today in played:
        world.now_ms = today * DAY_MS + 3_600_000
        at: dict[str, Any] = {"opened_at_ms": today * DAY_MS, "resolved_at_ms": today * DAY_MS + 5}
        world.write(today, incident("resolved", f"i{today}", **at), cause=(Cause(kind="worker_joined"),))
        world.change("update rebalance_monitor.outbox set done = true")
        world.cut()
        past = [day for day in played if day < today - KEPT.days]
        told = world.rows("select day, kind, name, count from rebalance_monitor.daily_summaries order by 1, 2")
        assert [row[:2] for row in told] == [
            (day, kind) for day in past if day >= today - KEPT.summary_days for kind in ("cause", "grade", "rule")
        ], today
        assert {row[3] for row in told} <= {1}
        assert world.days() == [day for day in played if today - KEPT.days <= day <= today]
        assert world.rows("select day from rebalance_monitor.cuts order by 1") == [(day,) for day in past]
    assert min(world.days("daily_summaries")) == TODAY - 720, "one that had been there yesterday is 731 days old"


def test_too_large_a_database_loses_its_oldest_days_but_not_today(world: World) -> None:
    for day in (TODAY - 2, TODAY - 1, TODAY):
        world.write(day)
    assert world.cut(replace(KEPT, max_bytes=1)).cut == (TODAY - 2, TODAY - 1)
    assert world.days() == [TODAY]
    assert world.rows("select distinct reason from rebalance_monitor.cuts") == [("size",)]
    world.write(TODAY)
    assert world.days() == [TODAY] * 2, "what comes is judged and stored, however large the database is"


def test_an_archive_that_fails_keeps_all_until_the_size_is_passed_by_a_tenth(world: World) -> None:
    over = {"opened_at_ms": (TODAY - 40) * DAY_MS, "resolved_at_ms": (TODAY - 40) * DAY_MS + 5}
    world.write(TODAY - 40, incident("resolved", "i1", **over))
    world.write(TODAY)
    world.change("update rebalance_monitor.outbox set done = true")

    def full(_connection: Any, _day: int) -> int:
        raise OSError(28, "No space left on device")

    assert isinstance(world.cut(archive=full).failed, OSError)
    assert world.days() == [TODAY - 40, TODAY]
    assert world.rows("select incident_id from rebalance_monitor.incidents") == [("i1",)]
    looks = Retention(world.store.database, replace(KEPT, max_bytes=1), full)
    soon = NOW_MS + WARNED_FOR_MS - 1
    assert [looks.cut(now_ms).cut for now_ms in (NOW_MS, soon)] == [(), ()], "nobody could be alerted before"
    passed = looks.cut(soon + 1)
    assert (passed.failed, passed.cut, passed.incidents) == (None, (TODAY - 40,), 1)


def test_an_archive_that_works_again_has_to_fail_anew_for_as_long(world: World) -> None:
    for day in (TODAY - 42, TODAY - 41, TODAY):
        world.write(day)
    failing = iter([True, False, True])

    def some(connection: Any, day: int) -> int:
        if next(failing):
            raise OSError(28, "No space left on device")
        rows = connection.execute("select from rebalance_monitor.generations where day = %s", (day,)).fetchall()
        return len(rows)

    looks = Retention(world.store.database, replace(KEPT, max_bytes=1), some)
    assert looks.cut(NOW_MS).cut == ()
    later = looks.cut(NOW_MS + WARNED_FOR_MS)
    assert (later.cut, type(later.failed)) == ((TODAY - 42,), OSError)


def test_rows_that_come_while_a_day_is_archived_are_not_lost(world: World) -> None:
    world.write(TODAY - 40)
    world.write(TODAY)

    def counts_too_few(_connection: Any, _day: int) -> int:
        return 0

    with pytest.raises(retention.Moved):
        world.cut(archive=counts_too_few)
    assert world.days() == [TODAY - 40, TODAY]


def test_a_kill_between_two_steps_is_made_good_by_the_next_pass(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write(TODAY - 40)
    world.write(TODAY)

    def killed(_connection: Any, _day: int) -> None:
        raise KeyboardInterrupt

    finish = retention._finish
    monkeypatch.setattr(retention, "_finish", killed)
    with pytest.raises(KeyboardInterrupt):
        world.cut()
    assert world.days() == [TODAY]
    monkeypatch.setattr(retention, "_finish", finish)
    world.cut()
    assert world.rows("select kind, count from rebalance_monitor.daily_summaries order by 1") == [
        ("cause", 1), ("grade", 1)
    ]  # fmt: skip
    assert named(TODAY - 40) not in world.partitions()


def test_a_day_that_another_job_has_finished_is_counted_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write(TODAY - 40)
    world.write(TODAY)
    finish = retention._finish

    def twice(connection: Any, day: int) -> None:
        finish(connection, day)
        finish(connection, day)

    monkeypatch.setattr(retention, "_finish", twice)
    assert world.cut().cut == (TODAY - 40,)
    counts = "select count from rebalance_monitor.daily_summaries where kind = 'grade'"
    assert world.rows(counts) == [(1,)]


def test_batches_go_on_while_days_are_cut(world: World) -> None:
    days = range(TODAY - 45, TODAY - 30)
    for day in days:
        world.write(day)
    world.write(TODAY)
    more, problems = 40, list[BaseException]()

    def writing() -> None:
        try:
            for _ in range(more):
                world.write(TODAY)
        except BaseException as why:
            problems.append(why)

    writer = threading.Thread(target=writing)
    writer.start()
    cut = Retention(Database(world.dsn), KEPT).cut(NOW_MS).cut
    writer.join(PATIENCE_S)
    assert problems == []
    assert cut == tuple(days)
    assert world.days() == [TODAY] * (more + 1)
    counted = "select sum(count)::int from rebalance_monitor.daily_summaries where kind = 'grade'"
    assert world.rows(counted) == [(len(days),)]


def test_notifications_that_everybody_has_go_after_a_week_and_waiting_ones_never(world: World) -> None:
    at: dict[str, Any] = {"opened_at_ms": NOW_MS}
    for name, group in (("i1", "g"), ("i2", "h")):
        world.write(TODAY, incident("fired", name, group=group, **at), group=group)
        world.write(TODAY, incident("resolved", name, group=group, resolved_at_ms=NOW_MS, **at), group=group)
    world.change("update rebalance_monitor.outbox set created_at = now() - interval '8 days'")
    world.change("update rebalance_monitor.outbox set done = true where incident_id = 'i1'")
    assert world.cut().notifications > 0
    assert {one for (one,) in world.rows("select incident_id from rebalance_monitor.outbox")} == {"i2"}
