"""Uploads the generated dashboards to a Grafana.

The rules need only `Target`, a port of one method; `GrafanaTarget` is its adapter over the package grafana-api. The
token comes from the environment or a file, never from the command line, where every process could read it.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import requests
from grafana_api import grafana_api as client
from grafana_api.grafana_face import GrafanaFace

from dashboards.build import render

TOKEN_VARIABLE = "REBALANCE_MONITOR_GRAFANA_TOKEN"


class Target(Protocol):
    """Where dashboards go."""

    def upload(self, dashboard: dict[str, Any], folder: str | None) -> str:
        """Create or replace the dashboard (by its uid) in a folder (uid, None: the general one); returns its path."""
        ...


class Refused(Exception):
    """The target did not take a dashboard; the text is one sentence for the user."""


class GrafanaTarget:
    """A Grafana reached over its HTTP API with a service account's token."""

    def __init__(self, url: str, token: str, timeout_s: float = 10.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(f"{url!r} is not an address of Grafana; give one such as http://127.0.0.1:3000")
        prefix = parts.path.strip("/")
        self._url = url
        self._face = GrafanaFace(
            auth=token,
            host=parts.hostname,
            port=parts.port,
            protocol=parts.scheme,
            url_path_prefix=f"{prefix}/" if prefix else "",
            timeout=timeout_s,
        )

    def upload(self, dashboard: dict[str, Any], folder: str | None) -> str:
        body: dict[str, Any] = {"dashboard": dashboard, "overwrite": True, "message": "rebalance-monitor"}
        if folder is not None:
            body["folderUid"] = folder
        try:
            answer = self._face.dashboard.update_dashboard(body)
        except client.GrafanaException as why:
            raise Refused(f"Grafana at {self._url} refused {dashboard['uid']}: {why}") from why
        except requests.RequestException as why:
            raise Refused(f"Grafana at {self._url} cannot be reached ({type(why).__name__}); is it running?") from why
        return str(answer.get("url", ""))


def publish(target: Target, folder: str | None) -> list[tuple[str, str]]:
    """Upload every generated dashboard; returns (uid, path) of each."""
    done = []
    for name, text in render().items():
        if name.endswith(".json"):
            dashboard = json.loads(text)
            done.append((dashboard["uid"], target.upload(dashboard, folder)))
    return done


def main(argv: Sequence[str]) -> int:
    """Upload the dashboards. 0: all are there; 2: wrong usage, or Grafana cannot be reached or refuses."""
    parser = argparse.ArgumentParser(prog="rebalance-monitor dashboards publish", description=__doc__)
    parser.add_argument("--url", required=True, help="address of Grafana, such as http://127.0.0.1:3000")
    parser.add_argument("--folder", default=None, metavar="UID", help="folder to put them into (default: General)")
    parser.add_argument("--token-file", type=Path, default=None, help=f"file with the token; else ${TOKEN_VARIABLE}")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="how to report")
    options = parser.parse_args(argv)
    try:
        done = publish(GrafanaTarget(options.url, _token(options.token_file)), options.folder)
    except Refused as why:
        print(why, file=sys.stderr)
        return 2
    for uid, path in done:
        report = {"kind": "dashboard", "uid": uid, "path": path}
        print(json.dumps(report) if options.output == "json" else f"{uid:24} {path}", flush=True)
    return 0


def _token(file: Path | None) -> str:
    try:
        token = file.read_text(encoding="utf-8") if file else os.environ.get(TOKEN_VARIABLE, "")
    except OSError as why:
        raise Refused(f"the token file {file} cannot be read: {why.strerror}") from why
    if not token.strip():
        raise Refused(f"no token: set {TOKEN_VARIABLE} or give --token-file")
    return token.strip()
