"""One connection to PostgreSQL, opened when needed, and one sentence when it can't be used."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rebalance_monitor.streaming.config.supported import OLDEST_POSTGRESQL
from .schema import place, schema_of

Connection = psycopg.Connection[Any]
# Trouble that someone must mend outside; any other error of PostgreSQL is ours.
_OUTSIDE = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ReadOnlySqlTransaction,
    # A process that stood still inside a transaction finds its connection ended by the server.
    psycopg.errors.IdleInTransactionSessionTimeout,
)


ADVICE = "check database.dsn, that the server runs, and that the user may create a schema there"


RIGHTS = "the rights that its role needs are in docs/security.md"
_DISTRUST = ("certificate verify failed", "signature failure", "root certificate", "does not match host name")
_NOT_TRUSTED = (
    "name the file of the authority that signed the server's certificate in database.dsn (sslrootcert), and the server"
    " by a name that the certificate holds"
)
_NO_TLS = "add sslmode=verify-full and sslrootcert to database.dsn"


_NOTICES: dict[str, Any] = {
    "tcp_user_timeout": 10_000, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
}  # fmt: skip
"""How soon a server that is gone without a word is noticed (libpq), unless the connection text says it otherwise."""
FROZEN_AFTER_S = 10
"""PostgreSQL ends the session of a process that stands still in a transaction: its locks must not outlast its lease."""


class NotSetUp(Exception):
    """The database has no such table, or one of a version before."""


@contextmanager
def set_up() -> Iterator[None]:
    """Statements that are run before any job has made the tables. NotSetUp."""
    try:
        yield
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as why:
        raise NotSetUp from why


class DatabaseUnreachable(Exception):
    """The database can't be reached or used. The text says which, why, and what to do; it holds no password."""


class Database:
    """A connection that is opened again after it broke; used by one thread at a time. Its statements work in the schema
    that the connection text names (`schema`)."""

    def __init__(self, dsn: str, connect_timeout_ms: int = 5_000, advice: str = ADVICE) -> None:
        self._dsn, self._advice = dsn, advice
        self._timeout_s = max(1, connect_timeout_ms // 1000)
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self.address, self.schema = _address(dsn), schema_of(dsn)

    @contextmanager
    def session(self) -> Iterator[Connection]:
        """The connection, each statement its own transaction; trouble with the server becomes DatabaseUnreachable."""
        with self._lock:
            try:
                yield self._open()
            except psycopg.Error as why:
                if not isinstance(why, _OUTSIDE):
                    raise
                self.close()
                raise self._sentence(why) from why

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """The connection inside one transaction: all of it, or nothing after an exception."""
        with self.session() as connection, connection.transaction():
            yield connection

    def version(self) -> int:
        """The server's major version."""
        with self.session() as connection:
            return connection.info.server_version // 10_000

    def close(self) -> None:
        """Closes the connection; the next use opens another."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _open(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                make_conninfo(**(_NOTICES | conninfo_to_dict(self._dsn))),
                autocommit=True,
                connect_timeout=self._timeout_s,
                application_name="rebalance-monitor",
            )
            place(self._connection, self.schema)
            version = self._connection.info.server_version // 10_000
            if version < OLDEST_POSTGRESQL:
                self.close()
                raise DatabaseUnreachable(
                    f"PostgreSQL at {self.address} is version {version}, and {OLDEST_POSTGRESQL} is the oldest that is "
                    "supported; use a newer server"
                )
            # A deposed or frozen writer must not hold the others up for ever.
            self._connection.execute("set lock_timeout = '10s'")
            self._connection.execute(f"set idle_in_transaction_session_timeout = '{FROZEN_AFTER_S}s'")
        return self._connection

    def _sentence(self, why: psycopg.Error) -> DatabaseUnreachable:
        lines = [line.strip() for line in str(why).splitlines() if line.strip()]
        # The first line of a failed connection repeats addresses; the reason stands after the last colon.
        reason = (lines[0] if lines else type(why).__name__).rpartition(": ")[2].strip().rstrip(".")
        return DatabaseUnreachable(f"PostgreSQL at {self.address} can't be used ({reason}); {self._mend(why)}")

    def _mend(self, why: psycopg.Error) -> str:
        """What to do about it."""
        said = str(why)
        # One that is met while connecting has no class of its own.
        if isinstance(why, psycopg.errors.InsufficientPrivilege) or "permission denied" in said:
            return f"{self._advice}; {RIGHTS}"
        if any(one in said for one in _DISTRUST):
            return _NOT_TRUSTED
        return _NO_TLS if said.rstrip().endswith("no encryption") else self._advice


def _address(dsn: str) -> str:
    """Host, port and database of a connection text, without user and password."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise DatabaseUnreachable(
            "database.dsn is not a PostgreSQL connection text;"
            " write it like postgresql://user:password@host:5432/database"
        ) from None
    host, port = parts.get("host") or parts.get("hostaddr") or "the local socket", parts.get("port")
    return f"{host}{f':{port}' if port else ''}/{parts.get('dbname') or ''}"
