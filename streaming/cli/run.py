"""`run`: the streaming job with its store, its metrics endpoint and its pusher, until a signal."""

import logging
import os
import sys
from importlib.metadata import PackageNotFoundError, version

from streaming.cli.errors import InputError
from streaming.config import ConfigError, Settings, load

DONE = 0


def run(config: str | None) -> int:
    """0 after a graceful stop. InputError where something outside must be mended first."""
    try:
        settings = load(config, os.environ)
    except ConfigError as why:
        raise InputError(str(why)) from why
    where = config or "the configuration"
    if not settings.clusters:
        raise InputError(f"{where}: clusters is empty, so there is nothing to watch; list at least one cluster")
    if settings.database.dsn is None:
        raise InputError(f"{where}: database.dsn is missing; give a PostgreSQL connection text")
    try:
        import pyspark  # noqa: F401 - only whether it is there

        import streaming.sinks.postgres
        import streaming.spark.job  # noqa: F401
    except ImportError as why:
        raise InputError(f"{why.name} is not installed; install rebalance-monitor[run]") from why
    return _run(settings, config)


def _run(settings: Settings, config: str | None) -> int:
    from streaming.cli import telling
    from streaming.cli.auditing import AuditProcess, installed
    from streaming.cli.serve import PageProcess
    from streaming.sinks.database import DatabaseUnreachable
    from streaming.sinks.delivery import Delivery
    from streaming.sinks.heartbeat import Heartbeat
    from streaming.sinks.maintenance import Windows
    from streaming.sinks.postgres import PostgresStore
    from streaming.sinks.prometheus import Exporter, PortTaken
    from streaming.spark.job import CannotRun, run_job

    _log_to_stderr()
    assert settings.database.dsn is not None
    dsn, alerting = settings.database.dsn.get_secret_value(), settings.alerting
    exporter: Exporter | None = None
    delivery: Delivery | None = None
    heartbeat: Heartbeat | None = None
    page: PageProcess | None = None
    audit: AuditProcess | None = None
    store: PostgresStore | None = None
    windows = Windows(one.core() for one in settings.maintenance)
    try:
        store = PostgresStore(
            dsn,
            connect_timeout_ms=settings.database.connect_timeout_ms,
            undecodable_kept=settings.database.undecodable_kept,
            notify=telling.tells(settings),
            version=package_version(),
            windows=windows,
        )
        store.migrate()
        exporter = Exporter(
            settings.http.port,
            settings.http.host,
            clusters=[cluster.name for cluster in settings.clusters],
            path=alerting.path,
            version=package_version(),
            limits=telling.limits(settings),
            windows=windows,
        )
        exporter.start()
        exporter.restore(store)
        logging.getLogger("rebalance_monitor.job").info("metrics", extra={"fields": {"url": f"{exporter.url}/metrics"}})
        delivery, heartbeat = telling.delivery(settings, dsn, exporter), telling.heartbeat(settings, exporter)
        for teller in (delivery, heartbeat):
            if teller is not None:
                teller.start()
        if settings.page.enabled:
            page = PageProcess(config, exporter.url)
            page.start()
        if settings.audit.every_ms is not None and installed():
            audit = AuditProcess(config, exporter, every_ms=settings.audit.every_ms)
            audit.start()
        run_job(settings, store, exporter)
    except (CannotRun, DatabaseUnreachable, PortTaken) as why:
        raise InputError(str(why)) from why
    finally:
        for part in (audit, page, heartbeat, delivery, exporter):
            if part is not None:
                part.stop()
        if store is not None:
            store.close()
    return DONE


def package_version() -> str:
    """This monitor's version; "" where it is not installed."""
    try:
        return version("rebalance-monitor")
    except PackageNotFoundError:
        return ""


def _log_to_stderr() -> None:
    """One JSON object per line; the monitor's own words only."""
    from streaming.spark.job import JsonLines

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    log = logging.getLogger("rebalance_monitor")
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
    # Libraries that report to the root logger would otherwise get a handler of their own and print traces.
    logging.getLogger().addHandler(logging.NullHandler())
