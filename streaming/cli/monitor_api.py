"""Asks the JSON API of a running monitor, with the standard library alone. Every failure is one sentence.

Neither the token nor the password of the address is ever in a sentence. An answer that leads elsewhere is not followed:
the token would go there.
"""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import IO, Any
from urllib.parse import SplitResult, urlencode, urlsplit, urlunsplit

from rebalance_monitor.streaming.web.contract import MOST, PREFIX
from .exit_codes import InputError

USUAL_URL = "http://127.0.0.1:9471"
URL, TOKEN = "REBALANCE_MONITOR_URL", "REBALANCE_MONITOR_TOKEN"
TIMEOUT_S = 15.0
MOST_BYTES = 64_000_000
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
Object = dict[str, Any]
Where = dict[str, str | int | None]
"""Parameters of a question."""


class Unreachable(InputError):
    """No answer, or none that can be used now; asking again may help."""


class NotThere(InputError):
    """What was asked for is not known."""


class _Stays(urllib.request.HTTPRedirectHandler):
    """An answer that leads elsewhere is an error."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class MonitorApi:
    """The API at `url`, the page's address; a user and a password in it are for HTTP's basic scheme."""

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = _checked(url)
        self.url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        elif parts.password is not None:
            pair = f"{parts.username or ''}:{parts.password}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        handlers: list[Any] = [_Stays()]
        if parts.hostname in _LOOPBACK:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, route: str, parameters: Where | None = None) -> Object:
        """The answer to a route of `streaming.web.contract`; parameters that are None are left out."""
        given = {name: value for name, value in (parameters or {}).items() if value is not None}
        address = f"{self.url}{PREFIX}/{route}" + (f"?{urlencode(given)}" if given else "")
        request = urllib.request.Request(address, headers=self._headers)
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                found = _parsed(answer)
        except urllib.error.HTTPError as why:
            with why:
                raise self._refusal(why) from None
        except (OSError, HTTPException) as why:
            raise Unreachable(
                f"no monitor answers at {self.url} ({_reason(why)}); see that it runs, and give its page's address"
                f" with --url or {URL}, or a capture with --capture"
            ) from None
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise InputError(f"what answers at {self.url} is not the monitor's page; correct --url or {URL}")
        return found

    def listed(self, route: str, where: Where | None = None, limit: int = MOST) -> Iterator[Object]:
        """The items of a list, page by page as they are taken."""
        after: str | None = None
        while True:
            page = self.get(route, {**(where or {}), "limit": limit, "cursor": after})
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def _refusal(self, why: urllib.error.HTTPError) -> InputError:
        sentence = ""
        try:
            told = json.loads(why.read(MOST_BYTES))
            sentence = str(told.get("error", "")) if isinstance(told, dict) else ""
        except (OSError, HTTPException, ValueError):
            pass
        match why.code:
            case 401:
                return InputError(f"{self.url} asks for a token; put one that page.tokens lists into {TOKEN}")
            case 404 if sentence:
                return NotThere(sentence)
            case 503 | 502 | 504:
                return Unreachable(f"{self.url} cannot answer now ({sentence or f'HTTP {why.code}'})")
            case code if 300 <= code < 400:
                return InputError(f"{self.url} leads elsewhere; give the address that it leads to with --url or {URL}")
            case code:
                return InputError(
                    f"{self.url} refused the question ({sentence or f'HTTP {code}'}); is it of this version?"
                )


def api_from(url: str | None, environment: Mapping[str, str]) -> MonitorApi:
    """The API at the given address, else at the environment's, else on this machine; with the environment's token."""
    return MonitorApi(url or environment.get(URL) or USUAL_URL, environment.get(TOKEN))


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound or not url.isprintable() or " " in url:
        raise InputError(
            "the monitor's address is not a URL such as https://monitor.example.org; correct --url or " + URL
        )
    return parts


def _parsed(answer: IO[bytes]) -> Any:
    text = answer.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise ValueError
    return json.loads(text)


def _reason(why: BaseException) -> str:
    """Why there is no answer, without the address: it may hold a password."""
    inner = why.reason if isinstance(why, urllib.error.URLError) else why
    if isinstance(inner, TimeoutError):
        return "it does not answer in time"
    if isinstance(inner, OSError) and inner.strerror:
        return inner.strerror.lower() if not hasattr(inner, "verify_message") else str(inner.verify_message)
    return type(inner).__name__ if not isinstance(inner, str) else inner
