"""`serve`: the page and the JSON API in a process of their own; `run` starts it, and keeps it running, as a child."""

import argparse
import faulthandler
import logging
import signal
import ssl
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from rebalance_monitor.streaming.config.certificates import Pinned
from rebalance_monitor.streaming.config.section import is_http_url
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.catalogue import CATALOGUE
from rebalance_monitor.streaming.core.incidents.damping import damping_of
from rebalance_monitor.streaming.core.lifecycles import REGISTRY
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, expectations, teams
from .exit_codes import DONE, InputError
from .opening import certificate, database_dsn, need, settings_from
from .version import package_version

if TYPE_CHECKING:
    from rebalance_monitor.streaming.web.upstream import StreamingJob

CONNECTIONS = 4
STATEMENT_TIMEOUT_MS = 10_000
# Enough for one statement after the other; the page must never be able to write.
READ_ONLY = f"-c default_transaction_read_only=on -c statement_timeout={STATEMENT_TIMEOUT_MS}"
log = logging.getLogger("rebalance_monitor.page")


def serve(arguments: argparse.Namespace) -> int:
    """Serves until a signal, and as a child until stdin closes; 0 then."""
    config, monitor_url = arguments.config, arguments.monitor_url
    if monitor_url is not None and not is_http_url(monitor_url):
        raise InputError(f"--monitor-url {monitor_url!r} is no URL; give one such as http://127.0.0.1:9470")
    settings = settings_from(config)
    dsn = database_dsn(settings, config)
    tls = certificate("page.tls", settings.page.tls, _certificate_read)
    need("run", "jinja2", "psycopg", "starlette", "uvicorn")
    return _serve(settings, dsn, monitor_url, tls, child=arguments.child)


def read_only(dsn: str) -> str:
    """The same database for one that only reads, and waits for no statement longer than STATEMENT_TIMEOUT_MS."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    return make_conninfo(dsn, options=f"{conninfo_to_dict(dsn).get('options') or ''} {READ_ONLY}".strip())


def _serve(settings: Settings, dsn: str, monitor_url: str | None, tls: ssl.SSLContext | None, *, child: bool) -> int:
    from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
    from rebalance_monitor.streaming.web import serve as web
    from rebalance_monitor.streaming.web.api import PageSource
    from rebalance_monitor.streaming.web.reader import Reader
    from rebalance_monitor.streaming.web.scope import Scope, Token

    page = settings.page
    _log_to_stderr()
    if child:
        faulthandler.register(signal.SIGUSR1)  # the job asks so what a page that says nothing is doing
    try:
        Database(dsn)  # whether the text is one, before it is taken apart
        quiet = read_only(dsn)
        reader = Reader(
            [Database(quiet, settings.database.connect_timeout_ms) for _ in range(CONNECTIONS)], DatabaseUnreachable
        )
    except DatabaseUnreachable as why:
        raise InputError(str(why)) from why
    job = _job(settings, monitor_url, child=child)
    tokens = [
        Token(one.token.get_secret_value(), Scope(one.name, one.clusters, one.teams)) for one in settings.page.tokens
    ]
    source = PageSource(
        reader=reader,
        job=job,
        team_of=teams(settings.core_clusters()),
        windows=tuple(one.core() for one in settings.maintenance),
        version=package_version(),
        topics_of=_topics_of(settings),
        lasts_ms=_lasts_ms(settings),
        expects_of=expectations(settings.core_clusters()),
    )
    try:
        web.serve(
            web.Address(host=page.host, port=page.port, hosts=page.hosts, tls=tls),
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


def _job(settings: Settings, monitor_url: str | None, *, child: bool) -> "StreamingJob":
    """The job that this page speaks of. Its certificate is known where its address is that of this configuration."""
    from rebalance_monitor.streaming.web.upstream import StreamingJob

    elsewhere = None if child else monitor_url or settings.page.monitor_url
    if elsewhere is not None or settings.http.tls is None:
        return StreamingJob(elsewhere or monitor_url or settings.http.reached_at)
    return StreamingJob(monitor_url or settings.http.reached_at, pinned=Pinned(settings.http.tls))


def _certificate_read(problem: str | None) -> None:
    log.warning(problem or "page.tls: the files have changed, and their certificate is in use")


def _topics_of(settings: Settings) -> Callable[[tuple[str, str]], list[str]]:
    """The topics of a group beside the coordinator's log, by (cluster, group)."""
    clusters = settings.core_clusters()

    def topics(key: tuple[str, str]) -> list[str]:
        cluster = clusters.get(key[0])
        return [] if cluster is None else list(REGISTRY.topics(cluster, key[1]))

    return topics


def _lasts_ms(settings: Settings) -> Callable[[str, str, str], int]:
    """How long an incident of (cluster, group, rule's code) lasts before people are notified, as configured; ms."""
    clusters = settings.core_clusters()
    return lambda cluster, group, code: damping_of(
        CATALOGUE, clusters.get(cluster, ClusterSettings(name=cluster)), group, code
    )[0]


def _log_to_stderr() -> None:
    """One line for each thing that went wrong; the server's own traces say nothing that a line of ours does not."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.handlers[:] = [handler]
    log.propagate = False
    logging.getLogger("uvicorn.error").disabled = True
