"""Pushes the outbox to every Alertmanager: at least once, in order, each receiver on its own.

One thread for each URL, so that a dead Alertmanager delays nobody else. A notification is marked only after the
receiver has accepted it; a kill in between repeats it with the same Idempotency-Key. Firing alerts are pushed again
before their `endsAt`, at the start first of all, because an Alertmanager may have been restarted meanwhile.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import httpx
from tenacity import RetryError, Retrying, retry_if_exception_type, stop_when_event_set, wait_exponential_jitter
from tenacity.nap import sleep_using_event

from streaming.core.results import Incident
from streaming.sinks.alerts import Alert, AlertStyle, alert, notification
from streaming.sinks.database import Connection, Database, DatabaseUnreachable
from streaming.sinks.outbox import CHANNEL, firing, mark_sent, waiting, waiting_count

log = logging.getLogger("rebalance_monitor.alertmanager")

# A notification wakes the thread at once; this is how long one that got lost can stay unseen.
LOOK_EVERY_S = 1.0
RESENT_AT_ONCE = 50
# The receiver will never take this content; everything else may be its trouble of the moment.
NEVER = frozenset({400, 413, 422})


class NotAccepted(Exception):
    """The receiver answered, but not with success; worth trying again."""


class Refused(Exception):
    """The receiver will never accept this content."""


class Told(Protocol):
    """Who counts attempts; the exporter does."""

    def notified(self, outcome: str) -> None:
        """An attempt ended: `sent` or `failed`."""
        ...

    def outbox_pending(self, count: int) -> None:
        """So many notifications wait for some receiver."""
        ...


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Pusher:
    """Threads that drain the outbox table, from `start` to `stop`."""

    def __init__(
        self,
        dsn: str,
        urls: Sequence[str],
        style: AlertStyle,
        *,
        resend_ms: int = 300_000,
        told: Told | None = None,
        now_ms: Callable[[], int] = _now_ms,
    ) -> None:
        self._stop = threading.Event()
        addresses = [url.rstrip("/") for url in urls]
        self._receivers = [
            _Receiver(Database(dsn), url, addresses, style, resend_ms, told, now_ms, self._stop) for url in addresses
        ]
        self._threads = [
            threading.Thread(target=one.run, name=f"push-{n}", daemon=True) for n, one in enumerate(self._receivers)
        ]

    def start(self) -> None:
        """Begins to push."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """Ends after the push under way. What is not sent stays in the outbox."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout_s)


def _again(incidents: Sequence[Incident], now_ms: int, style: AlertStyle) -> list[Alert]:
    return [alert(one, now_ms, style) for one in incidents]


class _Receiver:
    """One Alertmanager and its thread."""

    def __init__(
        self,
        database: Database,
        url: str,
        urls: Sequence[str],
        style: AlertStyle,
        resend_ms: int,
        told: Told | None,
        now_ms: Callable[[], int],
        stop: threading.Event,
    ) -> None:
        self._database, self._url, self._urls, self._style = database, url, urls, style
        self._resend_ms, self._told, self._now_ms, self._stop = resend_ms, told, now_ms, stop
        self._resend_at_ms = 0
        self._pushed_ms: dict[str, int] = {}  # incident id -> when this receiver last got it
        self._listening: Connection | None = None
        self._failing = False

    def run(self) -> None:
        """Until stopped: push what waits, push again what fires, sleep until the database has news."""
        with httpx.Client(timeout=httpx.Timeout(5.0), trust_env=False) as client:
            while not self._stop.is_set():
                try:
                    self._round(client)
                except DatabaseUnreachable as why:
                    self._listening = None
                    log.warning("%s", why)
                    self._stop.wait(LOOK_EVERY_S)
                except RetryError:
                    break  # stopped while waiting for the receiver
                except Exception:
                    # This thread is the only one that tells people: it must outlive whatever went wrong.
                    log.exception("a round of pushes to %s failed", self._url)
                    self._stop.wait(LOOK_EVERY_S)
        self._database.close()

    def _round(self, client: httpx.Client) -> None:
        with self._database.session() as connection:
            if connection is not self._listening:
                connection.execute(f"listen {CHANNEL}")
                self._listening = connection
            for one in (todo := waiting(connection, self._url)):
                body = partial(notification, one.document, one.transition, one.previous, style=self._style)
                refused = self._push(client, body, one.key)
                self._pushed_ms[one.document["incident_id"]] = self._now_ms()
                mark_sent(connection, one.key, self._url, self._urls, refused)
            if self._told is not None:
                self._told.outbox_pending(waiting_count(connection))
            if self._now_ms() >= self._resend_at_ms:
                self._resend(client, connection)
            if not todo and not self._stop.is_set():
                for _ in connection.notifies(timeout=LOOK_EVERY_S, stop_after=1):
                    pass

    def _resend(self, client: httpx.Client, connection: Connection) -> None:
        began_ms = self._now_ms()
        incidents = firing(connection, self._url)
        due = [one for one in incidents if self._pushed_ms.get(one.incident_id, 0) + self._resend_ms <= began_ms]
        for start in range(0, len(due), RESENT_AT_ONCE):
            some = due[start : start + RESENT_AT_ONCE]
            ids = "".join(one.incident_id for one in some)
            key = f"again:{hashlib.sha256(ids.encode()).hexdigest()[:12]}:{began_ms}"
            self._push(client, partial(_again, some, style=self._style), key)
        resent = dict.fromkeys((one.incident_id for one in due), began_ms)
        self._pushed_ms = {one.incident_id: self._pushed_ms.get(one.incident_id, 0) for one in incidents} | resent
        self._resend_at_ms = min(self._pushed_ms.values(), default=began_ms) + self._resend_ms

    def _push(self, client: httpx.Client, body: Callable[[int], list[Alert]], key: str) -> str | None:
        """Until the receiver accepts (None) or refuses for good (why). `body` is made anew for every attempt."""
        attempts = Retrying(
            retry=retry_if_exception_type((httpx.TransportError, NotAccepted)),
            wait=wait_exponential_jitter(multiplier=0.2, max=30.0, jitter=0.2),
            stop=stop_when_event_set(self._stop),
            sleep=sleep_using_event(self._stop),
        )
        try:
            attempts(self._attempt, client, body, key)
        except Refused as why:
            log.error("%s will never accept the notification %s: %s", self._url, key, why)
            return str(why)
        return None

    def _attempt(self, client: httpx.Client, body: Callable[[int], list[Alert]], key: str) -> None:
        try:
            answer = client.post(
                f"{self._url}/api/v2/alerts", json=body(self._now_ms()), headers={"Idempotency-Key": key}
            )
            if answer.status_code in NEVER:
                raise Refused(f"{answer.status_code} {answer.text[:200]}")
            if not answer.is_success:
                raise NotAccepted(f"it answers {answer.status_code}")
        except (httpx.TransportError, NotAccepted, Refused) as why:
            self._note("failed", why)
            raise
        self._note("sent", None)

    def _note(self, outcome: str, why: Exception | None) -> None:
        if self._told is not None:
            self._told.notified(outcome)
        if why is not None and not self._failing:
            log.warning("Alertmanager %s accepts no notification (%s); trying again until it does", self._url, why)
        if why is None and self._failing:
            log.warning("Alertmanager %s accepts notifications again", self._url)
        self._failing = why is not None
