"""Every declared column says what it means, and has the type of what the object has at its place."""

from typing import Any

import pytest

from rebalance_monitor.streaming.core.columns import Column, PublishedTable
from rebalance_monitor.streaming.core.model.published import DEFS, schema_name, schemas
from rebalance_monitor.streaming.core.tables import TABLES

COLUMNS = [
    pytest.param(table, column, id=f"{table.name}.{column.name}") for table in TABLES for column in table.columns
]
TYPES = {"integer": {"int4", "int8"}, "string": {"text"}, "boolean": {"bool"}, "array": {"jsonb"}, "object": {"jsonb"}}


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_column_says_what_it_means(table: PublishedTable, column: Column) -> None:
    assert table.meaning(column).endswith((".", "…"))


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_column_has_the_type_of_its_key(table: PublishedTable, column: Column) -> None:
    if table.of is None or column.place is None:
        return
    found = schemas([table.of])
    types = {"object"}
    within = found[schema_name(table.of)]
    nullable = False
    for key in column.place.split("."):
        nullable = nullable or key not in within["required"]
        types = set(types_of(within["properties"][key], found))
        nullable = nullable or "null" in types
        within = resolved(within["properties"][key], found)
    assert column.type.endswith("?") == nullable
    assert {column.plain_type} <= set.union(*(TYPES[one] for one in types - {"null"}))


def types_of(schema: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Type names of a schema."""
    if "oneOf" in schema:
        return [kind for one in schema["oneOf"] for kind in types_of(one, found)]
    if "enum" in schema:
        return ["null" if one is None else "string" for one in schema["enum"]]
    kinds = resolved(schema, found).get("type", "object")
    return [kinds] if isinstance(kinds, str) else kinds


def resolved(schema: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The object that a schema is or refers to, itself where there is none."""
    for one in (schema, *schema.get("oneOf", ())):
        if "$ref" in one:
            return dict(found[one["$ref"].removeprefix(DEFS)])
    return schema
