"""A program that is told: what Alertmanager's webhook and the monitor's own webhook send, kept in order of arrival.

`POST /alertmanager` takes Alertmanager's notifications, `POST /hook` the monitor's, whose `Idempotency-Key` it honours:
a key that was seen is accepted and changes nothing. While it is held, what arrives is kept but not answered, so that a
sender can be killed between sending and knowing.

    python -m lab.receivers.hook_receiver PORT FILE     a process of its own; FILE has a line for each key that arrived
"""

import json
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Self

from lab.ports import HOST

KEY = "Idempotency-Key"
HELD_S = 60.0

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Inbox:
    """All that arrived."""

    notified: list[tuple[Labels, str]] = field(default_factory=list)
    posted: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def alerts(self) -> dict[Labels, list[str]]:
        """What Alertmanager said of each label set, in order: firing, resolved."""
        with self.lock:
            found: dict[Labels, list[str]] = {}
            for labels, status in self.notified:
                found.setdefault(labels, []).append(status)
            return found

    def raw(self) -> Counter[str]:
        """How often each key arrived."""
        with self.lock:
            return Counter(key for key, _ in self.posted)

    def honoured(self) -> dict[str, dict[str, Any]]:
        """What a receiver that honours keys acts on: the first message of each, in order of arrival."""
        with self.lock:
            found: dict[str, dict[str, Any]] = {}
            for key, message in self.posted:
                found.setdefault(key, message)
            return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    inbox: Inbox
    going_on: Event
    file: Path | None

    def do_POST(self) -> None:  # the name that http.server calls
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        key = self.headers.get(KEY)
        code = 200
        with self.inbox.lock:
            if self.path == "/alertmanager":
                self.inbox.notified += [(_labels(one["labels"]), one["status"]) for one in body["alerts"]]
            elif self.path == "/hook" and key is not None:
                self.inbox.posted.append((key, body))
                if self.file is not None:
                    with self.file.open("a", encoding="utf-8") as lines:
                        lines.write(f"{key}\n")
            else:
                code = 400
        if self.path == "/hook":
            self.going_on.wait(HELD_S)
        with suppress(OSError):  # the sender may have been killed meanwhile
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """What requests carry is kept; they themselves are not logged."""


def _labels(labels: dict[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


class HookReceiver:
    """The server, on a free port unless one is given, from entering to leaving. Keys that arrive go to `file`, too."""

    def __init__(self, port: int = 0, file: Path | None = None) -> None:
        self.inbox = Inbox()
        self._going_on = Event()
        self._going_on.set()
        handler = type("Handler", (_Handler,), {"inbox": self.inbox, "going_on": self._going_on, "file": file})
        self._server = ThreadingHTTPServer((HOST, port), handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, name="hook-receiver", daemon=True)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.server_port}"

    def hold(self) -> None:
        """Answer the monitor no more; what arrives is kept."""
        self._going_on.clear()

    def release(self) -> None:
        """Answer again."""
        self._going_on.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def main(port: str, file: str) -> None:
    """Until it is killed."""
    Path(file).touch()
    with HookReceiver(int(port), Path(file)):
        Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
