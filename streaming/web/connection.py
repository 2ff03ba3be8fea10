"""One connection to the page, in plain HTTP or TLS, and how long it may keep a descriptor without asking anything.

A connection without a complete request is closed when its request does not come in time, and when too many wait, the
one that has waited longest is closed. A TLS handshake is part of that wait.
"""

import asyncio
import ssl
from collections.abc import Iterator

from uvicorn.protocols.http.h11_impl import H11Protocol

GOODBYE_WITHIN_S = 1.0
"""So long a client may take to answer the end of TLS; it keeps its descriptor until then."""


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


class TlsConnection(HttpConnection):
    """As above; asyncio's own server would leave a client a minute to say hello, and not count it among those that
    wait."""

    tls: ssl.SSLContext
    _secured = False
    _handshake: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport, self._early = transport, bytearray()
        self.connections.add(self)
        self._wait(timed=True)
        self._handshake = self.loop.create_task(self._secure(transport))

    async def _secure(self, transport: asyncio.Transport) -> None:
        try:
            secured = await self.loop.start_tls(
                transport, self, self.tls, server_side=True, ssl_shutdown_timeout=GOODBYE_WITHIN_S
            )
        except OSError:  # an error of TLS is one
            secured = None
        if secured is None or secured.is_closing():  # it ended meanwhile; during a handshake asyncio does not say so
            transport.abort()
            self.connection_lost(None)
            return
        # Not this class's `connection_made`: the wait has begun already.
        H11Protocol.connection_made(self, secured)
        self._secured = True
        if self._early:
            self.data_received(bytes(self._early))

    def data_received(self, data: bytes) -> None:
        """What comes with the end of the handshake waits until `_secure` goes on."""
        if self._secured:
            super().data_received(data)
        else:
            self._early += data


def secured(tls: ssl.SSLContext) -> type[TlsConnection]:
    return type("SecuredConnection", (TlsConnection,), {"tls": tls})
