"""Migrations: numbered without gap or duplicate, applied once, by one process at a time."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from rebalance_monitor.streaming.store.migrations import BadMigrations, known, migrate, ordered


def test_the_files_are_numbered_without_gap_or_duplicate() -> None:
    assert [migration.number for migration in known()] == list(range(1, len(known()) + 1))


@pytest.mark.parametrize(
    "names", [["0002_a.sql"], ["0001_a.sql", "0003_b.sql"], ["0001_a.sql", "0001_b.sql"], ["1_a.sql"], ["0001_A.sql"]]
)
def test_a_gap_a_duplicate_and_a_bad_name_are_refused(names: list[str]) -> None:
    with pytest.raises(BadMigrations):
        ordered([(name, "") for name in names])


@pytest.mark.postgres
def test_two_processes_that_start_together_apply_each_migration_once(dsn: str) -> None:
    def start() -> tuple[int, ...]:
        with psycopg.connect(dsn, autocommit=True) as connection:
            return migrate(connection)

    with ThreadPoolExecutor(4) as pool:
        applied = [done.result() for done in [pool.submit(start) for _ in range(4)]]
    assert sorted(applied) == [(), (), (), tuple(m.number for m in known())]


@pytest.mark.postgres
def test_a_newer_database_still_works(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        migrate(connection)
        connection.execute("insert into rebalance_monitor.migrations (number, name) values (9999, 'later')")
        assert migrate(connection) == ()
