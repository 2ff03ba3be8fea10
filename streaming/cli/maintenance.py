"""`maintenance`: windows during which nobody is notified of incidents, given on the command line."""

import argparse
import getpass
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance, problem
from .exit_codes import DONE, InputError
from .moments import clock_ms, duration_ms, moment_ms
from .opening import need, settings_from
from .output import print_json
from .terminal import Terminal

if TYPE_CHECKING:
    from rebalance_monitor.streaming.store.database import Connection
    from rebalance_monitor.streaming.store.maintenance import Stored


def add(arguments: argparse.Namespace) -> int:
    check_printable(arguments, "cluster", "groups", "owner", "reason")
    window = _window(arguments, clock_ms())
    settings = settings_from(arguments.config)
    if settings.clusters and not any(fnmatchcase(one.name, window.cluster) for one in settings.clusters):
        names = ", ".join(one.name for one in settings.clusters)
        raise InputError(f"--cluster {window.cluster} fits none of the configured clusters ({names})")
    with writer(settings) as connection:
        from rebalance_monitor.streaming.store import maintenance

        number = maintenance.add(connection, window, operator())
    until = _utc(window.until_ms)
    print(f"window {number}: groups {window.groups} of {window.cluster} until {until}, then notifications go on")
    return DONE


def _window(arguments: argparse.Namespace, now_ms: int) -> Maintenance:
    """The window as typed; InputError says what is wrong with it."""
    given = {name: getattr(arguments, name).strip() for name in ("owner", "reason")}
    given |= {"groups": arguments.groups, "cluster": arguments.cluster}
    for name, text in given.items():
        if not text:
            raise InputError(f"--{name} is empty; say who answers for the window, why, and for which groups")
    from_ms = now_ms if arguments.begins is None else moment_ms(arguments.begins, "--begins")
    until_ms = from_ms + duration_ms(arguments.lasts, "--for")
    wrong = problem(from_ms, until_ms) or ("must end in the future" if until_ms <= now_ms else None)
    if wrong is not None:
        raise InputError(f"the window {wrong}; see --begins and --for")
    return Maintenance(**given, from_ms=from_ms, until_ms=until_ms)


def check_printable(arguments: argparse.Namespace, *names: str) -> None:
    """Raises InputError unless these can be kept in the database, and shown to others."""
    for name in names:
        if not (getattr(arguments, name) or "").isprintable():
            raise InputError(f"the value of {name} must hold printable characters only; correct it")


def show(arguments: argparse.Namespace) -> int:
    """Prints the windows that run or are planned, the configuration's too; with --all past ones."""
    settings, now_ms, everything = settings_from(arguments.config), clock_ms(), arguments.everything
    configured = [one.core() for one in settings.maintenance]
    with writer(settings) as connection:
        from rebalance_monitor.streaming.store import maintenance

        stored = maintenance.listed(connection, now_ms, everything=everything)
    objects = [_object(one, one.state(now_ms)) for one in configured if everything or one.until_ms > now_ms]
    objects += [_object(one.window, one.state(now_ms), one) for one in stored]
    if arguments.output == "json":
        for window in objects:
            print_json(window)
    else:
        _table(objects)
    return DONE


def end(arguments: argparse.Namespace) -> int:
    check_printable(arguments, "window_id")
    window_id = arguments.window_id
    with writer(settings_from(arguments.config)) as connection:
        from rebalance_monitor.streaming.store import maintenance

        try:
            maintenance.end(connection, window_id, operator())
        except maintenance.NoSuchWindow as why:
            raise InputError(str(why)) from why
    print(f"window {window_id} is ended; people are notified of open incidents again")
    return DONE


@contextmanager
def writer(settings: Settings, lacks: str = "table of windows") -> "Iterator[Connection]":
    """The database as the role that may write windows. `lacks`: what is not there where no job has made the tables."""
    need("run", "psycopg")
    from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable, NotSetUp

    dsn = settings.database.maintenance_dsn or settings.database.dsn
    if dsn is None:
        raise InputError("database.maintenance_dsn and database.dsn are missing; give a PostgreSQL connection text")
    try:
        database = Database(
            dsn.get_secret_value(),
            settings.database.connect_timeout_ms,
            advice="check database.maintenance_dsn (or dsn), that the server runs, and the role's rights"
            " (docs/maintenance.md)",
        )
        with closing(database), database.session() as connection:
            yield connection
    except DatabaseUnreachable as why:
        raise InputError(str(why)) from why
    except NotSetUp:
        raise InputError(
            f"the database has no {lacks} yet; start `rebalance-monitor run` of this version once"
        ) from None


def operator() -> str:
    """The account on this machine, as it says."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _utc(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _object(window: Maintenance, state: str, stored: "Stored | None" = None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "kind": "maintenance",
        "id": window.window_id or None,
        "state": state,
        "cluster": window.cluster,
        "groups": window.groups,
        "owner": window.owner,
        "reason": window.reason,
        "begins": _utc(window.from_ms),
        "ends": _utc(window.until_ms),
        "from": "configuration" if stored is None else "command line",
    }
    if stored is not None:
        shown["added"] = {"at": stored.added_at.isoformat(), "by": stored.added_by, "operator": stored.operator}
        shown["ended"] = None
        if stored.ended_at is not None:
            ended = {"at": stored.ended_at.isoformat(), "by": stored.ended_by, "operator": stored.ended_operator}
            shown["ended"] = ended
    return shown


def _table(objects: list[dict[str, Any]]) -> None:
    if not objects:
        print("no window runs or is planned")
        return
    table = Table("id", "state", "cluster", "groups", "begins", "ends", "owner", "added by", "reason", box=None)
    for window in objects:
        added = window.get("added")
        by = f"{added['operator']} as {added['by']}" if added else "configuration"
        keys = ("state", "cluster", "groups", "begins", "ends", "owner")
        table.add_row(window["id"] or "-", *(Text(window[key]) for key in keys), Text(by), Text(window["reason"]))
    Terminal().print_whole(table)
