"""An Alertmanager as receiver. Firing alerts are pushed again before their `endsAt`, at the start first of all, because
it may have been restarted meanwhile.
"""

import hashlib
import re
from collections.abc import Callable, Sequence

from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.store.database import Connection
from rebalance_monitor.streaming.store.outbox import Notification, firing
from .alerts import AlertObject, AlertStyle, alert, notification
from .delivery import now_ms
from .http_sender import HttpSender

RESENT_AT_ONCE = 50


class Alertmanager:
    """Implements `delivery.Receiver`; its name is its base URL. It groups alerts by itself, so it has each at once."""

    joins = False

    def __init__(
        self, url: str, style: AlertStyle, *, resend_ms: int = 300_000, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        self._url, self._style, self._resend_ms, self._now_ms = url.rstrip("/"), style, resend_ms, clock_ms
        self._name = re.sub(r"//[^/]*@", "//", self._url)
        self._sender = HttpSender()
        self._looked_ms, self._resend_at_ms = 0, 0
        self._pushed_ms: dict[str, int] = {}  # incident id -> when this receiver last got it

    @property
    def name(self) -> str:
        """The base URL, without what may stand before an @ in it."""
        return self._name

    def send(self, waiting: Notification) -> None:
        """Its alerts, made anew for every attempt, because times are cut to the clock."""
        at_ms = self._now_ms()
        self._post(
            notification(waiting.document, waiting.transition, waiting.previous, at_ms, self._style), waiting.key
        )
        self._pushed_ms[waiting.document["incident_id"]] = at_ms

    def again(
        self, connection: Connection, push: Callable[[Callable[[], None], str], str | None], clusters: Sequence[str]
    ) -> None:
        """Every firing alert that it has not got for `resend_ms`, and all of them once the clock was set back."""
        began_ms = self._now_ms()
        if self._looked_ms <= began_ms < self._resend_at_ms:
            self._looked_ms = began_ms
            return
        incidents = firing(connection, self._name, clusters)
        fresh = range(began_ms - self._resend_ms + 1, began_ms + 1)
        due = [one for one in incidents if self._pushed_ms.get(one.incident_id) not in fresh]
        for start in range(0, len(due), RESENT_AT_ONCE):
            some = due[start : start + RESENT_AT_ONCE]
            ids = "".join(one.incident_id for one in some)
            key = f"again:{hashlib.sha256(ids.encode()).hexdigest()[:12]}:{began_ms}"
            refused = push(lambda some=some, key=key: self._send_again(some, key), key)  # type: ignore[misc]
            if refused is not None and len(some) > 1:
                # One that it does not like, or too many at once: the others must not end for it.
                for alone in some:
                    push(lambda alone=alone, key=key: self._send_again([alone], f"{key}:{alone.incident_id}"), key)  # type: ignore[misc]
        resent = dict.fromkeys((one.incident_id for one in due), began_ms)
        self._pushed_ms = {one.incident_id: self._pushed_ms.get(one.incident_id, 0) for one in incidents} | resent
        self._resend_at_ms = min(self._pushed_ms.values(), default=began_ms) + self._resend_ms
        self._looked_ms = began_ms

    def close(self) -> None:
        self._sender.close()

    def _send_again(self, incidents: Sequence[Incident], key: str) -> None:
        at_ms = self._now_ms()
        self._post([alert(one, at_ms, self._style) for one in incidents], key)

    def _post(self, alerts: list[AlertObject], key: str) -> None:
        self._sender.post(f"{self._url}/api/v2/alerts", alerts, {"Idempotency-Key": key}, tell_answer=True)
