"""What a contract is: a sentence about a table, and a query for the rows that break it."""

from dataclasses import dataclass

from rebalance_monitor.streaming.core.tables import Table

SCHEMA = "rebalance_monitor"


@dataclass(frozen=True, slots=True)
class Contract:
    """`broken` selects the keys of every row against `says`; no row means that the contract is kept.

    The query knows the tables and nothing of the program: an error in the fold must not hide itself here. It names
    tables with their schema, has no braces and no parameters.
    """

    name: str
    says: str
    broken: str


@dataclass(frozen=True, slots=True)
class Suite:
    """One published table: the columns that queries may rely on, and what holds of its rows."""

    table: str
    columns: tuple[str, ...]
    contracts: tuple[Contract, ...]


def suite(table: Table, *contracts: Contract) -> Suite:
    """The suite of a declared table."""
    return Suite(table.name, tuple(column.name for column in table.columns), contracts)


def known_values(name: str, table: str, column: str, values: str, key: str) -> Contract:
    """The column holds one of these values (separated by blanks); `key` says which columns name a row."""
    listed = ", ".join(f"'{value}'" for value in values.split())
    return Contract(
        name,
        f"{column} is one of {', '.join(values.split())}",
        f'select {key}, "{column}" from {SCHEMA}.{table} where "{column}" not in ({listed})',
    )
