"""Runs suites with Great Expectations against the database; nothing is written but, when asked for, the Data Docs."""

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from .contract import SCHEMA, Suite
from .quiet import great_expectations
from .report import AuditReport, ContractResult

EXAMPLES = 3
COLUMNS = "columns"
"""Name of the contract that every table has: its published columns are there."""
LONGEST_WHY = 300


def session_options(statement_timeout_ms: int) -> str:
    """What makes a session harmless, as libpq's `options`: it can't write, and no statement lasts."""
    settings = {
        "default_transaction_read_only": "on",
        "statement_timeout": statement_timeout_ms,
        "lock_timeout": statement_timeout_ms,
        "idle_in_transaction_session_timeout": max(60_000, statement_timeout_ms),
    }
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


def audit(
    dsn: str, suites: Iterable[Suite], *, statement_timeout_ms: int, data_docs_dir: Path | None = None
) -> AuditReport:
    """Every contract of these suites, each in a statement and snapshot of its own.

    Raises NotInstalled, and OSError where the Data Docs can't be written.
    """
    gx = great_expectations()
    with _own_temporary_folder(), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        context = gx.get_context(mode="ephemeral")
        context.enable_analytics(False)
        _no_progress_bars(context)
        source = context.data_sources.add_sql(
            name="rebalance-monitor",
            connection_string="postgresql+psycopg://",
            create_temp_table=False,
            kwargs={"connect_args": _connect_arguments(dsn, statement_timeout_ms)},
        )
        findings = [finding for suite in suites for finding in _findings(gx, context, source, suite)]
        if data_docs_dir is not None:
            _write_data_docs(context, data_docs_dir)
    return AuditReport(tuple(findings))


@contextlib.contextmanager
def _own_temporary_folder() -> Iterator[None]:
    """The package leaves a site of its own in the temporary folder; it goes with the folder."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="rebalance-monitor-audit-") as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def _no_progress_bars(context: Any) -> None:
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context.variables.progress_bars = ProgressBarsConfig(globally=False)


def _connect_arguments(dsn: str, statement_timeout_ms: int) -> dict[str, str]:
    """The connection text as libpq's parameters. The password goes past the package, through libpq's own variable."""
    given = {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    password = given.pop("password", None)
    if password is not None:
        os.environ["PGPASSWORD"] = password
    own = session_options(statement_timeout_ms)
    return {**given, "options": f"{given.get('options', '')} {own}".strip(), "application_name": "rebalance-audit"}


def _findings(gx: Any, context: Any, source: Any, suite: Suite) -> list[ContractResult]:
    """The findings of a suite; unknown, all of them, where even its table could not be looked at."""
    try:
        return list(_checked(gx, context, source, suite))
    except Exception as error:  # whatever it was: one table must not hide the others
        why = _failure({"raised_exception": True, "exception_message": str(error)})
        return [
            ContractResult(table=suite.table, contract=name, says=says, outcome="unknown", why=why)
            for name, says in _sentences(suite).items()
        ]


def _sentences(suite: Suite) -> dict[str, str]:
    columns = {COLUMNS: f"the table has the published columns: {', '.join(suite.columns)}"}
    return columns | {contract.name: contract.says for contract in suite.contracts}


def _checked(gx: Any, context: Any, source: Any, suite: Suite) -> Iterator[ContractResult]:
    expectations = gx.expectations
    told = _sentences(suite)
    wanted = [
        expectations.ExpectTableColumnsToMatchSet(
            column_set=list(suite.columns), exact_match=False, description=told[COLUMNS], meta={"contract": COLUMNS}
        )
    ]
    wanted += [
        expectations.UnexpectedRowsExpectation(
            # The package asks for the placeholder; the query names its tables itself.
            unexpected_rows_query=f"/* {{batch}} */ {contract.broken.strip()}",
            description=contract.says,
            meta={"contract": contract.name},
        )
        for contract in suite.contracts
    ]
    asset = source.add_table_asset(name=suite.table, table_name=suite.table, schema_name=SCHEMA)
    validation = context.validation_definitions.add(
        gx.ValidationDefinition(
            name=suite.table,
            data=asset.add_batch_definition_whole_table("all rows"),
            suite=context.suites.add(gx.ExpectationSuite(name=suite.table, expectations=wanted)),
        )
    )
    # A contract that the package gives no result for would be a KeyError here: never taken for kept.
    outcome = {one.expectation_config.meta["contract"]: one for one in validation.run(result_format="COMPLETE").results}
    for name, says in told.items():
        yield _finding(suite, name, says, outcome[name].to_json_dict())


def _finding(suite: Suite, name: str, says: str, found: Mapping[str, Any]) -> ContractResult:
    why = _failure(found.get("exception_info") or {})
    if why is not None:
        return ContractResult(table=suite.table, contract=name, says=says, outcome="unknown", why=why)
    if found["success"]:
        return ContractResult(table=suite.table, contract=name, says=says, outcome="kept")
    result = found["result"]
    if name == COLUMNS:
        missing = sorted(set(suite.columns) - set(result["observed_value"]))
        examples: tuple[Mapping[str, Any], ...] = ({"missing": missing},)
        return ContractResult(
            table=suite.table, contract=name, says=says, outcome="broken", rows=len(missing), examples=examples
        )
    rows = result.get("details", {}).get("unexpected_rows") or []
    return ContractResult(
        table=suite.table,
        contract=name,
        says=says,
        outcome="broken",
        rows=int(result["observed_value"]),
        examples=tuple(rows[:EXAMPLES]),
    )


def _failure(info: Mapping[str, Any]) -> str | None:
    """The first reason in what the package tells of exceptions, of one or of each metric; None where there was none."""
    told = [info] if "raised_exception" in info else [one for one in info.values() if isinstance(one, Mapping)]
    for result in told:
        if result.get("raised_exception"):
            lines = [line.strip() for line in str(result.get("exception_message") or "").splitlines() if line.strip()]
            return (lines[0] if lines else "the query could not be run")[:LONGEST_WHY]
    return None


def _write_data_docs(context: Any, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    context.add_data_docs_site(
        "rebalance-monitor",
        {
            "class_name": "SiteBuilder",
            "show_how_to_buttons": False,
            "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder.resolve())},
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        },
    )
    context.build_data_docs(["rebalance-monitor"])
