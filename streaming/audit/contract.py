"""What a contract is: a sentence about a table, and a query for the rows that break it."""

from dataclasses import dataclass

from rebalance_monitor.streaming.core.columns import PublishedTable

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


def suite(table: PublishedTable, *contracts: Contract) -> Suite:
    return Suite(table.name, tuple(column.name for column in table.columns), contracts)


def known_values(name: str, table: str, column: str, values: str, key: str) -> Contract:
    """The column holds one of these values (separated by blanks); `key` says which columns name a row."""
    listed = ", ".join(f"'{value}'" for value in values.split())
    return Contract(
        name,
        f"{column} is one of {', '.join(values.split())}",
        f'select {key}, "{column}" from {SCHEMA}.{table} where "{column}" not in ({listed})',
    )


def document_fits(name: str, table: PublishedTable, key: str, more: str = "") -> Contract:
    """The columns that have a place in the document are what it has there. `more`: SQL of another way to differ; a row
    is `g`, its document `d` with the keys of its columns."""
    lateral, differs = compared(table, "g.document", "g")
    return Contract(
        name,
        "the document says what the columns say",
        f"select {key} from {SCHEMA}.{table.name} g {lateral} where {differs} {more}",
    )


def compared(table: PublishedTable, document: str, row: str) -> tuple[str, str]:
    """SQL that opens a document as `d`, each only once, and SQL for whether a column of `row` is not what it has.

    Numbers compare as they are, whatever the type of the column; a name that was shortened is not compared.
    """
    keys: dict[str, str] = {}
    differ = []
    for column in table.columns:
        if column.place is not None:
            top, *inner = column.place.split(".")
            number = column.plain_type in ("int4", "int8")
            keys[top] = "jsonb" if inner else "numeric" if number else column.plain_type
            told, own = f'd."{top}"', f'{row}."{column.name}"'
            if inner:
                path = "".join(f" -> '{one}'" for one in inner[:-1])
                told = f"({told}{path} ->> '{inner[-1]}')" + ("::numeric" if number else "")
            told = f"nullif({told}, 'null')" if column.plain_type == "jsonb" else told
            shortened = f" and left(right({own}, 33), 1) <> '…'" if column.longest else ""
            differ.append(f"({told} is distinct from {own}{'::numeric' if number else ''}{shortened})")
    shape = ", ".join(f'"{top}" {kind}' for top, kind in keys.items())
    return f"cross join lateral jsonb_to_record({document}) as d ({shape})", " or ".join(differ)
