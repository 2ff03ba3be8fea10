"""The outgoing heartbeat: a URL that is asked as long as the monitor does its work, so that silence means something.

Withheld while a cluster is not caught up or nothing commits, and by a job that is not the writer (any more); a failure
is counted and never stops anything.
"""

import logging
from typing import Literal, Protocol

import httpx

from rebalance_monitor.streaming.supervision import Answerable, Supervised
from .http_sender import NoAnswer, ask, http_client

log = logging.getLogger("rebalance_monitor.heartbeat")


class Monitor(Protocol):
    """What the heartbeat asks and tells; the exporter does."""

    def well(self, within_s: float) -> bool:
        """Whether everything is caught up and something was committed in this time."""

    def beat(self, outcome: str) -> None:
        """`sent`, `failed` or `withheld`."""


class Leads(Protocol):
    """Who knows whether this job is the writer; `writer.Writer` does."""

    def leads(self) -> bool:
        """Whether this job is the writer now; False where that is not known."""

    def close(self) -> None:
        """Releases what the question needs."""


class Heartbeat:
    """One thread from `start` to `stop`. The URL may be a credential: it is never shown."""

    def __init__(
        self,
        url: str,
        method: Literal["GET", "POST"],
        every_ms: int,
        monitor: Monitor,
        *,
        committed_within_ms: int,
        answerable: Answerable | None = None,
    ) -> None:
        self._url, self._method, self._every_s = url, method, every_ms / 1000
        self._monitor, self._within_s = monitor, committed_within_ms / 1000
        self._answerable = answerable
        self._thread: Supervised | None = None
        self._failing = False

    def start(self, writer: Leads) -> None:
        """Begins, for a job that has become the writer."""
        clients: list[httpx.Client] = []

        def step() -> float:
            if not clients:
                clients.append(http_client())
            self._monitor.beat(self.once(clients[0], writer))
            return self._every_s

        def end() -> None:
            for client in clients:
                client.close()
            writer.close()

        self._thread = Supervised("heartbeat", step, self._answerable, at_end=end)
        self._thread.start()

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.stop()

    def once(self, client: httpx.Client, writer: Leads) -> str:
        if not self._monitor.well(self._within_s) or not writer.leads():
            return "withheld"
        try:
            answer = ask(client, self._method, self._url)
            why = None if answer.accepted else str(answer)
        except NoAnswer as trouble:
            why = str(trouble)
        if (why is not None) != self._failing:
            log.warning("the heartbeat's receiver %s", f"fails ({why})" if why else "answers again")
        self._failing = why is not None
        return "failed" if why else "sent"
