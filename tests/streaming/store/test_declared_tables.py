"""The migrations make what `core/tables.py` declares."""

import pytest

from rebalance_monitor.streaming.core.columns import Column, PublishedTable
from rebalance_monitor.streaming.core.tables import TABLES
from rebalance_monitor.streaming.store.postgres import PostgresStore

pytestmark = pytest.mark.postgres
INTERNAL = {
    "migrations", "writer", "leases", "states", "kept_states", "waiting_rows", "known_ends", "topic_samples",
    "stored_generations", "stored_contents", "stored_assignments", "coordinator_reasons", "coordinator_log_positions",
}  # fmt: skip
VIEWS = {"assignments", "bursts", "connector_costs", "costs", "generations", "members"}
"""Of their columns the database does not know which are never null."""


def _type(table: PublishedTable, column: Column) -> str:
    return f"{column.plain_type}?" if table.name in VIEWS else column.type


def test_the_database_has_the_declared_columns_and_no_others(store: PostgresStore) -> None:
    with store.database.session() as connection:
        rows = connection.execute(
            "select table_name::text, column_name::text, udt_name || case is_nullable when 'YES' then '?' else '' end"
            " from information_schema.columns join pg_class c"
            " on c.oid = format('%I.%I', table_schema, table_name)::regclass"
            " where table_schema = 'rebalance_monitor' and not c.relispartition"
        ).fetchall()
    found = {f"{table}.{column} {kind}" for table, column, kind in rows if table not in INTERNAL}
    declared = {f"{table.name}.{column.name} {_type(table, column)}" for table in TABLES for column in table.columns}
    assert {"declared, not in the database": declared - found, "in the database, not declared": found - declared} == {
        "declared, not in the database": set(),
        "in the database, not declared": set(),
    }


def test_the_keys_are_the_declared_ones(store: PostgresStore) -> None:
    with store.database.session() as connection:
        rows = connection.execute(
            "select c.relname::text, array_agg(a.attname::text order by a.attname) from pg_index i join pg_class c on"
            " c.oid = i.indrelid join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)"
            " where i.indisprimary and c.relnamespace = 'rebalance_monitor'::regnamespace and not c.relispartition"
            " group by 1"
        ).fetchall()
    declared = {table.name: sorted(column.name for column in table.columns[: table.key]) for table in TABLES}
    found = {table: columns for table, columns in rows if table not in INTERNAL}
    assert found == {table: columns for table, columns in declared.items() if table not in VIEWS}
