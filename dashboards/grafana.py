"""The part of Grafana's HTTP API that publishing needs, over the package grafana-api.

GET  /api/folders/:uid                      404: there is none
POST /api/folders                           {uid, title}
GET  /api/dashboards/uid/:uid               {dashboard, meta}; 404: there is none
GET  /api/dashboards/uid/:uid/versions      {versions: [{version, message}]}, newest first; a bare list before 11.5
POST /api/dashboards/db                     412: the version it builds on is not the latest any more
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import requests
from grafana_api import grafana_api as client
from grafana_api.grafana_face import GrafanaFace

TIMEOUT_S = 10.0


class GrafanaRefused(Exception):
    """Grafana did not do what was asked; the text is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class HeldDashboard:
    """A dashboard as Grafana has it, with the message of its latest version; `folder` is empty at the root."""

    model: Mapping[str, Any]
    message: str
    folder: str


class Grafana:
    """A Grafana reached over its HTTP API with a service account's token."""

    def __init__(self, url: str, token: str) -> None:
        if "@" in url:
            raise GrafanaRefused("the address of Grafana must hold no user and no password; the token says who asks")
        try:
            parts = urlsplit(url)
            port, sound = parts.port, parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:  # a port or an address that there is not
            sound = False
        if not sound:
            raise GrafanaRefused(f"{url!r} is not an address of Grafana; give one such as http://127.0.0.1:3000")
        prefix = parts.path.strip("/")
        self._url = url
        self._face = GrafanaFace(
            auth=token,
            host=parts.hostname,
            port=port,
            protocol=parts.scheme,
            url_path_prefix=f"{prefix}/" if prefix else "",
            timeout=TIMEOUT_S,
        )

    def has_folder(self, uid: str) -> bool:
        return self._found(f"/folders/{_quoted(uid)}", f"the folder {uid}") is not None

    def make_folder(self, uid: str, title: str) -> None:
        self._asked(lambda: self._face.api.POST("/folders", json={"uid": uid, "title": title}), f"the folder {uid}")

    def held(self, uid: str) -> HeldDashboard | None:
        """The dashboard of this uid, None when there is none."""
        path = f"/dashboards/uid/{_quoted(uid)}"
        answer = self._found(path, uid)
        if answer is None:
            return None
        model = dict(answer["dashboard"])
        told = self._asked(lambda: self._face.api.GET(f"{path}/versions?limit=1"), uid)
        versions = told["versions"] if isinstance(told, Mapping) else told
        latest = str(versions[0].get("message") or "") if versions else ""
        return HeldDashboard(model, latest, str(answer.get("meta", {}).get("folderUid") or ""))

    def store(self, model: Mapping[str, Any], folder: str, message: str, held: HeldDashboard | None) -> None:
        """Create the dashboard, or replace the held version of it and no other."""
        kept = {key: held.model.get(key) if held is not None else None for key in ("id", "version")}
        body: dict[str, Any] = {"dashboard": {**model, **kept}, "overwrite": False, "message": message}
        if folder:
            body["folderUid"] = folder
        self._asked(lambda: self._face.dashboard.update_dashboard(body), str(model["uid"]))

    def _found(self, path: str, what: str) -> Mapping[str, Any] | None:
        try:
            answer = self._asked(lambda: self._face.api.GET(path), what)
        except _Missing:
            return None
        return dict(answer)

    def _asked(self, call: Callable[[], Any], what: str) -> Any:
        try:
            return call()
        except client.GrafanaException as why:
            if why.status_code == 404:
                raise _Missing(f"Grafana at {self._url} has nothing at this address for {what}: {why}") from why
            if why.status_code == 412 and "version-mismatch" in str(why.response):
                raise GrafanaRefused(f"{what} was changed in Grafana at this moment ({why}); publish again") from why
            raise GrafanaRefused(f"Grafana at {self._url} refused {what}: {why}") from why
        except (requests.RequestException, ValueError) as why:  # a name that no host can have is a ValueError
            raise GrafanaRefused(
                f"Grafana at {self._url} cannot be reached ({type(why).__name__}); is it running?"
            ) from why


class _Missing(GrafanaRefused):
    """There is nothing at this address."""


def _quoted(uid: str) -> str:
    return quote(uid, safe="", errors="replace")
