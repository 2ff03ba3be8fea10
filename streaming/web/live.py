"""Live by asking, not by LISTEN: once in `every_s`, and only while somebody watches, one question that touches no table
(which transactions have ended). Only when that differs, each group's row versions are read and compared.

How the monitor itself is gets looked at as often: whoever watches an open page must see that the database is gone, or
that the job has fallen silent, for then no row will ever change.

Why not LISTEN/NOTIFY: the writer would have to tell of every commit, watched or not; a read replica allows no LISTEN;
and what a reader with a scoped token may hear of must be worked out from rows anyway. The price is up to a second.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from streaming.web import fleet
from streaming.web.reader import Reader, Unavailable
from streaming.web.rows import Key
from streaming.web.scope import Scope, TeamOf
from streaming.web.upstream import Readiness

EVERY_S = 1.0
BREATH_S = 15.0
MOST_WATCHERS = 200
MOST_WAITING = 16


class Crowded(Exception):
    """As many watch as may."""


@dataclass(eq=False)
class _Watcher:
    scope: Scope
    waiting: asyncio.Queue[bytes | None] = field(default_factory=lambda: asyncio.Queue(MOST_WAITING))


class Live:
    """Tells every watcher which of the groups it may see have changed, and when the monitor's own state has."""

    def __init__(
        self,
        reader: Reader,
        team_of: TeamOf,
        readiness: Callable[[], Readiness],
        every_s: float = EVERY_S,
        most: int = MOST_WATCHERS,
    ) -> None:
        self._reader, self._team_of, self._readiness = reader, team_of, readiness
        self._every_s, self._most = every_s, most
        self._watchers: set[_Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._looked = asyncio.Event()
        self._ended = False

    async def events(self, scope: Scope) -> AsyncIterator[bytes]:
        """The stream of one watcher, from its opening words until it leaves or everything ends.

        The opening comes once there is something to compare with: what is read after it misses nothing.
        """
        watcher = _Watcher(scope)
        self._watchers.add(watcher)
        if self._task is None or self._task.done():
            self._looked.clear()
            self._task = asyncio.create_task(self._watch())
        try:
            await self._looked.wait()
            yield b"retry: 2000\n: hello\n\n"
            while not self._ended:
                try:
                    told = await asyncio.wait_for(watcher.waiting.get(), BREATH_S)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if told is None:
                    return
                yield told
        finally:
            self._watchers.discard(watcher)

    def admit(self) -> None:
        """Raises Crowded when no further watcher is let in."""
        if self._ended or len(self._watchers) >= self._most:
            raise Crowded

    async def stop(self) -> None:
        """Ends every stream."""
        self._ended = True
        self._looked.set()
        for watcher in self._watchers:
            _put(watcher, None)
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self) -> None:
        """Runs while somebody watches. Where the database gives no answer it is asked again later."""
        clock: str | None = None
        before: dict[Key, tuple[str, ...]] | None = None
        was: object = None
        while self._watchers:
            try:
                now = await run_in_threadpool(self._reader.clock)
                if now != clock:
                    after = await run_in_threadpool(self._versions)
                    if before is not None:
                        self._tell(fleet.changed(before, after))
                    clock, before = now, after
                self._looked.set()
                reachable = True
            except Unavailable:
                clock, reachable = None, False
            job = await run_in_threadpool(self._readiness)
            state = (reachable, *_kind(job))
            if was is not None and was != state:
                for watcher in tuple(self._watchers):
                    _put(watcher, health_event(job.ready and reachable))
            was = state
            await asyncio.sleep(self._every_s)

    def _versions(self) -> dict[Key, tuple[str, ...]]:
        reader = self._reader
        return fleet.versions(reader.groups(), reader.open_incidents(), reader.job_versions())

    def _tell(self, keys: list[Key]) -> None:
        for watcher in tuple(self._watchers):
            seen = [key for key in keys if watcher.scope.sees(key[0], self._team_of(*key))]
            if seen:
                _put(watcher, event(seen))


def _kind(job: Readiness) -> tuple[object, ...]:
    """What the job says of itself without its numbers, which change all the time while it catches up."""
    return job.ready, re.sub(r"\d+", "", json.dumps([job.clusters, job.degraded], sort_keys=True))


def _put(watcher: _Watcher, told: bytes | None) -> None:
    """A watcher that does not read loses the oldest news: each says no more than "look again"."""
    if watcher.waiting.full():
        watcher.waiting.get_nowait()
    watcher.waiting.put_nowait(told)


def event(keys: list[Key]) -> bytes:
    """One server-sent event."""
    told = {"groups": [{"cluster": cluster, "group": group} for cluster, group in keys]}
    return f"event: changed\ndata: {json.dumps(told)}\n\n".encode()


def health_event(ready: bool) -> bytes:
    """The monitor's own state has changed; the page or `/api/v1/health` says how."""
    return f"event: health\ndata: {json.dumps({'ready': ready})}\n\n".encode()
