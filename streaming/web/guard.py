"""What stands before every answer: who asks, under which name, and what the browser may do with the answer."""

from collections.abc import MutableMapping, Sequence
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.types import ASGIApp, Message, Receive, Send

from .contract import PREFIX
from .pages import error_page
from .scope import Scope, Token, admitted

LONGEST_QUERY = 8_000
# Asked by load balancers and browsers before anybody has shown a token; they tell nothing of any group.
OPEN = frozenset({"/healthz", "/readyz"})

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_NOBODY = Scope("", (), ())


def scope_of(request: Request) -> Scope:
    scope: Scope = request.scope["rebalance_monitor.scope"]
    return scope


class Guard:
    """Lets in who carries a configured token, and puts the same headers on every answer.

    `hosts`: names the server may be called by ("*": any). A foreign site that lets a name of its own point to this
    machine could otherwise have a visitor's browser read it.
    """

    def __init__(self, app: ASGIApp, tokens: Sequence[Token], hosts: Sequence[str] = ("*",)) -> None:
        self._app, self._tokens = app, tuple(tokens)
        self._hosts = None if "*" in hosts else frozenset(name.lower() for name in hosts)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        request = Request(scope)
        path = request.url.path
        if len(scope["query_string"]) > LONGEST_QUERY:
            await _refusal(request, 414, "the address is too long; shorten it")(scope, receive, guarded)
            return
        if self._hosts is not None and _name(request.headers.get("host", "")) not in self._hosts:
            sentence = "it is not known by this name; list the name in page.hosts"
            await _refusal(request, 421, sentence)(scope, receive, guarded)
            return
        found = admitted(request.headers.get("authorization"), self._tokens)
        if found is None and path not in OPEN and not path.startswith("/static/"):
            answer = _refusal(request, 401, "a token is needed; give one that page.tokens of the configuration lists")
            answer.headers["WWW-Authenticate"] = 'Basic realm="rebalance-monitor", charset="UTF-8"'
            await answer(scope, receive, guarded)
            return
        scope["rebalance_monitor.scope"] = _NOBODY if found is None else found
        await self._app(scope, receive, guarded)


def asked_path(request: Request) -> str:
    """As the browser wrote it, where %2F separates nothing."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    return raw.decode("latin-1")


def _refusal(request: Request, status: int, sentence: str) -> JSONResponse | HTMLResponse:
    if request.url.path.startswith(PREFIX):
        return JSONResponse({"error": sentence}, status)
    return HTMLResponse(error_page(status, sentence, asked_path(request)), status)


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    host = host.strip().lower()
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
