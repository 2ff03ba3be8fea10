"""A program as receiver: one JSON object for each transition, with the notification's key.

    {"key": "4f1c…:fired", "transition": "fired", "incident": {…}, "previous": null,
     "next_step": "If the load matters, …", "runbook_url": "…/imbalance.md"}

`incident` is the object that `replay -o json` prints and the table `incidents` keeps, as it was at the transition;
`previous` the one before an `updated`. A repeat is the same bytes under the same `Idempotency-Key`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from streaming.core.incidents.runbooks import next_step, runbook_url
from streaming.core.model.settings import RUNBOOKS
from streaming.sinks.database import Connection
from streaming.sinks.http_sender import HttpSender
from streaming.sinks.outbox import Waiting


def message(one: Waiting, runbooks: str) -> dict[str, Any]:
    """The object that programs get. `runbooks`: where they lie."""
    return {
        "key": one.key,
        "transition": one.transition,
        "incident": dict(one.document),
        "previous": None if one.previous is None else dict(one.previous),
        "next_step": next_step(one.document["rule"]),
        "runbook_url": runbook_url(one.document["rule"], runbooks),
    }


class Webhook:
    """Implements `delivery.Receiver`. Address and headers may be credentials: only `name` is ever shown."""

    def __init__(self, name: str, url: str, headers: Mapping[str, str], runbooks: str = RUNBOOKS) -> None:
        self.name = f"webhook:{name}"
        self._url, self._headers, self._runbooks = url, dict(headers), runbooks
        self._sender = HttpSender()

    def send(self, one: Waiting) -> None:
        """Posts the transition."""
        self._sender.post(self._url, message(one, self._runbooks), {**self._headers, "Idempotency-Key": one.key})

    def again(self, connection: Connection, push: Callable[[Callable[[], None], str], str | None]) -> None:
        """A program was told once and remembers."""

    def close(self) -> None:
        """Closes the connection."""
        self._sender.close()
