"""What goes wrong with one request is that request's: it never stands in the middle of a log of JSON lines."""

import http.client
import logging
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

import httpx
import pytest

from lab.asking import local
from rebalance_monitor.streaming.metrics.endpoint import Endpoint, listen
from tests.waiting import PATIENCE_S, until

HOST = "127.0.0.1"
PART = "metrics endpoint"


class Told:
    """Answers once it may; fails if told to. `fails` is set before a request."""

    def __init__(self) -> None:
        self.asked, self.may = threading.Event(), threading.Event()
        self.fails: Exception | None = None

    def scrape(self) -> bytes:
        self.asked.set()
        assert self.may.wait(PATIENCE_S)
        if self.fails is not None:
            raise self.fails
        return b"x" * 1_000_000

    def readiness(self, cluster: str | None = None) -> tuple[bool, dict[str, object]]:
        return (True, {}) if cluster is None else (False, {"standby": True} if cluster == "of another job" else {})


@contextmanager
def answering(told: Told) -> Iterator[tuple[ThreadingHTTPServer, threading.Event]]:
    """The server, and an event that is set when a request is over, however it ended."""
    server, over = listen(HOST, 0, told), threading.Event()
    end = server.shutdown_request

    def ended(request: socket.socket | tuple[bytes, socket.socket]) -> None:
        end(request)
        over.set()

    server.shutdown_request = ended  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server, over
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_scraper_that_gave_up_is_no_news(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    with answering(told) as (server, over):
        scraper = socket.create_connection((HOST, server.server_port))
        scraper.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert told.asked.wait(PATIENCE_S)
        # A reset instead of an end: whoever writes then hears of it at once.
        scraper.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        scraper.close()
        told.may.set()
        assert over.wait(PATIENCE_S)
    assert capfd.readouterr().err == ""
    assert caplog.records == []


def test_an_error_of_ours_is_one_line_with_its_place(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    told = Told()
    told.fails = ValueError("postgresql://user:secret@db/x")
    told.may.set()
    with answering(told) as (server, over), caplog.at_level(logging.ERROR):
        with pytest.raises(httpx.HTTPError):
            local().get(f"http://{HOST}:{server.server_port}/metrics", timeout=PATIENCE_S)
        assert over.wait(PATIENCE_S)
    assert capfd.readouterr().err == ""
    (record,) = caplog.records
    fields = vars(record)["fields"]
    assert record.message == "request_failed"
    assert fields["why"].startswith("ValueError at test_endpoint.py")
    assert any("scrape" in place for place in fields["stack"])


class Noting(Told):
    """Notes what is said of the endpoint itself."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str | None] = []

    def part(self, name: str, problem: str | None) -> None:
        assert name == PART
        self.said.append(problem)


def test_a_loop_that_dies_is_told_and_begins_again_at_the_same_address() -> None:
    """Its listening socket is gone, as when descriptors were mixed up: only a new one can help."""
    told = Noting()
    endpoint = Endpoint(HOST, 0, told, told)
    url = endpoint.url
    endpoint.start()
    try:
        until(lambda: told.said == [None])
        assert local().get(f"{url}/healthz", timeout=PATIENCE_S).text == "ok\n"
        assert endpoint.server is not None
        endpoint.server.socket.close()
        until(lambda: told.said[-1] is None and len(told.said) > 1)
        assert told.said[1] is not None
        assert "metrics endpoint" in told.said[1]
        assert local().get(f"{url}/healthz", timeout=PATIENCE_S).text == "ok\n"
        assert endpoint.url == url
    finally:
        endpoint.stop()
    with pytest.raises(httpx.ConnectError):
        local().get(f"{url}/healthz", timeout=PATIENCE_S)


@pytest.mark.parametrize("started", [False, True])
def test_it_stops_whatever_it_was_doing(started: bool) -> None:
    told = Noting()
    endpoint = Endpoint(HOST, 0, told, told)
    if started:
        endpoint.start()
    endpoint.stop()
    with pytest.raises(httpx.ConnectError):
        local().get(f"{endpoint.url}/healthz", timeout=PATIENCE_S)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("", 200),
        ("?standby=ok", 200),
        ("?cluster=of+another+job", 503),
        ("?cluster=of+another+job&standby=ok", 200),
        ("?cluster=of+another+job&standby=no", 503),
        ("?cluster=unreachable&standby=ok", 503),
    ],
)
def test_whoever_starts_a_pair_takes_a_standby_for_ready(asked: str, status: int) -> None:
    with answering(Told()) as (server, _):
        connection = http.client.HTTPConnection(HOST, server.server_port, timeout=PATIENCE_S)
        connection.request("GET", f"/readyz{asked}")
        assert connection.getresponse().status == status
        connection.close()
