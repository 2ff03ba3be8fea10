"""A server that answers as Grafana's HTTP API is documented: tokens, folders, versions, and what it refuses."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

TOKEN = "glsa-of-the-test"
PREFIX = "/grafana/api"
Answer = tuple[int, Any]


@dataclass(slots=True)
class Stored:
    """A dashboard: its versions, oldest first, as (content, message)."""

    folder: str
    versions: list[tuple[dict[str, Any], str]] = field(default_factory=list)


@dataclass(slots=True)
class Double:
    """What the server holds. `bare`: versions are a list without a wrapper, as older releases answer."""

    url: str = ""
    folders: dict[str, str] = field(default_factory=dict)
    dashboards: dict[str, Stored] = field(default_factory=dict)
    bare: bool = False
    writes: int = 0
    raced: bool = False
    """Somebody else saves the dashboard between our look and our save."""

    def edit(self, uid: str, **changes: Any) -> None:
        """Somebody saves it in the browser."""
        stored = self.dashboards[uid]
        stored.versions.append(({**stored.versions[-1][0], **changes}, ""))

    def shown(self, uid: str) -> dict[str, Any]:
        """The latest content, as it was sent."""
        return self.dashboards[uid].versions[-1][0]

    def get(self, path: str) -> Answer:
        if folder := re.fullmatch(r"/folders/([^/]+)", path):
            if folder[1] in self.folders:
                return 200, {"uid": folder[1], "title": self.folders[folder[1]]}
            return 404, {"message": "folder not found", "status": "not-found"}
        matched = re.fullmatch(r"/dashboards/uid/([^/]+)(/versions)?", path)
        if matched is None:
            return 404, {"message": "Not found"}
        stored = self.dashboards.get(matched[1])
        if stored is None:
            return 404, {"message": "Dashboard not found", "status": "not-found"}
        count = len(stored.versions)
        if matched[2]:
            listed = [
                {"id": at, "uid": matched[1], "version": at, "message": message}
                for at, (_, message) in enumerate(stored.versions, start=1)
            ][::-1]
            return 200, listed if self.bare else {"continueToken": "", "versions": listed}
        content = {**stored.versions[-1][0], "id": 7, "uid": matched[1], "version": count}
        if self.raced:
            self.edit(matched[1], title="mine")
        return 200, {"dashboard": content, "meta": {"folderUid": stored.folder, "version": count}}

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        if path == "/folders":
            if not body.get("title"):
                return 400, {"message": "folder title cannot be empty"}
            if body["uid"] in self.folders:
                return 409, {"message": "a folder with the same uid already exists"}
            self.folders[body["uid"]] = body["title"]
            return 200, {"uid": body["uid"], "title": body["title"], "version": 1}
        if path == "/dashboards/db":
            return self._save(body)
        return 404, {"message": "Not found"}

    def _save(self, body: dict[str, Any]) -> Answer:
        dashboard = body.get("dashboard")
        if not isinstance(dashboard, dict) or not dashboard.get("title"):
            return 400, {"message": "Dashboard title cannot be empty"}
        uid, folder = dashboard["uid"], body.get("folderUid", "")  # without one it goes to the root
        if len(uid) > 40:
            return 400, {"message": "uid too long, max 40 characters"}
        if folder and folder not in self.folders:
            return 400, {"message": "folder not found"}
        before = self.dashboards.get(uid)
        if before is None and dashboard.get("id"):
            return 404, {"message": "Dashboard not found", "status": "not-found"}
        if before is not None and not body.get("overwrite") and dashboard.get("version") != len(before.versions):
            changed = "The dashboard has been changed by someone else"
            return 412, {"message": changed, "status": "version-mismatch"}
        content = {key: value for key, value in dashboard.items() if key not in ("id", "version")}
        stored = self.dashboards.setdefault(uid, Stored(folder))
        stored.folder = folder
        stored.versions.append((content, body.get("message", "")))
        self.writes += 1
        return 200, {"id": 7, "uid": uid, "url": f"/d/{uid}", "status": "success", "version": len(stored.versions)}


@contextmanager
def grafana() -> Iterator[Double]:
    """Serves until the block ends."""
    double = Double()

    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # one packet for head and body

        def do_GET(self) -> None:
            self.answer(None)

        def do_POST(self) -> None:
            if not self.headers["Content-Type"].startswith("application/json"):
                return self.send((400, {"message": "bad request data"}))
            return self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def answer(self, body: dict[str, Any] | None) -> None:
            path = urlsplit(self.path).path
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                return self.send((401, {"message": "Invalid API key"}))
            if not path.startswith(PREFIX):
                return self.send((404, {"message": "Not found"}))
            path = path.removeprefix(PREFIX)
            return self.send(double.get(path) if body is None else double.post(path, body))

        def send(self, answer: Answer) -> None:
            data = json.dumps(answer[1]).encode()
            self.send_response(answer[0])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        double.url = f"http://127.0.0.1:{server.server_port}/grafana"
        yield double
        server.shutdown()
        thread.join()
