"""Connections that ask nothing: how long they may stay, and how many of them.

A connection without a complete request costs a descriptor of the process. So it is closed when its request does not
come in time, and when too many wait, the one that has waited longest is closed.
"""

import asyncio
from collections.abc import Iterator

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_ANSWERED = 400
"""Requests at one time, streams of events included."""


class HttpConnection(H11Protocol):
    """One connection; while it has no request, `waits_since_s` is the loop's time at which it began to wait."""

    request_within_s = 10.0
    most_waiting = 200
    waits_since_s: float | None = None
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(timed=True)

    def data_received(self, data: bytes) -> None:
        """The part of a request that begins the wait for the others, or the last part."""
        super().data_received(data)
        if self._asks():
            self._wait_no_more()
        elif self._late is None:
            self._wait(timed=True)

    def on_response_complete(self) -> None:
        """It waits for its next request; the server itself ends those that stay silent."""
        super().on_response_complete()
        if not self._asks():
            self._wait(timed=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def _asks(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self, *, timed: bool) -> None:
        if self.waits_since_s is None:
            self.waits_since_s = self.loop.time()
        if timed:
            self._late = self.loop.call_later(self.request_within_s, self.transport.abort)
        waiting = sorted(self._waiting(), key=lambda one: one[0])
        if len(waiting) > self.most_waiting:
            _, longest = waiting[0]
            longest._wait_no_more()
            longest.transport.abort()

    def _waiting(self) -> "Iterator[tuple[float, HttpConnection]]":
        for one in self.connections:
            if isinstance(one, HttpConnection) and one.waits_since_s is not None:
                yield one.waits_since_s, one

    def _wait_no_more(self) -> None:
        self.waits_since_s = None
        if self._late is not None:
            self._late.cancel()
            self._late = None


class AtMost:
    """Answers so many requests at one time; others are told to come again."""

    def __init__(self, app: ASGIApp, most: int = MOST_ANSWERED) -> None:
        self._app, self._most, self._running = app, most, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._running >= self._most:
            await PlainTextResponse("too many requests at this moment; ask again later", 503)(scope, receive, send)
            return
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1
