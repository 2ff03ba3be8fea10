"""Publishing over real HTTP to a small server that answers as Grafana does."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grafana_foundation_sdk")
pytest.importorskip("grafana_api")

from dashboards import publish
from dashboards.publish import TOKEN_VARIABLE

TOKEN = "glsa-of-the-test"


class Grafana(BaseHTTPRequestHandler):
    """The one call that publishing makes."""

    received: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.answer(401, {"message": "Invalid API key"})
        if self.path != "/grafana/api/dashboards/db":
            return self.answer(404, {"message": "Not found"})
        type(self).received.append(body)
        return self.answer(200, {"status": "success", "url": f"/grafana/d/{body['dashboard']['uid']}"})

    def answer(self, status: int, body: dict[str, str]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def grafana() -> Iterator[str]:
    Grafana.received = []
    with HTTPServer(("127.0.0.1", 0), Grafana) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/grafana"
        server.shutdown()
        thread.join()


def test_uploads_both_dashboards(
    grafana: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    assert publish.main(["--url", grafana, "--folder", "kafka", "-o", "json"]) == 0
    assert [body["dashboard"]["uid"] for body in Grafana.received] == [
        "rebalance-monitor-fleet",
        "rebalance-monitor-group",
    ]
    assert all(body["overwrite"] and body["folderUid"] == "kafka" for body in Grafana.received)
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert printed[0] == {
        "kind": "dashboard",
        "uid": "rebalance-monitor-fleet",
        "path": "/grafana/d/rebalance-monitor-fleet",
    }


def test_token_may_come_from_a_file(grafana: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    assert publish.main(["--url", grafana, "--token-file", str(file)]) == 0


@pytest.mark.parametrize(
    ("token", "url", "said"),
    [
        ("", "http://127.0.0.1:1", "no token"),
        ("wrong", None, "Unauthorized"),
        (TOKEN, "grafana:3000", "is not an address"),
        (TOKEN, "closed", "cannot be reached"),
    ],
)
def test_says_in_one_sentence_what_is_wrong(
    grafana: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    token: str,
    url: str | None,
    said: str,
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    if url == "closed":
        with socket.socket() as bound:  # bound but not listening: connections are refused
            bound.bind(("127.0.0.1", 0))
            code = publish.main(["--url", f"http://127.0.0.1:{bound.getsockname()[1]}"])
    else:
        code = publish.main(["--url", url or grafana])
    error = capsys.readouterr().err
    assert code == 2
    assert said in error
    assert error.count("\n") == 1
    assert TOKEN not in error
