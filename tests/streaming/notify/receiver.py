"""A real HTTP server that takes what Alertmanager's v2 API takes (or, at `path`, anything), and can be told to fail."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(slots=True)
class Receiver:
    """`answers`: status codes for the next requests; 200 when empty. `seen`: method and headers of each."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    requests: list[tuple[str, Any]] = field(default_factory=list)
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, count: int, timeout_s: float = 10.0) -> list[tuple[str, Any]]:
        """Returns the requests once so many came."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.requests) >= count, timeout_s), self.requests
            return list(self.requests)


@contextmanager
def receiving(path: str = "/api/v2/alerts") -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"] or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            with receiver.arrived:
                status = receiver.answers.pop(0) if receiver.answers else 200
                if self.path != path:
                    status = 404
                receiver.seen.append((self.command, dict(self.headers)))
                receiver.requests.append((self.headers["Idempotency-Key"], body))
                receiver.arrived.notify_all()
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
