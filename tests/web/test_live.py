"""The stream behind an open page, on a real database: what it tells does not depend on who was faster."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from rebalance_monitor.streaming.store.database import DatabaseUnreachable
from rebalance_monitor.streaming.web.live import Live
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.scope import EVERYTHING
from rebalance_monitor.streaming.web.upstream import Readiness
from tests.waiting import PATIENCE_S
from tests.web.conftest import database

pytestmark = pytest.mark.postgres
SLOW_S = 0.3
WELL, SILENT = Readiness(True), Readiness(False, {"": "the streaming job gives no answer"})


class Monitor:
    """What the job says when it is asked; each answer is as of the moment at which the job has it."""

    def __init__(self, *, slow: bool = False) -> None:
        self.says: Readiness | None = WELL
        self._opened, self._slow = threading.Event(), slow

    def opened(self) -> None:
        """The page has been read: an answer under way comes now."""
        self._opened.set()

    def __call__(self) -> Readiness:
        if self._slow:
            self._opened.wait(SLOW_S)
        if self.says is None:
            raise RuntimeError("an error that nobody expects")
        return self.says


async def event(stream: AsyncIterator[bytes], *kinds: str) -> tuple[str, bool]:
    """The next event of one of these kinds, and whether the monitor is ready by it."""
    async with asyncio.timeout(PATIENCE_S):
        async for block in stream:
            told = dict(line.split(": ", 1) for line in block.decode().splitlines() if ": " in line)
            if told.get("event") in kinds:
                return told["event"], json.loads(told["data"])["ready"]
    raise AssertionError("the stream has ended")


def run(server: str, monitor: Monitor, watch: Callable[[AsyncIterator[bytes]], Coroutine[Any, Any, None]]) -> None:
    """`watch` with a stream of its own."""

    async def all_of_it(reader: Reader) -> None:
        live = Live(reader, lambda *_: "", monitor, every_s=0.05, beat_s=0.2)
        try:
            await watch(live.events(EVERYTHING))
        finally:
            await live.stop()

    with database(server) as store:
        asyncio.run(all_of_it(Reader([store.database], DatabaseUnreachable)))


def test_a_monitor_that_falls_silent_while_the_stream_opens_is_told(server: str) -> None:
    """What the page has read before the opening was well, so the change must come as an event."""
    monitor = Monitor(slow=True)

    async def watch(told: AsyncIterator[bytes]) -> None:
        assert (await asyncio.wait_for(anext(told), PATIENCE_S)).startswith(b"retry:")
        monitor.says = SILENT
        monitor.opened()
        assert await event(told, "health") == ("health", False)

    run(server, monitor, watch)


def test_each_beat_says_how_the_monitor_is(server: str) -> None:
    """A page that shows something else, for whatever reason, can notice."""
    monitor = Monitor()

    async def watch(told: AsyncIterator[bytes]) -> None:
        assert await event(told, "beat") == ("beat", True)
        monitor.says = SILENT
        assert await event(told, "health") == ("health", False)
        assert await event(told, "beat") == ("beat", False)

    run(server, monitor, watch)


def test_an_unexpected_error_is_not_the_end_of_the_stream(server: str) -> None:
    monitor = Monitor()

    async def watch(told: AsyncIterator[bytes]) -> None:
        assert await event(told, "beat") == ("beat", True)
        monitor.says = None
        assert await event(told, "health") == ("health", False)
        assert await event(told, "beat") == ("beat", False)
        monitor.says = WELL
        assert await event(told, "health") == ("health", True)

    run(server, monitor, watch)
