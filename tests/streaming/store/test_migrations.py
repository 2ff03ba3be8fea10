"""Migrations: numbered without gap or duplicate, applied once, by one process at a time."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.store.migrations import BadMigrations, Migration, NewerSchema, known, migrate, ordered

Connection = psycopg.Connection[Any]
SECOND = Migration(2, "made_by_this_test", "alter table rebalance_monitor.groups add column note text")


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


def test_the_files_are_numbered_without_gap_or_duplicate() -> None:
    assert [migration.number for migration in known()] == list(range(1, len(known()) + 1))


@pytest.mark.parametrize(
    "names", [["0002_a.sql"], ["0001_a.sql", "0003_b.sql"], ["0001_a.sql", "0001_b.sql"], ["1_a.sql"], ["0001_A.sql"]]
)
def test_a_gap_a_duplicate_and_a_bad_name_are_refused(names: list[str]) -> None:
    with pytest.raises(BadMigrations):
        ordered([(name, "") for name in names])


@pytest.mark.parametrize("said", ["", "-- needs 2\n", "-- needs 0003\n", "-- needs 0000\n", "\n-- needs 0001\n"])
def test_a_later_one_says_which_releases_run_on_it(said: str) -> None:
    with pytest.raises(BadMigrations, match="must begin with"):
        ordered([("0001_first.sql", ""), ("0002_next.sql", f"{said}select 1")])
    assert [one.needs for one in ordered([("0001_first.sql", ""), ("0002_next.sql", "-- needs 0002\n")])] == [1, 2]


@pytest.mark.postgres
def test_what_is_missing_is_applied_to_the_tables_that_are_there_with_their_rows(connection: Connection) -> None:
    first = known()[:1]
    assert migrate(connection, first) == (1,)
    connection.execute("insert into rebalance_monitor.groups values ('c', 'g', 'Stable', 1, 1)")
    assert migrate(connection, (*first, SECOND)) == (2,)
    assert migrate(connection, (*first, SECOND)) == ()
    kept = connection.execute('select "group", note from rebalance_monitor.groups').fetchall()
    named = connection.execute("select number, name from rebalance_monitor.migrations order by 1").fetchall()
    assert kept == [("g", None)]
    assert named == [(1, first[0].name), (2, SECOND.name)]


@pytest.mark.postgres
def test_a_migration_that_fails_leaves_the_database_as_it_was(connection: Connection) -> None:
    first = known()[:1]
    migrate(connection, first)
    broken = Migration(3, "broken", "select from no_such_table")
    with pytest.raises(psycopg.errors.UndefinedTable):
        migrate(connection, (*first, SECOND, broken))
    assert migrate(connection, (*first, SECOND)) == (2,)


@pytest.mark.postgres
def test_two_processes_that_start_together_apply_each_migration_once(dsn: str) -> None:
    def start() -> tuple[int, ...]:
        with psycopg.connect(dsn, autocommit=True) as connection:
            return migrate(connection, (*known()[:1], SECOND))

    with ThreadPoolExecutor(4) as pool:
        applied = [done.result() for done in [pool.submit(start) for _ in range(4)]]
    assert sorted(applied) == [(), (), (), (1, 2)]


@pytest.mark.postgres
def test_a_newer_database_works_as_long_as_it_says_so(connection: Connection) -> None:
    first = known()[:1]
    migrate(connection, (*first, SECOND))
    assert migrate(connection, first) == ()
    third = Migration(3, "takes_away", "alter table rebalance_monitor.groups drop column note", needs=2)
    migrate(connection, (*first, SECOND, third))
    assert migrate(connection, (*first, SECOND)) == (), "it knows the one that is needed"
    with pytest.raises(NewerSchema) as refused:
        migrate(connection, first)
    assert str(refused.value).startswith(
        "the database is of a newer release (migration 0003 takes_away) on which this one, of migration 0001, cannot"
        " run; start a release of migration 0002 or later, or restore"
    )


@pytest.mark.postgres
def test_a_job_that_cannot_run_on_it_ends_with_this_sentence(
    connection: Connection,
    dsn: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rebalance_monitor.streaming.cli.run.log_to_stderr", lambda: None)  # it would stay
    migrate(connection, known())
    connection.execute("insert into rebalance_monitor.migrations (number, name, needs) values (9999, 'later', 9999)")
    (tmp_path / "monitor.yaml").write_text(
        f"clusters: [{{name: c, bootstrap_servers: 'localhost:1'}}]\ndatabase: {{dsn: '{dsn}'}}\n"
    )
    assert main(["run", "--config", str(tmp_path / "monitor.yaml")]) == 2
    said = capsys.readouterr().err
    assert (said.count("\n"), "of a newer release (migration 9999 later)" in said) == (1, True)
