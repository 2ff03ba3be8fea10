"""`maintenance`: windows during which nobody is notified of incidents, given on the command line."""

import getpass
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A window as typed."""

    cluster: str
    groups: str
    owner: str
    reason: str
    lasts: str
    begins: str | None = None

    def window(self, now_ms: int) -> Maintenance:
        """The window; InputError says what is wrong with it."""
        for name in ("owner", "reason", "groups", "cluster"):
            if not getattr(self, name):
                raise InputError(f"--{name} is empty; say who answers for the window, why, and for which groups")
        from_ms = now_ms if self.begins is None else moment_ms(self.begins, "--begins")
        until_ms = from_ms + duration_ms(self.lasts, "--for")
        wrong = problem(from_ms, until_ms) or ("must end in the future" if until_ms <= now_ms else None)
        if wrong is not None:
            raise InputError(f"the window {wrong}; see --begins and --for")
        return Maintenance(
            cluster=self.cluster, groups=self.groups, owner=self.owner, reason=self.reason,
            from_ms=from_ms, until_ms=until_ms,
        )  # fmt: skip


def add(config: str | None, given: Given) -> int:
    """Adds a window and prints it."""
    window = given.window(clock_ms())
    settings = settings_from(config)
    if not _covers_a_cluster(settings, window.cluster):
        names = ", ".join(one.name for one in settings.clusters)
        raise InputError(f"--cluster {window.cluster} fits none of the configured clusters ({names})")
    with writer(settings) as connection:
        from rebalance_monitor.streaming.store import maintenance

        number = maintenance.add(connection, window, operator())
    until = _utc(window.until_ms)
    print(f"window {number}: groups {window.groups} of {window.cluster} until {until}, then notifications go on")
    return DONE


def show(config: str | None, *, everything: bool, output: str) -> int:
    """Prints the windows that run or are planned, the configuration's too; with `everything` past ones."""
    settings, now_ms = settings_from(config), clock_ms()
    configured = [one.core() for one in settings.maintenance]
    with writer(settings) as connection:
        from rebalance_monitor.streaming.store import maintenance

        stored = maintenance.listed(connection, now_ms, everything=everything)
    objects = [_object(one, one.state(now_ms)) for one in configured if everything or one.until_ms > now_ms]
    objects += [_object(one.window, one.state(now_ms), one) for one in stored]
    if output == "json":
        for window in objects:
            print_json(window)
    else:
        _table(objects)
    return DONE


def end(config: str | None, window_id: str) -> int:
    with writer(settings_from(config)) as connection:
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


def _covers_a_cluster(settings: Settings, pattern: str) -> bool:
    return not settings.clusters or any(fnmatchcase(one.name, pattern) for one in settings.clusters)


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
