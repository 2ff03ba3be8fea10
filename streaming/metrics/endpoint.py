"""HTTP of the job itself: /metrics for Prometheus, /healthz and /readyz for whoever starts and watches it."""

import json
import logging
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qs

from prometheus_client.exposition import CONTENT_TYPE_LATEST

from rebalance_monitor.streaming.supervision import Answerable, PartFailed, Supervised, places, sentence

TEXT = "text/plain; charset=utf-8"
PART = "metrics endpoint"
LOOK_EVERY_S = 0.5
log = logging.getLogger("rebalance_monitor.metrics")


class PortTaken(Exception):
    """The address can't be listened on; one sentence with what to do."""


class Scraped(Protocol):
    """What is asked of the exporter."""

    def scrape(self) -> bytes:
        """The text that Prometheus reads."""

    def readiness(self, cluster: str | None = None) -> tuple[bool, dict[str, object]]:
        """Whether everything is published and caught up, and what is missing; of one cluster, or of all. KeyError for
        one that is not watched."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    # Two monitors on one address must not share it in silence.
    allow_reuse_port = False
    timeout = LOOK_EVERY_S
    tls: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the request's own thread. The handshake is part of its first read, so a silent client holds up nobody."""
        if self.tls is None:
            super().finish_request(request, client_address)
            return
        with self.tls.wrap_socket(request, server_side=True, do_handshake_on_connect=False) as secured:
            super().finish_request(secured, client_address)

    def get_request(self) -> tuple[Any, Any]:
        """The library would pass over every error and ask again at once, for ever."""
        try:
            return super().get_request()
        except (ConnectionError, BlockingIOError, InterruptedError, TimeoutError):
            raise  # whoever asked is gone already: the library passes over it
        except OSError as why:
            raise PartFailed(f"the metrics endpoint accepts no connection ({why.strerror or why})") from why

    def handle_error(self, request: object, client_address: object) -> None:
        """The library would print a trace. Whoever asked and went away meanwhile, or speaks no TLS, is no news."""
        why = sys.exception()
        if why is not None and not isinstance(why, ConnectionError | TimeoutError | ssl.SSLError):
            log.error("request_failed", extra={"fields": {"why": sentence(why), "stack": places(why)}})


def listen(host: str, port: int, told: Scraped, tls: ssl.SSLContext | None = None) -> Server:
    """A listening server, not yet answering; PortTaken."""

    class Handler(BaseHTTPRequestHandler):
        server_version = "rebalance-monitor"
        sys_version = ""
        timeout = 10

        def do_GET(self) -> None:  # the library's name
            match self.path.partition("?")[0]:
                case "/metrics":
                    self._answer(200, told.scrape(), CONTENT_TYPE_LATEST)
                case "/healthz":
                    self._answer(200, b"ok\n", TEXT)
                case "/readyz":
                    asked = parse_qs(self.path.partition("?")[2])
                    try:
                        ready, state = told.readiness(asked["cluster"][-1] if "cluster" in asked else None)
                        ready |= "standby" in state and asked.get("standby") == ["ok"]
                    except KeyError:
                        self._answer(404, b"no cluster of this name is watched; /readyz lists them\n", TEXT)
                        return
                    body = json.dumps(state, ensure_ascii=True).encode() + b"\n"
                    self._answer(200 if ready else 503, body, "application/json")
                case _:
                    self._answer(404, b"there are /metrics, /healthz and /readyz\n", TEXT)

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Scrapes are not news."""

    try:
        server = Server((host, port), Handler)
    except (OSError, OverflowError) as why:
        reason = getattr(why, "strerror", None) or str(why)
        raise PortTaken(
            f"can't listen on {host}:{port} ({reason}); set http.host and http.port to a free address"
        ) from why
    server.tls = tls
    return server


class Endpoint:
    """Answers from `start` to `stop`. A loop that fails is told to `answerable`, and begins again at the same address.

    Listens from the beginning; PortTaken. `tls` None: plain HTTP.
    """

    def __init__(
        self, host: str, port: int, told: Scraped, answerable: Answerable, tls: ssl.SSLContext | None = None
    ) -> None:
        self._told, self._tls = told, tls
        self.server: Server | None = listen(host, port, told, tls)
        name, number = self.server.server_address[:2]
        self._host, self._port = str(name), int(number)
        self._started = False
        self._thread = Supervised(PART, self._serve, answerable)

    @property
    def url(self) -> str:
        """Base address; tells the port when a free one was asked for."""
        return f"{'http' if self._tls is None else 'https'}://{self._host}:{self._port}"

    def start(self) -> None:
        self._started = True
        self._thread.start()

    def stop(self) -> None:
        if self._started:
            self._thread.stop()
        self._thread.stopped.set()
        self._close()

    def _serve(self) -> float:
        try:
            if self.server is None:
                self.server = listen(self._host, self._port, self._told, self._tls)
            self.server.handle_request()  # comes back after a moment if nobody asks
            self._thread.well()
            while not self._thread.stopped.is_set():
                self.server.handle_request()
        except PortTaken as why:
            raise PartFailed(str(why)) from why
        except ValueError as why:  # a selector's word for a descriptor that is closed
            self._close()
            raise PartFailed("the metrics endpoint's listening socket is closed") from why
        except BaseException:
            self._close()
            raise
        return 0.0

    def _close(self) -> None:
        if self.server is not None:
            self.server.server_close()
            self.server = None
