"""A shadow's schema: its own tables, begun from the live job's states; and what `compare` finds in both."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.results import Source
from rebalance_monitor.streaming.store import seeding
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.retention import size
from rebalance_monitor.streaming.store.schema import in_schema, schema_of
from tests.streaming import builders
from tests.streaming.store.test_capture import batch
from tests.streaming.store.test_retention import TODAY, World
from tests.vector_files import VECTORS
from tests.web.filled import put

pytestmark = pytest.mark.postgres
SHADOW = "candidate"
GROUPS = VECTORS / "captures-groups" / "java-classic"


@pytest.fixture
def shadow(dsn: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(in_schema(dsn, SHADOW), "c", notify=False)) as opened:
        opened.migrate()
        yield opened


def count(dsn: str, table: str) -> int:
    with psycopg.connect(dsn) as database:
        row = database.execute(f"select count(*) from {table}").fetchone()
    assert row is not None
    return int(row[0])


def change(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as database:
        for one in statements:
            database.execute(one)


class Compare:
    """`rebalance-monitor compare candidate` on a database."""

    def __init__(self, dsn: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._config, self._capsys = folder / "monitor.yaml", capsys
        self._config.write_text(f"database: {{dsn: '{dsn}'}}\n")

    def __call__(self, *more: str) -> tuple[int, str, str]:
        code = main(["compare", SHADOW, "--config", str(self._config), *more])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def differences(self) -> list[dict[str, Any]]:
        code, out, err = self("-o", "json")
        *found, last = [json.loads(line) for line in out.splitlines()]
        assert (code, err, last["differences"]) == (int(bool(found)), "", len(found))
        return found


@pytest.fixture
def compare(dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Compare:
    return Compare(dsn, tmp_path, capsys)


def test_the_connection_text_carries_the_schema_once_and_what_else_it_says() -> None:
    given = "postgresql://u:p@h/d?options=-c%20statement_timeout%3D5"
    once = in_schema(given, SHADOW)
    assert (schema_of(given), schema_of(once)) == ("rebalance_monitor", SHADOW)
    assert schema_of(in_schema(once, "another")) == "another"
    assert "statement_timeout=5" in once
    assert in_schema(once, SHADOW) == once


def test_a_shadow_writes_nothing_of_the_live_job(dsn: str, shadow: PostgresStore) -> None:
    put(shadow, builders.generation(), builders.incident())
    with psycopg.connect(dsn) as database:
        where = database.execute("select relnamespace::regnamespace::text from pg_class where relname = 'states'")
        assert where.fetchall() == [(SHADOW,)]
    assert count(dsn, f"{SHADOW}.generations") == 1
    assert count(dsn, f"{SHADOW}.incidents") == 1
    assert count(dsn, f"{SHADOW}.outbox") == 0, "nobody would drain it"


def test_its_days_have_partitions_and_end_in_its_own_schema(dsn: str) -> None:
    world = World(in_schema(dsn, SHADOW))
    with closing(world.store):
        for day in (TODAY - 63, TODAY - 31, TODAY):
            world.write(day)
        assert len(world.partitions()) == 3
        world.cut()
        with world.store.database.session() as connection:
            assert size(connection) > 0
        assert world.days() == [TODAY]
    assert count(dsn, f"{SHADOW}.cuts") == 2
    with psycopg.connect(dsn) as database:
        assert database.execute("select to_regnamespace('rebalance_monitor')").fetchone() == (None,)


def test_each_table_is_copied_or_left(dsn: str, store: PostgresStore) -> None:
    with store.database.session() as connection:
        tables = connection.execute(
            "select c.relname from pg_class c where c.relnamespace = 'rebalance_monitor'::regnamespace"
            " and c.relkind in ('r', 'p') and not c.relispartition"
        ).fetchall()
    assert {name for (name,) in tables} == {*seeding.WHAT_GOES_ON, *seeding.OPEN, *seeding.LEFT}


def test_it_begins_with_what_both_releases_have(dsn: str, store: PostgresStore, shadow: PostgresStore) -> None:
    put(store, builders.generation(), builders.apart("open"), builders.apart("over"))
    put(store, builders.apart("over", "resolved"))
    change(
        dsn,
        "drop table rebalance_monitor.group_progress",
        "alter table rebalance_monitor.states add column of_live_alone text not null default ''",
        f"alter table {SHADOW}.positions add column of_shadow_alone bigint not null default 0",
    )
    assert seeding.begin_from_live(shadow.database) == 1
    assert shadow.positions() == store.positions()
    assert [count(dsn, f"{SHADOW}.{table}") for table in ("incidents", "outbox", "generations")] == [1, 0, 0]


def both(live: PostgresStore, shadow: PostgresStore) -> None:
    """The live job reads a third of a capture; a shadow begins; both read the rest."""
    given, read, epoch = replace(settings_of(GROUPS), name="c"), list(records_of(GROUPS)), live.claim()
    third = len(read) // 3
    batch(live, given, read[:third], 0, epoch)
    assert seeding.begin_from_live(shadow.database) > 0
    own = shadow.claim()
    for number, some in ((1, read[third : 2 * third]), (2, read[2 * third :])):
        batch(live, given, some, number, epoch)
        batch(shadow, given, some, number, own)


def test_a_shadow_goes_on_from_the_live_jobs_states_and_judges_the_same(
    dsn: str, store: PostgresStore, shadow: PostgresStore, compare: Compare
) -> None:
    both(store, shadow)
    judged = count(dsn, f"{SHADOW}.generations")
    assert 5 < judged < count(dsn, "rebalance_monitor.generations")
    assert compare() == (0, f"{judged} generations and {count(dsn, f'{SHADOW}.incidents')} incidents that both have:"
                            " 0 differences\n", "")  # fmt: skip
    assert seeding.begin_from_live(shadow.database) == 0, "it has begun before"


def test_what_differs_and_what_only_one_has_is_listed(
    dsn: str, store: PostgresStore, shadow: PostgresStore, compare: Compare
) -> None:
    both(store, shadow)
    with psycopg.connect(dsn) as database:
        group, offsets = database.execute(
            f'select "group", array_agg("offset" order by "offset") from {SHADOW}.stored_generations'
            " group by 1 order by count(*) desc limit 1"
        ).fetchone() or ("", [])
    first, second, third, *_, last = offsets
    of = f'"group" = \'{group}\' and "offset"'
    change(
        dsn,
        f"update {SHADOW}.stored_generations set grade = 'unexplained' where {of} = {first}",
        f"delete from {SHADOW}.stored_generations where {of} in ({second}, {last})",
        f"delete from rebalance_monitor.stored_generations where {of} = {third}",
    )
    found = compare.differences()
    assert [(one["found"], one["place"]["offset"]) for one in found] == [
        ("differs", first), ("only_live", second), ("only_shadow", third),
    ], "the last one is not yet judged by both"  # fmt: skip
    assert (found[0]["live"]["grade"], found[0]["shadow"]["grade"]) == ("explainable", "unexplained")
    code, said, _ = compare()
    assert (code, said.count("\n"), f"{SHADOW} does not have it" in said) == (1, 4, True)


def test_other_words_are_no_difference_and_another_expectation_is(
    dsn: str, store: PostgresStore, shadow: PostgresStore, compare: Compare
) -> None:
    for one in (store, shadow):
        put(one, builders.generation(offset=5), builders.generation(offset=7))
    assert compare.differences() == []
    change(dsn, f"update {SHADOW}.stored_generations set reason = 'in other words'")
    assert compare.differences() == []
    change(
        dsn,
        f"insert into {SHADOW}.stored_contents select 'other', day, content || '{{\"more\": 1}}'"
        f" from {SHADOW}.stored_contents where content ? 'expected' limit 1",
        f"update {SHADOW}.stored_generations set content = 'other' where \"offset\" = 7",
    )
    assert compare.differences() == [], "a field that one release has more"
    change(dsn, f"update {SHADOW}.stored_contents set content = '{{\"expected\": {{\"m\": 1}}}}' where hash = 'other'")
    assert [one["place"]["offset"] for one in compare.differences()] == [7]


def test_incidents_and_their_findings_are_compared_where_both_have_been(
    dsn: str, store: PostgresStore, shadow: PostgresStore, compare: Compare
) -> None:
    hour = 3_600_000
    same = builders.apart("same", opened_at_ms=5 * hour)
    early, late = builders.apart("early", opened_at_ms=5 * hour), builders.apart("late", opened_at_ms=20 * hour)
    frame = [builders.generation(offset=at, at_ms=at * hour) for at in (1, 10)]
    put(store, *frame, same, builders.part(same), early, late)
    put(shadow, *frame, same, builders.part(same))
    assert [(one["of"], one["place"]["incident_id"], one["found"]) for one in compare.differences()] == [
        ("incident", "early", "only_live")
    ]
    change(
        dsn,
        "delete from rebalance_monitor.incidents where incident_id = 'early'",
        f"update {SHADOW}.incidents set certainty = 'possible', resolved_at_ms = {6 * hour}",
        f"update {SHADOW}.incident_parts set severity = 'low'",
    )
    assert [(one["of"], one["found"]) for one in compare.differences()] == [
        ("incident", "differs"), ("incident_part", "differs"),
    ]  # fmt: skip


def test_a_polled_cluster_is_named_and_not_compared(
    dsn: str, store: PostgresStore, shadow: PostgresStore, compare: Compare
) -> None:
    polled = Source("(polled)", 0, 3)
    put(store, builders.generation(source=polled), builders.incident(opened_at_ms=900))
    put(shadow, builders.generation(source=polled, generation=9))
    assert compare() == (3, "cluster c is polled, and not compared\nthere is nothing yet that both have\n", "")


def test_where_nothing_is_common_it_cannot_tell(compare: Compare, store: PostgresStore, shadow: PostgresStore) -> None:
    assert compare() == (3, "there is nothing yet that both have\n", "")


@pytest.mark.parametrize("schema", ["rebalance_monitor", "public", "pg_own", "No Name", 'a"b'])
def test_a_name_that_is_none_is_one_sentence(
    dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], schema: str
) -> None:
    for command in (["compare", schema], ["run", "--shadow", schema]):
        assert main(command) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_schema_without_verdicts_is_one_sentence(compare: Compare, store: PostgresStore) -> None:
    code, _, said = compare()
    assert (code, said) == (
        2, f"rebalance-monitor: the schema {SHADOW} has no verdicts; start `rebalance-monitor run --shadow {SHADOW}`"
        " once\n",
    )  # fmt: skip
