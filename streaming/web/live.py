"""Live by asking, not by LISTEN: once in `every_s`, and only while somebody watches, one question that touches no table
(which transactions have ended). Only when that differs, each group's row versions are read and compared.

How the monitor itself is gets looked at as often: whoever watches an open page must see that the database is gone, or
that the job has fallen silent, for then no row will ever change. A change is told at once. Each beat repeats the state
as well, so that a page that was written at a moment when it was different can notice. A page that hears no beat knows
that the stream is dead, although its connection looks open.

Why not LISTEN/NOTIFY: the writer would have to tell of every commit, watched or not; a read replica allows no LISTEN;
and what a reader with a scoped token may hear of must be worked out from rows anyway. The price is up to a second.
"""

import asyncio
import contextlib
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace

from starlette.concurrency import run_in_threadpool

from rebalance_monitor.streaming.supervision import places, sentence
from . import fleet
from .reader import Reader
from .rows import GroupName
from .scope import Scope, TeamOf
from .statements import Unavailable
from .upstream import Readiness

EVERY_S = 1.0
BEAT_S = 5.0
MOST_WATCHERS = 200
MOST_WAITING = 16
log = logging.getLogger("rebalance_monitor.page")


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
        beat_s: float = BEAT_S,
    ) -> None:
        self._reader, self._team_of, self._readiness = reader, team_of, readiness
        self._every_s, self._beat_s = every_s, beat_s
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
                told = await watcher.waiting.get()
                if told is None:
                    return
                yield told
        finally:
            self._watchers.discard(watcher)

    def admit(self) -> None:
        """Raises Crowded when no further watcher is let in."""
        if self._ended or len(self._watchers) >= MOST_WATCHERS:
            raise Crowded

    async def stop(self) -> None:
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
        seen: _Seen | None = None
        was: _State | None = None
        beat_at = 0.0
        while self._watchers:
            try:
                seen, state = await self._look(seen)
            except Exception as why:  # without this the streams would stay open and tell nothing any more
                state = _BROKEN
                if was != _BROKEN:
                    log.error("look_failed", extra={"fields": {"why": sentence(why), "stack": places(why)}})
            if was is not None and was != state:
                self._tell_all(state_event("health", state.ready))
            was = state
            if time.monotonic() >= beat_at:
                beat_at = time.monotonic() + self._beat_s
                self._tell_all(state_event("beat", state.ready))
            if seen is not None:
                self._looked.set()
            await asyncio.sleep(self._every_s)

    async def _look(self, before: "_Seen | None") -> "tuple[_Seen | None, _State]":
        """What is known now of the groups, and how the monitor is. Tells of the groups that differ."""
        seen = before
        try:
            clock = await run_in_threadpool(self._reader.clock)
            if seen is None or seen.clock != clock:
                seen = _Seen(clock, await run_in_threadpool(self._versions))
            reachable = True
        except Unavailable:
            reachable = False
            seen = seen and replace(seen, clock=None)
        if seen is not None and before is not None:
            self._tell(fleet.changed(before.versions, seen.versions))
        return seen, _state(await run_in_threadpool(self._readiness), reachable)

    def _versions(self) -> dict[GroupName, tuple[str, ...]]:
        reader = self._reader
        return fleet.versions(reader.groups(), reader.open_incidents(), reader.task_versions())

    def _tell_all(self, told: bytes) -> None:
        for watcher in tuple(self._watchers):
            _put(watcher, told)

    def _tell(self, keys: list[GroupName]) -> None:
        for watcher in tuple(self._watchers):
            seen = [key for key in keys if watcher.scope.sees(key[0], self._team_of(*key))]
            if seen:
                _put(watcher, event(seen))


@dataclass(frozen=True, slots=True)
class _Seen:
    """The groups' row versions. `clock`: which transactions had ended; None makes the next look read again."""

    clock: str | None
    versions: dict[GroupName, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _State:
    """How the monitor is. `words`: what the job says of itself, without numbers: these change all the time."""

    ready: bool
    reachable: bool
    words: str


_BROKEN = _State(ready=False, reachable=False, words="")


def _state(job: Readiness, reachable: bool) -> _State:
    words = re.sub(r"\d+", "", json.dumps([job.ready, job.clusters, job.degraded], sort_keys=True))
    return _State(job.ready and reachable, reachable, words)


def _put(watcher: _Watcher, told: bytes | None) -> None:
    """A watcher that does not read loses the oldest news: each says no more than "look again"."""
    if watcher.waiting.full():
        watcher.waiting.get_nowait()
    watcher.waiting.put_nowait(told)


def event(keys: list[GroupName]) -> bytes:
    told = {"groups": [{"cluster": cluster, "group": group} for cluster, group in keys]}
    return f"event: changed\ndata: {json.dumps(told)}\n\n".encode()


def state_event(name: str, ready: bool) -> bytes:
    """`health`: the monitor's own state has changed; `beat`: it is this. The page or `/api/v1/health` says more."""
    return f"event: {name}\ndata: {json.dumps({'ready': ready})}\n\n".encode()
