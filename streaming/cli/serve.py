"""`serve`: the page and the JSON API in a process of their own; `run` starts it, and keeps it running, as a child."""

import logging
import os
import subprocess
import sys
import threading

from streaming.cli.errors import InputError
from streaming.config import ConfigError, Settings, load

DONE, BAD_INPUT = 0, 2
CONNECTIONS = 4
STATEMENT_TIMEOUT_MS = 10_000
PAUSES_S = (1.0, 5.0, 30.0)
# Enough for one statement after the other; the page must never be able to write.
READ_ONLY = f"-c default_transaction_read_only=on -c statement_timeout={STATEMENT_TIMEOUT_MS}"
log = logging.getLogger("rebalance_monitor.page")


def serve(config: str | None, monitor_url: str | None = None, *, child: bool = False) -> int:
    """Serves until a signal; 0 then. `monitor_url` is where the job's /metrics are, `child`: end when stdin closes."""
    try:
        settings = load(config, os.environ)
    except ConfigError as why:
        raise InputError(str(why)) from why
    if settings.database.dsn is None:
        where = config or "the configuration"
        raise InputError(f"{where}: database.dsn is missing; give a PostgreSQL connection text")
    try:
        import jinja2  # noqa: F401 - only whether it is there
        import psycopg  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as why:
        raise InputError(f"{why.name} is not installed; install rebalance-monitor[run]") from why
    return _serve(settings, monitor_url, child=child)


def _serve(settings: Settings, monitor_url: str | None, *, child: bool) -> int:
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    from streaming.cli.run import package_version
    from streaming.sinks.database import Database, DatabaseUnreachable
    from streaming.web import serve as web
    from streaming.web.api import Source
    from streaming.web.reader import Reader
    from streaming.web.scope import Scope, Token
    from streaming.web.upstream import Job

    assert settings.database.dsn is not None
    dsn, page = settings.database.dsn.get_secret_value(), settings.page
    clusters = settings.core_clusters()

    def team_of(cluster: str, group: str) -> str:
        known = clusters.get(cluster)
        owner = None if known is None else known.owner_of(group)
        return "" if owner is None else owner.team

    _log_to_stderr()
    try:
        Database(dsn)  # whether the text is one, before it is taken apart
        options = f"{conninfo_to_dict(dsn).get('options') or ''} {READ_ONLY}".strip()
        quiet = make_conninfo(dsn, options=options)
        reader = Reader(
            [Database(quiet, settings.database.connect_timeout_ms) for _ in range(CONNECTIONS)], DatabaseUnreachable
        )
    except DatabaseUnreachable as why:
        raise InputError(str(why)) from why
    job = Job(monitor_url or page.monitor_url or _job_url(settings))
    tokens = [
        Token(one.token.get_secret_value(), Scope(one.name, one.clusters, one.teams)) for one in settings.page.tokens
    ]
    source = Source(
        reader=reader,
        job=job,
        team_of=team_of,
        windows=tuple(one.core() for one in settings.maintenance),
        version=package_version(),
    )
    try:
        web.serve(
            web.Address(host=page.host, port=page.port, hosts=page.hosts),
            source,
            tokens,
            listening=lambda url: print(f"page at {url}", file=sys.stderr, flush=True),
            parent=sys.stdin.buffer if child else None,
        )
    except web.AddressTaken as why:
        raise InputError(str(why)) from why
    finally:
        reader.close()
        job.close()
    return DONE


def _log_to_stderr() -> None:
    """One line for each thing that went wrong; the server's own traces say nothing that a line of ours does not."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.handlers[:] = [handler]
    log.propagate = False
    logging.getLogger("uvicorn.error").disabled = True


def _job_url(settings: Settings) -> str:
    """The job's own endpoint, from the configuration it runs with."""
    host = settings.http.host
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{settings.http.port}" if ":" in host else f"http://{host}:{settings.http.port}"


class PageProcess:
    """The page beside the job. It never holds the job up: when it ends by itself it is started again, ever later."""

    def __init__(self, config: str | None, monitor_url: str) -> None:
        given = [] if config is None else ["--config", config]
        self._command = [sys.executable, "-m", "streaming", "serve", *given, "--monitor-url", monitor_url, "--child"]
        self._ending = threading.Event()
        self.process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._keep, name="page", daemon=True)

    def start(self) -> None:
        """Starts it and returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ends it: its stdin closes, which also happens when this process is killed."""
        self._ending.set()
        process = self.process
        if process is not None and process.stdin is not None:
            process.stdin.close()
        if self._thread.is_alive():
            self._thread.join(10)

    def _keep(self) -> None:
        tries = 0
        while not self._ending.is_set():
            # A session of its own: a signal from the terminal is the job's to answer.
            process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
            )
            self.process = process
            last = ""
            assert process.stderr is not None
            for line in process.stderr:
                last = line.strip()
                if last.startswith("page at "):
                    tries = 0
                    log.info("page", extra={"fields": {"url": last.removeprefix("page at ")}})
                elif not last.startswith("rebalance-monitor: "):
                    log.warning("page says", extra={"fields": {"text": last}})
            code = process.wait()
            if self._ending.is_set():
                return
            pause = PAUSES_S[min(tries, len(PAUSES_S) - 1)]
            why = last.removeprefix("rebalance-monitor: ")
            log.warning("page ended", extra={"fields": {"code": code, "why": why, "again_in_s": pause}})
            tries += 1
            self._ending.wait(pause)
