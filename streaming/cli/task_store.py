"""The store of a process that folds for the job.

Only what is no secret is sent to it. The address of the database, with its password, the process reads itself: from the
environment that it has from the job, or on another machine from the configuration there. A configuration that is edited
changes nothing of a running job. Should a worker read another database from it, the writer's epoch does not fit there,
and nothing is written.
"""

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from .opening import database_dsn, settings_from
from .shadow import shadow_dsn
from .version import package_version

if TYPE_CHECKING:
    from rebalance_monitor.streaming.store.maintenance import Windows
    from rebalance_monitor.streaming.store.postgres import PostgresStore

DSN = "REBALANCE_MONITOR__DATABASE__DSN"
"""The variable that outranks `database.dsn` of the file."""


@dataclass(frozen=True, slots=True)
class TaskStore:
    """Opens the store, once in each process. `windows`: maintenance of the configuration; `config`: its file;
    `shadow`: the schema of a job beside the live one."""

    config: str | None
    connect_timeout_ms: int
    undecodable_kept: int
    notify: bool
    windows: tuple[Maintenance, ...]
    shadow: str | None = None

    def __call__(self) -> "PostgresStore":
        return _opened(self)

    def open(self, dsn: str, windows: "Windows", cluster: str = "") -> "PostgresStore":
        """A store of one's own. `cluster`: whose writer it is to become."""
        from rebalance_monitor.streaming.store.postgres import PostgresStore

        return PostgresStore(
            dsn,
            cluster,
            connect_timeout_ms=self.connect_timeout_ms,
            undecodable_kept=self.undecodable_kept,
            notify=self.notify,
            version=package_version(),
            windows=windows,
        )


def task_store(settings: Settings, config: str | None, *, notify: bool, shadow: str | None = None) -> TaskStore:
    """As the configuration says. `notify`: somebody drains the outbox."""
    return TaskStore(
        None if config is None else os.path.abspath(config),
        settings.database.connect_timeout_ms,
        settings.database.undecodable_kept,
        notify,
        tuple(one.core() for one in settings.maintenance),
        shadow,
    )


@cache
def _opened(of: TaskStore) -> "PostgresStore":
    from rebalance_monitor.streaming.store.maintenance import Windows

    dsn = os.environ.get(DSN) or database_dsn(settings_from(of.config), of.config)
    return of.open(dsn if of.shadow is None else shadow_dsn(dsn, of.shadow), Windows(of.windows))
