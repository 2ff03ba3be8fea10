"""A receiver that takes alerts the way Alertmanager does: `POST /api/v2/alerts`.

It checks the shape of what it gets (Alertmanager's API: a list of alerts with `labels`, optional `annotations`,
`startsAt`, `endsAt` in RFC 3339, `generatorURL`), refuses anything else with 400, keeps everything and prints a line
for each change. `GET /received` gives all of it back in order of arrival; `GET /api/v2/alerts` what fires now.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from lab.ports import HOST

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")
_KEYS = {"labels", "annotations", "startsAt", "endsAt", "generatorURL"}
MAX_BODY_BYTES = 10_000_000


def _bad_texts(alert: dict[str, Any], name: str) -> str | None:
    values = alert.get(name, {})
    if not isinstance(values, dict):
        return f"{name} is no object"
    for key, value in values.items():
        if not _LABEL.match(key):
            return f"{name}: {key!r} is no valid name"
        if not isinstance(value, str):
            return f"{name}: {key} is no text"
    return None


def fault(alert: object) -> str | None:
    """What Alertmanager would refuse about one alert, or None."""
    if not isinstance(alert, dict):
        return "an alert is no object"
    if unknown := set(alert) - _KEYS:
        return f"unknown field {sorted(unknown)[0]}"
    if why := _bad_texts(alert, "labels") or _bad_texts(alert, "annotations"):
        return why
    if not any(alert.get("labels", {}).values()):
        return "an alert needs at least one label that is not empty"
    for name in ("startsAt", "endsAt"):
        if name in alert and not (isinstance(alert[name], str) and _TIME.match(alert[name])):
            return f"{name} is no RFC 3339 time"
    if "startsAt" in alert and "endsAt" in alert and _moment(alert["endsAt"]) < _moment(alert["startsAt"]):
        return "endsAt lies before startsAt"
    if not isinstance(alert.get("generatorURL", ""), str):
        return "generatorURL is no text"
    return None


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


@dataclass(slots=True)
class Inbox:
    """All alerts in order of arrival, and the last one of each label set."""

    received: list[dict[str, Any]] = field(default_factory=list)
    latest: dict[str, dict[str, Any]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def take(self, alerts: Sequence[dict[str, Any]], now: datetime) -> None:
        """Keep valid alerts; print those that begin or end."""
        with self.lock:
            for alert in alerts:
                resolved = "endsAt" in alert and _moment(alert["endsAt"]) <= now
                status = "resolved" if resolved else "firing"
                entry = {"received_ms": int(now.timestamp() * 1000), "status": status, "alert": alert}
                key = json.dumps({k: v for k, v in alert["labels"].items() if v}, sort_keys=True)
                before = self.latest.get(key)
                self.received.append(entry)
                self.latest[key] = entry
                if before is None or before["status"] != status:
                    print(f"{status}: {_described(alert)}", flush=True)

    def firing(self) -> list[dict[str, Any]]:
        """What Alertmanager would list now."""
        now = datetime.now(UTC)
        with self.lock:
            current = [entry["alert"] for entry in self.latest.values() if entry["status"] == "firing"]
        return [alert for alert in current if "endsAt" not in alert or _moment(alert["endsAt"]) > now]


def _described(alert: dict[str, Any]) -> str:
    labels = ", ".join(f"{name}={value}" for name, value in sorted(alert["labels"].items()) if value)
    summary = alert.get("annotations", {}).get("summary", "")
    return f"{summary} ({labels})" if summary else labels


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    inbox: Inbox

    def do_GET(self) -> None:  # the name that http.server calls
        match self.path.partition("?")[0]:
            case "/-/ready" | "/-/healthy":
                self._answer(200, "OK")
            case "/received":
                with self.inbox.lock:
                    self._answer(200, self.inbox.received)
            case "/api/v2/alerts":
                self._answer(200, self.inbox.firing())
            case _:
                self._answer(404, "not found")

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if size <= MAX_BODY_BYTES else b""
        if self.path != "/api/v2/alerts":
            self._answer(404, "not found")
            return
        try:
            alerts = json.loads(body)
        except ValueError as error:
            self._answer(400, f"no JSON: {error}")
            return
        if not isinstance(alerts, list):
            self._answer(400, "not a list of alerts")
            return
        if faults := [why for alert in alerts if (why := fault(alert))]:
            print(f"refused: {faults[0]}", file=sys.stderr, flush=True)
            self._answer(400, faults[0])
            return
        self.inbox.take(alerts, datetime.fromtimestamp(time.time(), UTC))
        self._answer(200, None)

    def _answer(self, code: int, body: object) -> None:
        payload = b"" if body is None else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged; what they carry is."""


def serve(port: int, host: str = HOST) -> ThreadingHTTPServer:
    """A server that is bound and ready to `serve_forever`; its inbox is empty."""
    handler = type("Handler", (_Handler,), {"inbox": Inbox()})
    return ThreadingHTTPServer((host, port), handler)


def main() -> int:
    """Serve until a signal ends the process."""
    parser = argparse.ArgumentParser(description="Receive alerts the way Alertmanager does.")
    parser.add_argument("--port", type=int, required=True)
    serve(parser.parse_args().port).serve_forever()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
