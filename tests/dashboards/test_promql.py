"""Every PromQL of every panel against a real Prometheus that scrapes a real exporter with every state planted."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from lab.ports import free_ports

pytest.importorskip("grafana_foundation_sdk")

from rebalance_monitor.streaming.core.model.results import Generation, Result
from rebalance_monitor.streaming.metrics.batch_view import view_of
from rebalance_monitor.streaming.metrics.limits import BY_PARTITION, SeriesLimits
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.store.gaps import TopicGaps
from rebalance_monitor.streaming.store.history import Health
from rebalance_monitor.streaming.store.maintenance import Windows
from tests.dashboards.asked import Asked, promql
from tests.dashboards.planted import CLUSTER, GROUP, folded, now_ms, planted, window
from tests.streaming.builders import TOPIC, cost, generation, lag
from tests.waiting import PATIENCE_S, until

PROMETHEUS = shutil.which("prometheus")
pytestmark = [
    pytest.mark.prometheus,
    pytest.mark.skipif(PROMETHEUS is None, reason="no prometheus: apt-get install prometheus"),
]
EMPTY: dict[str, str] = {}
"""Queries that find nothing in this run, each with the event that would fill it; at most one in twenty."""


def report(results: list[Result], **more: Any) -> SimpleNamespace:
    given = {"cluster": CLUSTER, "rows": 9, "seconds": 0.25, "kinds": {(TOPIC, "GroupGeneration"): 2}, **more}
    return SimpleNamespace(
        view=view_of(results),
        **{"unknown_tags": {TOPIC: 1}, "other_groups": {}, "fold_errors": {}, "refused": (), **given},
    )


def status(**more: Any) -> SimpleNamespace:
    return SimpleNamespace(
        **{"backlog": {TOPIC: 3}, "missing": {}, "problem": None, "blind": None, "caught_up": True, **more}
    )


HEALTH = Health(
    table_bytes={"generations": 90, "states": 10}, limit_bytes=99, day_bytes=10, since_s=1.0, waiting_since_s=1.0
)


@pytest.fixture(scope="module")
def exporter() -> Iterator[Exporter]:
    limits = SeriesLimits(ignored_groups=("console-consumer-*",), max_tasks=1, lag=BY_PARTITION)
    made = Exporter(0, clusters=[CLUSTER], version="1", limits=limits, windows=Windows([window(now_ms())]))
    made.start()
    yield made
    made.stop()


def disturb(exporter: Exporter, number: int) -> None:
    """One batch with its share of trouble; counters need more than one to have a rate."""
    at_ms = now_ms()
    results = list(planted(at_ms))
    waiting = {"delay_ms": 300_000, "unassigned": ("a-1",)}
    results += [generation(20_000 + number, group=GROUP, generation=1_000 + number, at_ms=at_ms, **waiting)]
    results += [generation(30_000 + number, group="console-consumer-7", at_ms=at_ms)]
    results += [lag(GROUP, answered_ms=at_ms, trend="falling_behind", unknown=2, never_committed=2), cost(GROUP)]
    told = {"other_groups": {(CLUSTER, "s", "share"): 1}, "fold_errors": {"KeyError": 1}, "refused": ("incidents",)}
    exporter.batch(report(results, **told))
    exporter.reader(CLUSTER, status(missing={"statuses": "no such topic"}))
    exporter.reader("dark", status(problem="the broker does not answer"))
    for outcome in ("sent", "failed"):
        exporter.notified(outcome)
        exporter.beat(outcome)
    exporter.outbox_pending(2)
    exporter.history(HEALTH)
    exporter.history_cut()
    exporter.audited(0)
    exporter.part("page", "the page ended with code 2")
    for poller in ("topics", "group_states", "progress"):
        exporter.of(CLUSTER).polled(poller, 2, at_ms)
    exporter.of(CLUSTER).progress_turn(31.2, 7)
    exporter.of(CLUSTER).groups_unseen(unseen=True)
    exporter.gaps([TopicGaps(CLUSTER, TOPIC, 40 + number, 1)])


class Server:
    """The HTTP API of a Prometheus."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE_S)

    def ready(self) -> bool:
        return self._client.get("/-/ready").is_success

    def ask(self, text: str, *, ranged: bool = False) -> list[Any]:
        now_s = time.time()
        given: dict[str, Any] = {"query": text, "time": now_s}
        if ranged:
            given = {"query": text, "start": now_s - 10, "end": now_s, "step": 1}
        answer = self._client.get("/api/v1/query_range" if ranged else "/api/v1/query", params=given)
        assert answer.status_code == 200, f"{text}: {answer.text}"
        return list(answer.json()["data"]["result"])


@pytest.fixture(scope="module")
def prometheus(exporter: Exporter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    assert PROMETHEUS
    folder: Path = tmp_path_factory.mktemp("prometheus")
    scrape = {"job_name": "m", "static_configs": [{"targets": [exporter.url.removeprefix("http://")]}]}
    config = {"global": {"scrape_interval": "1s"}, "scrape_configs": [scrape]}
    (folder / "prometheus.yml").write_text(json.dumps(config))
    port = free_ports(1)[0]
    process = subprocess.Popen(
        [
            PROMETHEUS, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    server = Server(f"http://127.0.0.1:{port}")
    try:
        until(server.ready)
        exporter.batch(report(folded()))
        for number in range(3):
            disturb(exporter, number)
            batches = f"rebalance_monitor_batches_total >= {number + 2}"
            until(partial(server.ask, batches))
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def as_grafana_sends(asked: Asked) -> str:
    filled = asked.text.replace("$cluster", CLUSTER).replace("$group", asked.group)
    filled = filled.replace("$__rate_interval", "30s").replace("$__range", "1m")
    assert "$" not in filled
    return filled


def found(server: Server, asked: Asked) -> list[Any]:
    return server.ask(as_grafana_sends(asked), ranged=asked.ranged)


def test_the_capture_was_folded() -> None:
    assert sum(isinstance(one, Generation) for one in folded()) > 20


@pytest.mark.parametrize("asked", list(promql()), ids=lambda asked: asked.where)
def test_panel_shows_what_is_planted(prometheus: Server, asked: Asked) -> None:
    shown = found(prometheus, asked)
    assert bool(shown) == (asked.where not in EMPTY), asked.text


def test_at_most_one_query_in_twenty_is_empty_and_each_says_why() -> None:
    asked = {one.where for one in promql()}
    assert set(EMPTY) <= asked
    assert len(EMPTY) * 20 <= len(asked)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("fleet.json: Open: critical A", 1),
        ("fleet.json: Open: warning A", 1),
        ("fleet.json: Muted A", 1),
        ("connect.json: Workers A", 2),
        ("connect.json: Unassigned A", 1),
        ("lag.json: Groups that fall behind A", 1),
        ("lag.json: Groups without members, with lag A", 1),
        ("lag.json: Partitions held, never committed A", 2),
        ("health.json: Features off A", 2),  # a topic that is missing, and the gap that is still shown
    ],
)
def test_numbers_are_right(prometheus: Server, where: str, value: float) -> None:
    (asked,) = (one for one in promql() if one.where == where and not one.ranged)
    (sample,) = found(prometheus, asked)
    assert float(sample["value"][1]) == value
