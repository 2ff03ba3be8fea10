"""What asks for one day, or for what is newest, is planned over the tables of these days alone, however many are kept.

PostgreSQL locks each table that it plans over until the transaction ends, so its locks name them.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import psycopg
import pytest

from rebalance_monitor.streaming.core.columns import DAY_MS
from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.why import why_object
from tests.streaming.builders import TOPIC
from tests.streaming.store.test_retention import TODAY, World, world

pytest.importorskip("grafana_foundation_sdk")

from tests.dashboards.asked import Asked, sql

__all__ = ["world"]
pytestmark = pytest.mark.postgres
FIRST = TODAY - 9
KEY = "c", "g"
PLACE = 'topic_id, partition, "offset", day from rebalance_monitor.stored_generations where day = '
LATEST = [one for one in sql() if "latest_generation(" in one.text]
CHOSEN = [one for one in sql() if "${rebalance:" in one.text and not one.where.endswith("marks")]
Tables = set[tuple[str, str]]


def locked(connection: psycopg.Connection[Any]) -> Tables:
    """The days' tables that this transaction has locked, as (table, day)."""
    rows = connection.execute(
        "select relname::text from pg_locks l join pg_class c on c.oid = l.relation where pid = pg_backend_pid()"
        " and relkind = 'r'"
    ).fetchall()
    found = (re.fullmatch(r"stored_(generations|contents)_(\w+)", name) for (name,) in rows)
    return {(one[1], one[2]) for one in found if one is not None}


class LockingReader(Reader):
    """Notes what its statements lock."""

    def __init__(self, dsn: str) -> None:
        super().__init__([Database(dsn)], DatabaseUnreachable)
        self.locked: Tables = set()

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        with super()._connection() as connection, connection.transaction():
            yield connection
            self.locked |= locked(connection)

    def days(self, table: str = "generations") -> set[int]:
        """Days whose tables were locked since the last question; the table for all others aside."""
        told, self.locked = self.locked, set()
        return {int(day) for name, day in told if name == table and day != "other"}


@pytest.fixture
def reader(world: World) -> Iterator[LockingReader]:
    """Ten days of a group, and in the middle of them one of a group that is quiet since then."""
    for day in range(FIRST, TODAY + 1):
        world.write(day)
    world.write(TODAY - 5, group="quiet")
    made = LockingReader(world.dsn)
    yield made
    made.close()


def filled(asked: Asked, rebalance: str) -> bytes:
    values = {"cluster": KEY[0], "group": KEY[1], "rebalance": rebalance}
    text = asked.text
    for name, value in values.items():
        text = text.replace(f"${{{name}:sqlstring}}", f"'{value}'")
    assert "$" not in text
    return text.encode()


@pytest.mark.parametrize("asked", LATEST, ids=lambda asked: asked.where)
def test_a_table_of_a_groups_latest_generation(world: World, reader: LockingReader, asked: Asked) -> None:
    with psycopg.connect(world.dsn) as connection:
        connection.execute(filled(asked, ""))
        assert {day for _, day in locked(connection)} <= {str(TODAY - 1), str(TODAY), "other"}


@pytest.mark.parametrize("asked", CHOSEN, ids=lambda asked: asked.where)
def test_a_table_of_one_rebalance(world: World, reader: LockingReader, asked: Asked) -> None:
    ((*place,),) = world.rows(f"select {PLACE}{TODAY - 4}")
    with psycopg.connect(world.dsn) as connection:
        connection.execute(filled(asked, "/".join(map(str, place))))
        assert {day for _, day in locked(connection)} == {str(TODAY - 4)}


def test_the_latest_generation_of_each_group(world: World, reader: LockingReader) -> None:
    with psycopg.connect(world.dsn) as connection:
        told = {
            group: connection.execute(
                "select generation from rebalance_monitor.latest_generation('c', %s)", (group,)
            ).fetchall()
            for group in ("g", "quiet", "nobody")
        }
    assert told == {"g": [(90,)], "quiet": [(100,)], "nobody": []}


def test_groups_are_looked_for_from_the_day_on_that_the_quietest_was_seen(reader: LockingReader) -> None:
    assert [(row.group, row.generation) for row in reader.groups()] == [("g", 90), ("quiet", 100)]
    assert reader.days() == set(range(TODAY - 6, TODAY + 1))
    assert [row.group for row in reader.groups([KEY])] == ["g"]
    assert reader.days() == {TODAY - 1, TODAY}
    assert (reader.groups([]), reader.group(("c", "nobody"))) == ([], None)


def test_one_generation_by_its_record(reader: LockingReader) -> None:
    for offset, day in ((90, TODAY), (10, FIRST + 1)):
        row = reader.generation("c", TOPIC, 3, offset)
        assert row is not None
        assert row.document["at_ms"] // DAY_MS == day
        assert (row.document["source"]["offset"], reader.days("contents")) == (offset, {day})
    assert reader.generation("c", TOPIC, 3, 91) is None


def test_members_at_a_moment_are_those_of_that_day_and_of_quiet_groups_those_before(reader: LockingReader) -> None:
    def newest(day: int, only: list[tuple[str, str]] | None = None) -> list[tuple[str, int]]:
        found = reader.newest_before((day + 1) * DAY_MS, "c", only, empty=True)
        return [(one["group"], one["generation"]) for one in found]

    assert newest(TODAY - 2, [KEY]) == [("g", 70)]
    assert reader.days() == {TODAY - 2, TODAY - 1}
    assert newest(TODAY - 2) == [("g", 70), ("quiet", 100)]
    assert newest(TODAY - 7) == [("g", 20)]
    assert newest(FIRST - 1) == []


def test_the_first_generation_since_a_moment_is_looked_for_on_its_day_and_then_later(reader: LockingReader) -> None:
    def first(group: str, day: int) -> list[int]:
        return [one["generation"] for one in reader.first_generation(("c", group), day * DAY_MS)]

    assert first("g", TODAY - 7) == [20]
    assert reader.days() == {TODAY - 7, TODAY - 6}
    assert (first("quiet", FIRST), first("quiet", TODAY - 4)) == ([100], [])


def test_a_list_reads_contents_of_the_days_of_its_items_alone(reader: LockingReader) -> None:
    def listed(limit: int, **where: int) -> list[int]:
        page = reader.generations({"cluster": "c", "group": "g", **where}, None, limit)
        return [row.document["generation"] for row in page.items]

    assert (listed(1), reader.days("contents")) == ([90], {TODAY})
    assert (listed(3), reader.days("contents")) == ([90, 80, 70], {TODAY, TODAY - 1, TODAY - 2})
    assert (listed(1, until_ms=(TODAY - 3) * DAY_MS - 1), reader.days("contents")) == ([50], {TODAY - 4})
    assert (listed(9, since_ms=(TODAY + 1) * DAY_MS), reader.days("contents")) == ([], set())


def test_why_a_group_rebalanced_in_a_day_reads_contents_of_it_and_of_the_one_before(reader: LockingReader) -> None:
    day = TODAY - 3
    told = why_object(reader, KEY, day * DAY_MS, (day + 1) * DAY_MS - 1)
    assert (told["rebalances"], reader.days("contents")) == (1, {day, day - 1})


def test_names_of_groups_stay_in_the_rows_of_states(world: World) -> None:
    random = Random(1)
    name, state, delta = random.randbytes(40).hex(), random.randbytes(4_000), random.randbytes(400)
    with psycopg.connect(world.dsn) as connection:
        connection.execute(
            'insert into rebalance_monitor.states (cluster, "group", version, state, revision, delta)'
            " values (%s, %s, 1, %s, 1, %s)",
            (name, name, state, delta),
        )
        (apart,) = connection.execute(
            "select reltoastrelid::regclass::text from pg_class where oid = 'rebalance_monitor.states'::regclass"
        ).fetchall()
        of_one = connection.execute(f"select count(distinct chunk_id) from {apart[0]}".encode()).fetchall()
    assert of_one == [(1,)], "the state alone is stored apart"
