"""`audit`: whether the published tables keep their contracts; `run` starts it now and then, as a child."""

import argparse
import os
import sys
import threading
from contextlib import closing
from typing import Any

from rebalance_monitor.streaming.config.settings import Settings
from .exit_codes import CANNOT_TELL, DONE, ENDED, FOUND, InputError
from .opening import database_dsn, need, settings_from
from .output import print_json


def audit(arguments: argparse.Namespace) -> int:
    """0 every contract is kept, 1 one is broken, 3 one could not be told. InputError: unreachable, not installed.

    A child gives way to the job, and ends when stdin closes. It still gets a share of a busy machine: at the lowest
    priority an audit beside other work did not end in minutes, and was said to hang.
    """
    if arguments.child:
        os.nice(10)
        threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    config = arguments.config
    settings = settings_from(config)
    reader = settings.audit.dsn
    dsn = database_dsn(settings, config) if reader is None else reader.get_secret_value()
    need("audit", "psycopg")
    return _audit(settings, dsn, arguments.output)


def _audit(settings: Settings, dsn: str, output: str) -> int:
    from rebalance_monitor.streaming.audit.checking import audit as check
    from rebalance_monitor.streaming.audit.quiet import NotInstalled
    from rebalance_monitor.streaming.audit.report import AuditReport, finding_object, summary_object
    from rebalance_monitor.streaming.audit.suites import SUITES

    _can_read(dsn, settings, [suite.table for suite in SUITES])
    folder = settings.audit.data_docs_dir
    try:
        report: AuditReport = check(
            dsn, SUITES, statement_timeout_ms=settings.audit.statement_timeout_ms, data_docs_dir=folder
        )
    except NotInstalled as why:
        raise InputError(f"{why} is not installed; install rebalance-monitor[audit]") from why
    except OSError as why:
        raise InputError(f"the Data Docs can't be written to {folder} ({why.strerror or why})") from why
    if output == "json":
        for item in (*map(finding_object, report.findings), summary_object(report)):
            print_json(item)
    else:
        _print(report)
    if report.of("broken"):
        return FOUND
    return CANNOT_TELL if report.of("unknown") else DONE


def _can_read(dsn: str, settings: Settings, tables: list[str]) -> None:
    """One sentence for what the package would tell in pages: no server, no tables yet, no right to read."""
    from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable

    advice = "check audit.dsn (else database.dsn), that the server runs, and that the role may read the schema"
    try:
        with (
            closing(Database(dsn, settings.database.connect_timeout_ms, advice)) as database,
            database.session() as connection,
        ):
            found = connection.execute(
                "select c.relname, has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')"
                " from pg_class c join pg_namespace n on n.oid = c.relnamespace"
                " where n.nspname = 'rebalance_monitor' and c.relname = any(%s)",
                (tables,),
            ).fetchall()
            address = database.address
    except DatabaseUnreachable as why:
        raise InputError(str(why)) from why
    readable: dict[str, bool] = dict(found)
    if missing := [table for table in tables if table not in readable]:
        raise InputError(
            f"PostgreSQL at {address} has no table rebalance_monitor.{missing[0]};"
            " start `rebalance-monitor run` of this version once, it makes what is missing"
        )
    if hidden := [table for table in tables if not readable[table]]:
        raise InputError(
            f"this role may not read rebalance_monitor.{hidden[0]}; grant usage on schema rebalance_monitor"
            " and select on all tables in schema rebalance_monitor to it"
        )


def _print(report: Any) -> None:
    for finding in report.findings:
        if finding.outcome == "broken":
            print(f"broken   {finding.table}.{finding.contract}: {finding.says}")
            for example in finding.examples:
                print("           " + ", ".join(f"{name} {value}" for name, value in example.items()))
            if finding.rows > len(finding.examples):
                print(f"           {finding.rows} rows in all")
        elif finding.outcome == "unknown":
            print(f"unknown  {finding.table}.{finding.contract}: {finding.why}")
    broken, unknown = len(report.of("broken")), len(report.of("unknown"))
    print(f"{len(report.findings)} contracts: {len(report.of('kept'))} kept, {broken} broken, {unknown} unknown")


def _end_with_parent() -> None:
    """The pipe tells even of a parent that was killed."""
    try:
        while os.read(sys.stdin.fileno(), 1024):
            pass
    except (OSError, ValueError):
        pass
    os._exit(ENDED)
