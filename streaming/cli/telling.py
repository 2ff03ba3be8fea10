"""Everything that tells people, made from the configuration: receivers of the outbox and the outgoing heartbeat."""

import logging
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.model.settings import teams
from rebalance_monitor.streaming.core.runbooks import Addresses
from rebalance_monitor.streaming.metrics.limits import SeriesLimits
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.notify.alertmanager import Alertmanager
from rebalance_monitor.streaming.notify.alerts import AlertStyle
from rebalance_monitor.streaming.notify.delivery import Delivery, Receiver
from rebalance_monitor.streaming.notify.heartbeat import Heartbeat
from rebalance_monitor.streaming.notify.joining import HOLD_S, EventsOf, Joining
from rebalance_monitor.streaming.notify.webhook import Webhook
from rebalance_monitor.streaming.store.database import Connection, Database, DatabaseUnreachable
from rebalance_monitor.streaming.store.writer import Writer
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.statements import Unavailable
from rebalance_monitor.streaming.web.why import at_once_object
from .exit_codes import InputError
from .serve import read_only

log = logging.getLogger("rebalance_monitor.delivery")

MOST_REBALANCES = 5_000
"""Of one time in which many groups rebalanced, so many are looked at for what the groups share."""
# A quiet cluster commits an empty batch every `source.heartbeat_ms`; this many may be late before it counts as stopped.
MISSED_BATCHES = 3


def has_receivers(settings: Settings) -> bool:
    """Whether anybody drains the outbox."""
    alerting = settings.alerting
    return alerting.path == "push" or bool(alerting.webhooks) or alerting.kafka is not None


def limits(settings: Settings) -> SeriesLimits:
    section = settings.metrics
    return SeriesLimits(
        ignored_groups=section.ignored_groups,
        max_groups=section.max_groups,
        max_tasks=section.max_tasks,
        lag=section.lag,
        lag_groups=section.lag_groups,
        max_lags=section.max_lags,
        worker=section.worker,
        team=teams(settings.core_clusters()),
    )


def delivery(settings: Settings, dsn: str, exporter: Exporter) -> Delivery | None:
    """One thread per receiver; None when there is none. InputError where librdkafka refuses a property."""
    if not has_receivers(settings):
        return None
    return Delivery(dsn, _receivers(settings, exporter), exporter, exporter, Joining(events_in(dsn)))


@dataclass(frozen=True, slots=True)
class _Until:
    """A database that takes no further statement after a moment of the monotonic clock."""

    database: Database
    until_s: float

    def session(self) -> AbstractContextManager[Connection]:
        if time.monotonic() >= self.until_s:
            raise DatabaseUnreachable(f"PostgreSQL at {self.database.address} took longer than {HOLD_S:.0f} s")
        return self.database.session()

    def close(self) -> None:
        self.database.close()


def events_in(dsn: str) -> EventsOf:
    """Groups that rebalanced at once, by stored generations. Where the database has no answer in time, notifications
    wait for nobody."""

    def events(cluster: str, from_ms: int, until_ms: int) -> list[dict[str, Any]]:
        reader = Reader([_Until(Database(read_only(dsn)), time.monotonic() + HOLD_S)], DatabaseUnreachable)
        try:
            told = at_once_object(reader, None, from_ms, until_ms, cluster, most_documents=MOST_REBALANCES)
            found: list[dict[str, Any]] = told["events"]
        except Unavailable as why:
            log.warning("whether groups rebalanced at once is not known (%s): each is notified of by itself", why)
            return []
        finally:
            reader.close()
        return found

    return events


def addresses(settings: Settings) -> Addresses:
    """Where people read on: the page, and the runbooks if a copy of them is published elsewhere."""
    return Addresses(settings.page.reached_at, settings.alerting.runbooks_url)


def style(settings: Settings) -> AlertStyle:
    alerting = settings.alerting
    return AlertStyle(
        ends_ahead_ms=alerting.ends_ahead_ms,
        generator_url=alerting.generator_url,
        worker=settings.metrics.worker,
        addresses=addresses(settings),
        cluster_label=settings.metrics.cluster_label,
    )


def _receivers(settings: Settings, exporter: Exporter) -> list[Receiver]:
    alerting = settings.alerting
    receivers: list[Receiver] = []
    if alerting.path == "push":
        made = style(settings)
        receivers += [Alertmanager(url, made, resend_ms=alerting.resend_ms) for url in alerting.alertmanagers]
    for webhook in alerting.webhooks:
        headers = {name: value.get_secret_value() for name, value in webhook.headers.items()}
        receivers.append(Webhook(webhook.name, webhook.url.get_secret_value(), headers, addresses(settings)))
    if alerting.kafka is not None:
        from rebalance_monitor.streaming.notify.alerts_topic import AlertsTopic, ProducerRefused

        try:
            receivers.append(AlertsTopic(alerting.kafka.topic, alerting.kafka.librdkafka(), addresses(settings)))
        except ProducerRefused as why:
            raise InputError(f"alerting.kafka.client is not accepted ({why}); correct it") from why
    return receivers


@dataclass(frozen=True, slots=True)
class Notifying:
    """What notifies people and services; it begins when this job has become the writer of a cluster.

    `epochs`: those that this job has claimed, of the clusters that it watches.
    """

    dsn: str
    delivery: Delivery | None
    heartbeat: Heartbeat | None
    epochs: dict[int, str] = field(default_factory=dict)
    _first: threading.Lock = field(default_factory=threading.Lock)
    _begun: threading.Event = field(default_factory=threading.Event)

    def start(self, cluster: str, epoch: int) -> None:
        """The job has claimed this one, too. Begins with the first."""
        with self._first:
            self.epochs[epoch] = cluster
            if self._begun.is_set():
                return
            self._begun.set()
        if self.delivery is not None:
            self.delivery.start(self.epochs)
        if self.heartbeat is not None:
            self.heartbeat.start(Writer(self.dsn, self.epochs))

    def forget(self, cluster: str) -> None:
        """The job watches this cluster no more, so it notifies of it no more."""
        with self._first:
            for epoch in [epoch for epoch, own in self.epochs.items() if own == cluster]:
                del self.epochs[epoch]

    def stop(self) -> None:
        """Ends. What is not sent stays in the outbox."""
        if self.heartbeat is not None:
            self.heartbeat.stop()
        if self.delivery is not None:
            self.delivery.stop()


def notifying(settings: Settings, dsn: str, exporter: Exporter) -> Notifying:
    """Delivery and heartbeat as configured. InputError where librdkafka refuses a property."""
    return Notifying(dsn, delivery(settings, dsn, exporter), heartbeat(settings, exporter))


def heartbeat(settings: Settings, exporter: Exporter) -> Heartbeat | None:
    alerting = settings.alerting
    if alerting.heartbeat_url is None:
        return None
    return Heartbeat(
        alerting.heartbeat_url.get_secret_value(),
        alerting.heartbeat_method,
        alerting.heartbeat_every_ms,
        exporter,
        committed_within_ms=MISSED_BATCHES * settings.source.heartbeat_ms,
        answerable=exporter,
    )
