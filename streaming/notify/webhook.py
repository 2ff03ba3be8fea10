"""A program as receiver: one JSON object for each transition, with the notification's key.

    {"key": "4f1c…:fired", "transition": "fired", "incident": {…}, "previous": null,
     "summary": "Nothing is pending, and …", "next_step": "…", "group_url": "…/group?…", "runbook_url": "…/runbook?…"}

`incident` is the object that `replay -o json` prints and the table `incidents` keeps, as it was at the transition;
`previous` the one before an `updated`. A repeat is the same bytes under the same `Idempotency-Key`.

What tells several groups at once has `joined`, too: the event, and each of its incidents. `incident` is the loudest.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.core.runbooks import Addresses, headline, next_step
from rebalance_monitor.streaming.store.database import Connection
from rebalance_monitor.streaming.store.outbox import Notification
from .alerts import group_url
from .http_sender import HttpSender


def message(waiting: Notification, addresses: Addresses) -> dict[str, Any]:
    """The object that programs get. `addresses`: where people read on."""
    told = {
        "key": waiting.key,
        "transition": waiting.transition,
        "incident": dict(waiting.document),
        "previous": None if waiting.previous is None else dict(waiting.previous),
        "summary": headline(waiting.document["rule"]),
        "next_step": waiting.document.get("next_step")
        or next_step(waiting.document["rule"], waiting.document.get("code", "")),
        "group_url": _group_url(waiting, addresses),
        "runbook_url": addresses.runbook(waiting.document["rule"]),
    }
    return told if waiting.joined is None else {**told, **_joined(waiting, waiting.joined, addresses)}


def _joined(waiting: Notification, joined: Mapping[str, Any], addresses: Addresses) -> dict[str, Any]:
    groups = sorted({one.document["group"] for one in waiting.parts})
    event, still = joined["event"], joined.get("open")
    because = "; ".join(one["text"] for one in event["shared"])
    named = counted(len(groups), "group")
    if still is None:
        summary = f"{named} broke rules after rebalances at once: {because}. Rules: {_rules(waiting)}."
    else:
        rest = counted(still, "incident") if still else "no incident"
        summary = f"Over in {named}, {rest} of the same notification still open: {because}. Rules: {_rules(waiting)}."
    return {
        "summary": summary,
        "joined": {
            "event": event,
            "event_url": addresses.at_once(quote(event["cluster"], safe=""), event["from_ms"], event["until_ms"]),
            "groups": groups,
            "incidents": [
                {
                    "key": one.key,
                    "incident_id": one.document["incident_id"],
                    "group": one.document["group"],
                    "rule": one.document["rule"],
                    "alert": one.document["alert"],
                    "message": one.document["message"],
                    "group_url": _group_url(one, addresses),
                }
                for one in waiting.parts
            ],
            "open": still,
        },
    }


def _rules(waiting: Notification) -> str:
    counts = Counter(one.document["rule"] for one in waiting.parts)
    return ", ".join(f"{rule} ({count})" for rule, count in counts.most_common())


def _group_url(waiting: Notification, addresses: Addresses) -> str:
    return group_url(waiting.document["cluster"], waiting.document["group"], addresses)


class Webhook:
    """Implements `delivery.Receiver`. Address and headers may be credentials: only `name` is ever shown."""

    joins = True

    def __init__(self, name: str, url: str, headers: Mapping[str, str], addresses: Addresses | None = None) -> None:
        self.name = f"webhook:{name}"
        self._url, self._headers, self._addresses = url, dict(headers), addresses or Addresses()
        self._sender = HttpSender()

    def send(self, waiting: Notification) -> None:
        self._sender.post(
            self._url, message(waiting, self._addresses), {**self._headers, "Idempotency-Key": waiting.key}
        )

    def again(
        self, connection: Connection, push: Callable[[Callable[[], None], str], str | None], clusters: Sequence[str]
    ) -> None:
        """A program was told once and remembers."""

    def close(self) -> None:
        self._sender.close()
