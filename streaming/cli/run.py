"""`run`: the streaming job with its store, its metrics endpoint and whatever tells people, until a signal."""

import argparse
import logging
import os
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial

from rebalance_monitor.streaming.config.certificates import unusable
from rebalance_monitor.streaming.config.client_reference import ClientReference
from rebalance_monitor.streaming.config.settings import Settings, lacking
from rebalance_monitor.streaming.config.supported import POSTGRESQL, PYTHON, not_tested
from rebalance_monitor.streaming.core.lifecycles import FoldGroup
from rebalance_monitor.streaming.plug_ins.folding import fold_with
from rebalance_monitor.streaming.plug_ins.host import PlugInHost
from .exit_codes import DONE, InputError
from .json_lines import log_to_stderr
from .opening import certificate, database_dsn, need, settings_from, source
from .shadow import schema_name, shadow_dsn, shadowed
from .task_store import DSN, task_store
from .version import package_version

log = logging.getLogger("rebalance_monitor.job")


def run(arguments: argparse.Namespace, fold: FoldGroup | None = None) -> int:
    """0 after a graceful stop. InputError where something outside must be mended first."""
    config, shadow = arguments.config, arguments.shadow
    schema = None if shadow is None else schema_name(shadow)
    settings = _settings(config, schema)
    problems = [*lacking(settings), *unusable(settings)]
    if problems:
        raise InputError("\n".join(f"{source(config)}: {one}" for one in problems))
    dsn = database_dsn(settings, config)
    need("run", "pyspark", "rebalance_monitor.streaming.store.postgres", "rebalance_monitor.streaming.spark.clusters")
    from rebalance_monitor.streaming.metrics.endpoint import PortTaken
    from rebalance_monitor.streaming.spark.failures import CannotRun
    from rebalance_monitor.streaming.store.database import DatabaseUnreachable

    log_to_stderr()
    try:
        _say_what_is_not_tested(settings, dsn)
        with ExitStack() as ending:  # what was started last ends first
            plug_ins = PlugInHost()
            ending.callback(plug_ins.close)
            _run(settings, shadow_dsn(dsn, schema), config, ending, fold or fold_with(plug_ins), schema)
    except (CannotRun, DatabaseUnreachable, PortTaken) as why:
        raise InputError(str(why)) from why
    return DONE


def _say_what_is_not_tested(settings: Settings, dsn: str) -> None:
    """Of Python and PostgreSQL; of Java whoever starts it says so."""
    from rebalance_monitor.streaming.store.database import Database

    with closing(Database(dsn, settings.database.connect_timeout_ms)) as database:
        server = database.version()
    python = ".".join(map(str, sys.version_info[:2]))
    for why in (not_tested("Python", python, PYTHON), not_tested("PostgreSQL", str(server), POSTGRESQL)):
        if why is not None:
            log.warning("not_tested", extra={"fields": {"why": why}})


def _certificate_read(problem: str | None) -> None:
    if problem is None:
        log.info("certificate_read", extra={"fields": {"key": "http.tls"}})
    else:
        log.error("certificate_not_read", extra={"fields": {"why": problem}})


def holder() -> str:
    """This job, for people, and like no other job."""
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    return f"process {os.getpid()} on {socket.gethostname()}, started {began} UTC ({secrets.token_hex(3)})"


def _settings(config: str | None, shadow: str | None) -> Settings:
    settings = settings_from(config)
    return settings if shadow is None else shadowed(settings)


def _run(
    settings: Settings, dsn: str, config: str | None, ending: ExitStack, fold: FoldGroup, shadow: str | None
) -> None:
    from rebalance_monitor.streaming.metrics.prometheus import Exporter
    from rebalance_monitor.streaming.metrics.whatif_watch import WhatifWatch
    from rebalance_monitor.streaming.spark.clusters import run_job
    from rebalance_monitor.streaming.spark.job_ports import JobPorts, Served
    from rebalance_monitor.streaming.store.archive import ParquetArchive
    from rebalance_monitor.streaming.store.coordinator_reasons import ReasonsKeeper
    from rebalance_monitor.streaming.store.gaps import GapWatch
    from rebalance_monitor.streaming.store.history import HistoryKeeper
    from rebalance_monitor.streaming.store.known_ends import EndsKeeper
    from rebalance_monitor.streaming.store.lease import Lease
    from rebalance_monitor.streaming.store.maintenance import Windows
    from rebalance_monitor.streaming.store.retention import Kept
    from rebalance_monitor.streaming.store.seeding import begin_from_live
    from . import telling
    from .auditing import AuditProcess, installed
    from .page_process import PageProcess

    of_tasks = task_store(settings, config, notify=telling.has_receivers(settings), shadow=shadow)
    windows = Windows(of_tasks.windows)
    with closing(of_tasks.open(dsn, windows)) as store:
        store.migrate()
        if shadow is not None:
            begun = begin_from_live(store.database)
            log.info("shadow", extra={"fields": {"schema": shadow, "begins_with_states": begun}})
        known_gaps = store.known_gaps(settings.gap.shown_for_s())
    exporter = Exporter(
        settings.http.port,
        settings.http.host,
        clusters=[cluster.name for cluster in settings.clusters],
        path=settings.alerting.path,
        version=package_version(),
        page=settings.page.reached_at.rstrip("/"),
        limits=telling.limits(settings),
        windows=windows,
        cluster_label=settings.metrics.cluster_label,
        tls=certificate("http.tls", settings.http.tls, _certificate_read),
        shadow=shadow,
    )
    ending.callback(exporter.stop)
    exporter.start()
    exporter.gaps(known_gaps)
    log.info("metrics", extra={"fields": {"url": f"{exporter.url}/metrics"}})
    storage = settings.storage
    kept = Kept(days=storage.keep_days(), max_bytes=storage.max_bytes, summary_days=storage.summary_days())
    archive = None if storage.archive is None else ParquetArchive(storage.archive)
    history = HistoryKeeper(dsn, kept, exporter, exporter, archive)
    ending.callback(history.stop)
    notifying = telling.notifying(settings, dsn, exporter)
    ending.callback(notifying.stop)
    gaps = GapWatch(dsn, settings.gap.shown_for_s(), exporter, exporter)
    ending.callback(gaps.stop)
    gaps.start()
    whatif = WhatifWatch(dsn, exporter, exporter)
    ending.callback(whatif.stop)
    whatif.start()
    page = PageProcess(config, exporter.url, exporter) if settings.page.enabled else None
    if page is not None:
        ending.callback(page.stop)
        page.start()
    if settings.audit.every_ms is not None and installed():
        audit = AuditProcess(
            config,
            exporter,
            every_ms=settings.audit.every_ms,
            timeout_ms=settings.audit.timeout_ms,
            answerable=exporter,
            caught_up=lambda: exporter.readiness()[0],
        )
        ending.callback(audit.stop)
        audit.start()

    lease = Lease(dsn, holder(), [cluster.name for cluster in settings.clusters], exporter)
    ending.callback(lease.stop)
    lease.start()
    ends = EndsKeeper(dsn, exporter)
    ending.callback(ends.stop)
    reasons = ReasonsKeeper(dsn)
    ending.callback(reasons.close)

    @contextmanager
    def serve(cluster: str) -> Iterator[Served]:
        store = of_tasks.open(dsn, windows, cluster)

        def claimed(epoch: int) -> None:
            # Until now another job may have been the writer: it published, notified and ended history.
            exporter.restore(store)
            notifying.start(cluster, epoch)
            history.start()

        with closing(store):
            yield Served(store, ends, store.identify, claimed, partial(exporter.restore, store), reasons)

    def forget(cluster: str) -> None:
        exporter.forget(cluster)
        notifying.forget(cluster)

    groups = settings.groups

    def reload() -> Settings | None:
        try:
            found = _settings(config, shadow)
            if problems := lacking(found):
                raise InputError("; ".join(problems))
        except InputError as why:
            log.error("configuration_not_read", extra={"fields": {"config": source(config), "why": str(why)}})
            return None
        nonlocal groups
        if page is not None and found.groups != groups:
            page.begin_anew()
        groups = found.groups
        return found

    os.environ[DSN] = dsn  # for Spark's processes
    ports = JobPorts(
        leases=lease,
        serve=serve,
        observer=exporter,
        of_tasks=of_tasks,
        client_of=partial(ClientReference.of, config=of_tasks.config),
        fold=fold,
        reload=reload,
        forget=forget,
    )
    run_job(settings, ports)
