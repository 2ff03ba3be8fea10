"""The page's own process: read-only connections, one listening socket, and an end with the job that started it.

A connection without a complete request costs a descriptor of the process. So it is closed when its request does not
come in time, and when too many wait, the one that has waited longest is closed.
"""

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from .api import PageSource
from .app import application
from .live import Live
from .scope import Token

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


LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
WATCHERS_END_S = 3


class AddressTaken(Exception):
    """The address can't be listened on; one sentence with what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where to listen; `hosts`: on loopback, further names that it may be called by."""

    host: str
    port: int
    hosts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What a request's Host may say: on loopback only known names, so that no foreign name resolves to it."""
        loopback = self.host in ("localhost", "::1") or self.host.startswith("127.")
        return (*LOOPBACK, self.host, *self.hosts) if loopback else ("*",)


class _Server(uvicorn.Server):
    """Ends the open streams before it waits for requests to end."""

    live: Live

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal is a wish to end well; the base class would raise it again at the end and turn 0 into 143."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self.live.stop()
        await super().shutdown(sockets)


def serve(
    address: Address,
    source: PageSource,
    tokens: Sequence[Token],
    *,
    listening: Callable[[str], None],
    parent: BinaryIO | None = None,
) -> None:
    """Serves until a signal, or until `parent` (a pipe held by the process that started this one) closes.

    `listening` is told the address once. Raises AddressTaken.
    """
    taken = listen(address)
    host, port = taken.getsockname()[:2]
    asyncio.run(_serve(address, taken, source, tokens, parent, lambda: listening(_url(host, port))))


async def _serve(
    address: Address,
    taken: socket.socket,
    source: PageSource,
    tokens: Sequence[Token],
    parent: BinaryIO | None,
    listening: Callable[[], None],
) -> None:
    live = Live(source.reader, source.team_of, source.job.readiness)
    server = _Server(
        uvicorn.Config(
            AtMost(application(source, live, tokens, address.names)),
            http=HttpConnection,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_keep_alive=30,
            timeout_graceful_shutdown=WATCHERS_END_S,
            ws="none",
        )
    )
    server.live = live
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent, server), name="parent", daemon=True).start()
    listening()
    await server.serve(sockets=[taken])


def _end_with(parent: BinaryIO, server: uvicorn.Server) -> None:
    """The pipe tells even of a parent that was killed."""
    with contextlib.suppress(OSError, ValueError):
        while os.read(parent.fileno(), 1024):
            pass
    server.should_exit = True


def listen(address: Address) -> socket.socket:
    """A listening socket; one sentence when the address is not free."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # The protocol is named because asyncio sets TCP_NODELAY only where it is; without, an answer waits 40 ms.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((address.host, address.port))
        opened.listen(128)
    except (OSError, OverflowError) as why:
        opened.close()
        reason = getattr(why, "strerror", None) or str(why)
        raise AddressTaken(
            f"can't listen on {address.host}:{address.port} ({reason}); set page.host and page.port to a free address"
        ) from why
    return opened


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
