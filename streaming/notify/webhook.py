"""A program as receiver: one JSON object for each transition, with the notification's key.

    {"key": "4f1c…:fired", "transition": "fired", "incident": {…}, "previous": null,
     "summary": "Nothing is pending, and …", "next_step": "…", "group_url": "…/group?…", "runbook_url": "…/runbook?…"}

`incident` is the object that `replay -o json` prints and the table `incidents` keeps, as it was at the transition;
`previous` the one before an `updated`. A repeat is the same bytes under the same `Idempotency-Key`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rebalance_monitor.streaming.core.runbooks import Addresses, headline, next_step
from rebalance_monitor.streaming.store.database import Connection
from rebalance_monitor.streaming.store.outbox import Notification
from .alerts import group_url
from .http_sender import HttpSender


def message(waiting: Notification, addresses: Addresses) -> dict[str, Any]:
    """The object that programs get. `addresses`: where people read on."""
    return {
        "key": waiting.key,
        "transition": waiting.transition,
        "incident": dict(waiting.document),
        "previous": None if waiting.previous is None else dict(waiting.previous),
        "summary": headline(waiting.document["rule"]),
        "next_step": waiting.document.get("next_step")
        or next_step(waiting.document["rule"], waiting.document.get("code", "")),
        "group_url": group_url(waiting.document["cluster"], waiting.document["group"], addresses),
        "runbook_url": addresses.runbook(waiting.document["rule"]),
    }


class Webhook:
    """Implements `delivery.Receiver`. Address and headers may be credentials: only `name` is ever shown."""

    def __init__(self, name: str, url: str, headers: Mapping[str, str], addresses: Addresses | None = None) -> None:
        self.name = f"webhook:{name}"
        self._url, self._headers, self._addresses = url, dict(headers), addresses or Addresses()
        self._sender = HttpSender()

    def send(self, waiting: Notification) -> None:
        """Posts the transition."""
        self._sender.post(
            self._url, message(waiting, self._addresses), {**self._headers, "Idempotency-Key": waiting.key}
        )

    def again(
        self, connection: Connection, push: Callable[[Callable[[], None], str], str | None], clusters: Sequence[str]
    ) -> None:
        """A program was told once and remembers."""

    def close(self) -> None:
        self._sender.close()
