"""What is said where the monitor does not answer as it should, by a real server that answers so."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rebalance_monitor.streaming.cli.exit_codes import InputError
from rebalance_monitor.streaming.cli.monitor_api import TOKEN, URL, MonitorApi, NotThere, Unreachable, api_from


@contextmanager
def answering(status: int, body: bytes = b"{}", **headers: str) -> Iterator[tuple[str, list[str]]]:
    """A server that answers everything so; its address, and the paths and tokens that it was asked with."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers.get('Authorization', '')}".strip())
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body", "kind", "sentence"),
    [
        (401, b'{"error": "a token is needed"}', InputError, "asks for a token; put one that page.tokens lists into"),
        (404, b'{"error": "no such group is known"}', NotThere, "no such group is known"),
        (404, b"<html>", InputError, "refused the question (HTTP 404)"),
        (400, b'{"error": "the parameter x is wrong"}', InputError, "refused the question (the parameter x is wrong)"),
        (503, b'{"error": "the database is away"}', Unreachable, "cannot answer now (the database is away)"),
        (502, b"", Unreachable, "cannot answer now (HTTP 502)"),
        (200, b"<html>", InputError, "is not the monitor's page"),
        (200, b"[]", InputError, "is not the monitor's page"),
        (200, b"\xff", InputError, "is not the monitor's page"),
    ],
)
def test_a_refusal_is_one_sentence(status: int, body: bytes, kind: type[InputError], sentence: str) -> None:
    with answering(status, body) as (url, _), pytest.raises(kind) as told:
        MonitorApi(url, "planted-token").get("groups")
    assert sentence in str(told.value)
    assert "planted" not in str(told.value)
    assert "\n" not in str(told.value)


def test_the_token_does_not_go_where_an_answer_leads() -> None:
    with answering(200) as (elsewhere, asked), answering(302, Location=f"{elsewhere}/api/v1/groups") as (url, _):
        with pytest.raises(InputError, match="leads elsewhere"):
            MonitorApi(url, "planted-token").get("groups")
        assert asked == []


def test_a_token_and_a_password_are_sent_and_never_shown() -> None:
    with answering(200) as (url, asked):
        api_from(None, {URL: url, TOKEN: "planted-token"}).get("health")
        api_from(url.replace("//", "//jane:planted-word@"), {}).get("health")
    pair = base64.b64encode(b"jane:planted-word").decode()
    assert asked == ["/api/v1/health Bearer planted-token", f"/api/v1/health Basic {pair}"]
    with pytest.raises(Unreachable) as told:
        MonitorApi(url.replace("//", "//jane:planted-word@")).get("health")
    assert "planted" not in str(told.value)


def test_lists_are_read_page_by_page() -> None:
    page = json.dumps({"items": [{"n": 1}], "next": None}).encode()
    with answering(200, page) as (url, asked):
        assert list(MonitorApi(f"{url}/monitor/").listed("groups", {"cluster": "a b"}, 7)) == [{"n": 1}]
    assert asked == ["/monitor/api/v1/groups?cluster=a+b&limit=7"]


@pytest.mark.parametrize("url", ["monitor", "ftp://monitor", "http://", "http://a:0x", "http://a b", "https://[::1"])
def test_an_address_that_is_none_is_one_sentence(url: str) -> None:
    with pytest.raises(InputError, match="is not a URL"):
        MonitorApi(url)
