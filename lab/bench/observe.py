"""When a generation became visible: as a committed row, as a metric, as an alert at the webhook.

The moment of the append is the record's own timestamp, which the broker wrote; both clocks are one machine's. Each
watcher looks every few milliseconds from outside, so a latency contains up to one interval of it.
"""

import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import httpx
import psycopg

from lab.bench.load import PREFIX
from lab.demo import checker

ROW_EVERY_S = 0.01
METRIC_EVERY_S = 0.02
_SERIES = re.compile(r'rebalance_monitor_group_generation\{[^}]*group="(' + PREFIX + r'[^"]*)"[^}]*\} (\S+)')

Generation = tuple[str, int]  # group, number


def now_ms() -> float:
    return time.time() * 1000


class Watcher(threading.Thread, ABC):
    """Looks again and again until its block ends; what it saw first, and when, stands in `seen`."""

    def __init__(self, every_s: float) -> None:
        super().__init__(daemon=True)
        self._every_s = every_s
        self._ended = threading.Event()
        self.problem: BaseException | None = None
        self.seen: dict[Generation, float] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()
        if self.problem is not None:
            raise self.problem

    def run(self) -> None:
        try:
            while not self._ended.wait(self._every_s):
                self.look()
        except BaseException as why:
            self.problem = why

    @abstractmethod
    def look(self) -> None:
        """Note in `seen` what is new."""


class Rows(Watcher):
    """Committed rows. The cheap question is whether the positions moved; a commit moves them."""

    def __init__(self, dsn: str) -> None:
        super().__init__(ROW_EVERY_S)
        self._connection: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True)
        self._at = self._positions()

    def _positions(self) -> dict[tuple[str, int], int]:
        query = (
            "select topic, partition, next_offset from rebalance_monitor.positions where topic = '__consumer_offsets'"
        )
        return {(topic, partition): offset for topic, partition, offset in self._connection.execute(query)}

    def look(self) -> None:
        moment, at = now_ms(), self._positions()
        for (topic, partition), offset in at.items():
            before = self._at.get((topic, partition), 0)
            if offset > before:
                for generation in self._written(topic, partition, before, offset):
                    self.seen.setdefault(generation, moment)
        self._at = at

    def _written(self, topic: str, partition: int, start: int, end: int) -> list[Generation]:
        rows = self._connection.execute(
            'select "group", generation from rebalance_monitor.generations'
            ' where topic = %s and partition = %s and "offset" >= %s and "offset" < %s',
            (topic, partition, start, end),
        )
        return [(group, number) for group, number in rows if group.startswith(PREFIX)]


class Metrics(Watcher):
    """The groups' generation numbers at /metrics. A number that was passed over was visible no later than the next."""

    def __init__(self, url: str) -> None:
        super().__init__(METRIC_EVERY_S)
        self._client = httpx.Client(timeout=10, trust_env=False)
        self._url = url
        self._last: dict[str, int] = {}

    def look(self) -> None:
        text = self._client.get(self._url).text
        moment = now_ms()
        for group, value in _SERIES.findall(text):
            number = int(float(value))
            for reached in range(self._last.get(group, number) + 1, number + 1):
                self.seen.setdefault((group, reached), moment)
            self._last[group] = number


def appended_ms(dsn: str, since_ms: float) -> dict[Generation, int]:
    """The records' times of all generations of the load since then."""
    query = (
        'select "group", generation, at_ms from rebalance_monitor.generations'
        f" where at_ms >= %s and \"group\" like '{PREFIX}%%'"
    )
    with psycopg.connect(dsn) as connection:
        return {(group, number): at_ms for group, number, at_ms in connection.execute(query, (int(since_ms),))}


def latencies_ms(seen: Mapping[Generation, float], appended: Mapping[Generation, int]) -> list[float]:
    """First sight minus append, for each generation of the window that was seen."""
    return [moment - appended[generation] for generation, moment in seen.items() if generation in appended]


def alert_latencies_ms(dsn: str, receiver_url: str, since_ms: float) -> list[float]:
    """From the append of the record that opened an incident to the first alert about it that the webhook received.

    Of the rule that is told at once only; what others tell is held back on purpose.
    """
    query = (
        "select i.incident_id, min(g.at_ms) from rebalance_monitor.incidents i join rebalance_monitor.generations g"
        ' on g.cluster = i.cluster and g."group" = i."group" and g.generation = i.opened_generation'
        " where i.opened_at_ms >= %s and i.rule = 'duplicate_active' group by 1"
    )
    with psycopg.connect(dsn) as connection:
        opened: dict[str, int] = dict(connection.execute(query, (int(since_ms),)).fetchall())
    first: dict[str, float] = {}
    for entry in checker.received(receiver_url):
        name = entry["alert"]["labels"].get("incident_id", "")
        if entry["status"] == "firing" and name in opened:
            first.setdefault(name, entry["received_ms"])
    return [moment - opened[name] for name, moment in first.items()]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * round(share * 100) // 100) - 1)]
