"""HTTP around the answers. Starlette routes and streams, uvicorn speaks HTTP: a watcher costs a coroutine where the
standard library's server, which the exporter uses for one scraper, would cost a thread; keep-alive, HEAD, compression,
time limits and a graceful end are theirs and not ours to get wrong. Statements run on a bounded pool of threads.

Every answer forbids what the page does not need (scripts but its own, framing, referrers), none sets a cookie.
"""

import logging
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route as Path

from . import api, pages
from .contract import PREFIX, ROUTES, Route
from .fleet_table import fleet_query
from .guard import Guard, asked_path, scope_of
from .live import Crowded, Live
from .parameters import BadRequest, parsed
from .scope import Token
from .statements import Unavailable
from .upstream import Silent

_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}
log = logging.getLogger("rebalance_monitor.page")

Handler = Callable[[Request], Awaitable[Response]]


def application(
    source: api.PageSource, live: Live, tokens: Sequence[Token] = (), hosts: Sequence[str] = ("*",)
) -> Starlette:
    """Everything that is served. `hosts`: names it may be called by ("*": any)."""
    routes = [
        Path("/", _fleet(source)),
        Path("/group", _group(source)),
        Path("/runbook", _runbook),
        Path("/static/{name}", _static),
        Path("/healthz", _healthz),
        Path("/readyz", _readyz(source)),
        Path("/metrics", _metrics(source)),
        *(Path(route.path, _events(live) if route.name == "events" else _answer(source, route)) for route in ROUTES),
    ]
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(Guard, tokens=tokens, hosts=hosts),
            Middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5),
        ],
        exception_handlers={
            HTTPException: _refused,
            BadRequest: _sentence(400),
            api.NotFound: _sentence(404),
            Unavailable: _sentence(503),
            Silent: _sentence(503),
            Crowded: _sentence(503),
            Exception: _broken,
        },
    )


def problem(request: Request, status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """One clear sentence, as the asker can read it."""
    if request.url.path.startswith(PREFIX):
        return JSONResponse({"error": sentence}, status, headers)
    if request.url.path in ("/metrics", "/healthz", "/readyz"):
        return PlainTextResponse(sentence + "\n", status, headers)
    return HTMLResponse(pages.error_page(status, sentence, asked_path(request)), status, headers)


def _sentence(status: int) -> Callable[[Request, Exception], Response]:
    def answer(request: Request, why: Exception) -> Response:
        text = str(why) or "as many watch as may; close a page and try again"
        return problem(request, status, text)

    return answer


def _refused(request: Request, why: Exception) -> Response:
    assert isinstance(why, HTTPException)
    sentences = {404: "there is nothing at this address", 405: "this is read-only; ask with GET"}
    return problem(request, why.status_code, sentences.get(why.status_code, str(why.detail)), dict(why.headers or {}))


def _broken(request: Request, why: Exception) -> Response:
    where = traceback.extract_tb(why.__traceback__)[-1] if why.__traceback__ else None
    place = f"{where.filename}:{where.lineno}" if where else "an unknown place"
    log.error("%s broke the page %s at %s: %s", type(why).__name__, request.url.path, place, why)
    return problem(request, 500, "something broke inside the monitor's page; its log names what")


def _fleet(source: api.PageSource) -> Handler:
    async def answer(request: Request) -> Response:
        query = fleet_query(request.query_params)
        return HTMLResponse(await run_in_threadpool(pages.fleet_page, source, scope_of(request), query))

    return answer


def _group(source: api.PageSource) -> Handler:
    async def answer(request: Request) -> Response:
        given = request.query_params
        cluster, group = given.get("cluster"), given.get("group")
        if cluster is None or group is None or "\x00" in cluster + group:
            raise BadRequest("the address names no group; go to the fleet and choose one")
        return HTMLResponse(
            await run_in_threadpool(pages.group_page, source, scope_of(request), cluster, group, dict(given))
        )

    return answer


def _answer(source: api.PageSource, route: Route) -> Handler:
    answers = api.ANSWERS[route.name]

    async def answer(request: Request) -> Response:
        values = parsed(route, request.query_params.multi_items())
        return JSONResponse(await run_in_threadpool(answers, source, scope_of(request), values))

    return answer


def _events(live: Live) -> Handler:
    async def answer(request: Request) -> Response:
        live.admit()
        return StreamingResponse(live.events(scope_of(request)), media_type="text/event-stream")

    return answer


async def _runbook(request: Request) -> Response:
    return HTMLResponse(pages.runbook_page(request.query_params.get("rule", "")))


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in pages.static_files():
        raise HTTPException(404)
    content, _ = pages.static_files()[name]
    return Response(content, media_type=_KINDS[name.rpartition(".")[2]], headers=_FOR_EVER)


async def _healthz(request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _readyz(source: api.PageSource) -> Handler:
    """For whoever asks without a token: whether, and nothing of what."""

    async def answer(request: Request) -> Response:
        state: dict[str, Any] = await run_in_threadpool(api.health, source)
        scope = scope_of(request)
        if scope is None or not scope.everything:
            state = {"ready": state["ready"], "role": state["role"]}
        return JSONResponse(state, 200 if state["ready"] else 503)

    return answer


def _metrics(source: api.PageSource) -> Handler:
    """The exporter's own words name every group, so a scoped token finds nothing here."""

    async def answer(request: Request) -> Response:
        if not scope_of(request).everything:
            raise HTTPException(404)
        content, kind = await run_in_threadpool(source.job.metrics)
        return Response(content, headers={"Content-Type": kind})

    return answer
