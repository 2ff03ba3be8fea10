"""Connections that ask nothing keep nobody out; real sockets on loopback."""

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import httpx
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp

from rebalance_monitor.streaming.config.certificates import Certificate
from rebalance_monitor.streaming.config.sections import TlsSection
from rebalance_monitor.streaming.web.connection import HttpConnection, secured
from rebalance_monitor.streaming.web.serve import AtMost
from tests.certificates import Authority
from tests.waiting import until

HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: "
WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENT_S = 60.0


@contextmanager
def served(
    app: ASGIApp,
    request_within_s: float = PATIENT_S,
    most_waiting: int = HttpConnection.most_waiting,
    kind: type[HttpConnection] = HttpConnection,
) -> Iterator[int]:
    """A server with this protocol; its port."""
    own = type("Own", (kind,), {"request_within_s": request_within_s, "most_waiting": most_waiting})
    taken = socket.create_server(("127.0.0.1", 0), backlog=128)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", http=own))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[taken])))
    thread.start()
    try:
        yield int(taken.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()


def connected(port: int, sent: bytes) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=20)
    made.sendall(sent)
    return made


def answered(connection: socket.socket) -> bool:
    """Whether the answer comes."""
    came = b""
    while not came.endswith(b"there") and (part := connection.recv(4096)):
        came += part
    return came.endswith(b"there")


def ended(connection: socket.socket) -> bool:
    """Whether the server closes it before the time-out of the socket."""
    try:
        return connection.recv(4096) == b""
    except ConnectionResetError:
        return True


def test_half_sent_requests_lock_nobody_out() -> None:
    with served(PlainTextResponse("there")) as port, ExitStack() as held:
        for _ in range(2 * HttpConnection.most_waiting + 50):
            held.enter_context(closing(connected(port, HALF)))
        assert httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).text == "there"


@pytest.mark.parametrize("sent", [b"", HALF], ids=["nothing", "half"])
def test_a_request_that_does_not_come_in_time_ends_its_connection(sent: bytes) -> None:
    with (
        served(PlainTextResponse("there"), request_within_s=0.2) as port,
        closing(connected(port, sent)) as slow,
    ):
        assert ended(slow)


def test_a_second_request_must_come_in_time_too() -> None:
    with (
        served(PlainTextResponse("there"), request_within_s=0.2) as port,
        closing(connected(port, WHOLE)) as slow,
    ):
        assert answered(slow)
        slow.sendall(HALF)
        assert ended(slow)


def test_a_long_answer_is_no_late_request() -> None:
    """A stream of events may last for hours."""
    over, running = threading.Event(), threading.Semaphore(0)

    async def streams(scope: object, receive: object, send: object) -> None:
        running.release()
        await asyncio.to_thread(over.wait, 20)
        await PlainTextResponse("there")(scope, receive, send)  # type: ignore[arg-type]

    with served(streams, request_within_s=0.05, most_waiting=1) as port, ExitStack() as held:
        asked = held.enter_context(closing(connected(port, WHOLE)))
        assert running.acquire(timeout=20)
        others = [held.enter_context(closing(connected(port, HALF))) for _ in range(3)]
        assert all(map(ended, others))
        over.set()
        assert answered(asked)


def test_requests_at_one_time_are_bounded() -> None:
    over, running = threading.Event(), threading.Semaphore(0)

    async def waits(scope: object, receive: object, send: object) -> None:
        running.release()
        await asyncio.to_thread(over.wait, 20)
        await PlainTextResponse("there")(scope, receive, send)  # type: ignore[arg-type]

    with served(AtMost(waits, 2)) as port, ExitStack() as held:
        first = [held.enter_context(closing(connected(port, WHOLE))) for _ in range(2)]
        assert all(running.acquire(timeout=20) for _ in first)
        refused = httpx.get(f"http://127.0.0.1:{port}/", trust_env=False)
        assert (refused.status_code, refused.text) == (503, "too many requests at this moment; ask again later")
        over.set()
        assert all(map(answered, first))
        until(lambda: httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).text == "there", 20)


@pytest.fixture(scope="module")
def over_tls(tmp_path_factory: pytest.TempPathFactory) -> type[HttpConnection]:
    tls = TlsSection.model_validate(Authority.made().issue("page").files(tmp_path_factory.mktemp("tls")))
    return secured(Certificate("page.tls", tls, lambda problem: None).context)


def tls_client() -> ssl.SSLContext:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    return client


def test_over_tls_neither_silence_nor_half_a_request_locks_anybody_out(over_tls: type[HttpConnection]) -> None:
    client = tls_client()
    with served(PlainTextResponse("there"), kind=over_tls) as port, ExitStack() as held:
        for number in range(2 * HttpConnection.most_waiting + 50):
            made = held.enter_context(closing(connected(port, b"")))
            if number % 10 == 0:
                held.enter_context(closing(client.wrap_socket(made))).sendall(HALF)
        for _ in range(3):
            assert httpx.get(f"https://127.0.0.1:{port}/", trust_env=False, verify=client).text == "there"


def test_a_handshake_that_does_not_come_in_time_ends_its_connection(over_tls: type[HttpConnection]) -> None:
    with served(PlainTextResponse("there"), request_within_s=0.2, kind=over_tls) as port:
        with closing(connected(port, b"")) as silent:
            assert ended(silent)
        with closing(connected(port, b"\x16\x03\x01")) as half:
            assert ended(half)
        with closing(tls_client().wrap_socket(connected(port, b""))) as slow:
            slow.sendall(HALF)
            assert ended(slow)


def test_what_is_no_tls_ends_its_connection_and_leaves_no_trace(
    over_tls: type[HttpConnection], caplog: pytest.LogCaptureFixture
) -> None:
    with served(PlainTextResponse("there"), kind=over_tls) as port:
        with closing(connected(port, WHOLE)) as plain:
            assert ended(plain)
        with httpx.Client(trust_env=False, verify=tls_client()) as client:
            # Kept alive: two requests on one connection, and a long answer to the second.
            assert [client.get(f"https://127.0.0.1:{port}/").text for _ in range(2)] == ["there"] * 2
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


def test_a_request_in_the_same_packet_as_the_end_of_the_handshake_is_answered(over_tls: type[HttpConnection]) -> None:
    with served(PlainTextResponse("there"), kind=over_tls) as port, closing(connected(port, b"")) as plain:
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = tls_client().wrap_bio(to_client, to_server)
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                plain.sendall(to_server.read())
                to_client.write(plain.recv(65_536))
        client.write(WHOLE)
        plain.sendall(to_server.read())  # the client's end of the handshake, and the request
        came = b""
        while not came.endswith(b"there"):
            try:
                came += client.read(4096)
            except ssl.SSLWantReadError:
                to_client.write(plain.recv(65_536))
