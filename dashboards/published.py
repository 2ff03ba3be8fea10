"""Every generated page and file of docs: runbooks, rules, advice, the columns of every published table, the JSON Schema
of every object."""

import json
from collections.abc import Iterator

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.columns import Column, PublishedTable
from rebalance_monitor.streaming.core.connect.advice.proof import advice_page
from rebalance_monitor.streaming.core.metrics import CLUSTER
from rebalance_monitor.streaming.core.model.printed import schema
from rebalance_monitor.streaming.core.tables import TABLES
from .runbooks import rules_table, runbooks

HEAD = """# Tables

Made by `rebalance-monitor dashboards build` from `streaming/core/tables.py`; edit that file.

The columns that queries may rely on, in the schema `rebalance_monitor`. A table may have other columns one day; these
stay. `rebalance-monitor audit` checks that they are there, and what holds of their rows ([audit.md](audit.md)). Objects
in a `document` have the shape that [objects.schema.json](objects.schema.json) describes. Who only reads needs the role
in [maintenance.md](maintenance.md).
"""


def pages(cluster_label: str = CLUSTER) -> dict[str, str]:
    """File name -> text: the runbooks, the table of all rules, and the advice as it was played."""
    return {**runbooks(cluster_label), "rules.md": rules_table(), "connect-steps.md": advice_page(RULES)}


def published() -> dict[str, str]:
    """File name -> text."""
    return {"tables.md": _tables(), "objects.schema.json": json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"}


def _tables() -> str:
    return HEAD + "".join(f"\n{line}" for table in TABLES for line in _section(table)) + "\n"


def _section(table: PublishedTable) -> Iterator[str]:
    yield f"## {table.name}\n"
    yield f"{table.says} Key: {', '.join(f'`{column.name}`' for column in table.columns[: table.key])}.\n"
    yield "| column | type | unit | meaning |\n|---|---|---|---|"
    for column in table.columns:
        yield f"| `{column.name}` | {_type(column)} | {column.measure} | {table.meaning(column)} |"
    yield ""


def _type(column: Column) -> str:
    return column.plain_type + (", may be null" if column.type.endswith("?") else "")
