"""The page's own process: read-only connections, one listening socket, and an end with the job that started it."""

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from .api import PageSource
from .app import application
from .connection import HttpConnection, secured
from .live import Live
from .scope import Token

MOST_ANSWERED = 400
"""Requests at one time, streams of events included."""


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
    """Where to listen; `hosts`: on loopback, further names that it may be called by; `tls` None: plain HTTP."""

    host: str
    port: int
    hosts: tuple[str, ...] = ()
    tls: ssl.SSLContext | None = None

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
    asyncio.run(_serve(address, taken, source, tokens, parent, lambda: listening(_url(host, port, address.tls))))


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
            http=HttpConnection if address.tls is None else secured(address.tls),
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


def _url(host: str, port: int, tls: ssl.SSLContext | None) -> str:
    scheme = "http" if tls is None else "https"
    return f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"
