"""The outgoing heartbeat beats only while the monitor does its work, and its failures stop nothing."""

from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.notify.heartbeat import Heartbeat
from tests.streaming.metrics.test_prometheus import report, status
from tests.streaming.notify.receiver import receiving


class Outcomes(list[str]):
    ok = True

    def well(self, within_s: float) -> bool:
        return self.ok

    def beat(self, outcome: str) -> None:
        self.append(outcome)


class Role:
    """Whether the job is the writer."""

    def __init__(self, writer: bool = True) -> None:
        self.writer = writer

    def leads(self) -> bool:
        return self.writer

    def close(self) -> None:
        pass


WRITER = Role()


def heart(url: str, monitor: Any, method: Any = "GET", every_ms: int = 1_000) -> Heartbeat:
    return Heartbeat(url, method, every_ms, monitor, committed_within_ms=30_000)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_it_beats_until_it_is_stopped(method: str) -> None:
    outcomes = Outcomes()
    with receiving("/ping/secret") as service:
        beating = heart(f"{service.url}/ping/secret", outcomes, method, every_ms=10)
        beating.start(WRITER)
        service.wait_for(3)
        beating.stop()
    assert {one for one, _ in service.seen} == {method}
    assert set(outcomes) == {"sent"}


def test_a_failure_is_counted_and_says_no_address(caplog: pytest.LogCaptureFixture) -> None:
    outcomes = Outcomes()
    with httpx.Client(trust_env=False) as client, receiving("/ping/secret") as service:
        service.answers += [500, 500, 200]
        beating = heart(f"{service.url}/ping/secret", outcomes)
        assert [beating.once(client, WRITER) for _ in range(3)] == ["failed", "failed", "sent"]
        assert heart("http://127.0.0.1:9/secret", outcomes).once(client, WRITER) == "failed"
    assert caplog.text.count("fails (it answers 500 Internal Server Error)") == 1
    assert "answers again" in caplog.text
    assert "secret" not in caplog.text


def test_it_is_withheld_while_the_monitor_is_not_well() -> None:
    outcomes = Outcomes()
    outcomes.ok = False
    with httpx.Client(trust_env=False) as client, receiving("/ping") as service:
        assert heart(f"{service.url}/ping", outcomes).once(client, WRITER) == "withheld"
    assert service.requests == []


def test_it_is_withheld_by_a_job_that_is_not_the_writer() -> None:
    role = Role()
    with httpx.Client(trust_env=False) as client, receiving("/ping") as service:
        beating = heart(f"{service.url}/ping", Outcomes())
        assert beating.once(client, role) == "sent"
        role.writer = False
        assert beating.once(client, role) == "withheld"
    assert len(service.requests) == 1


def test_well_means_caught_up_and_committing() -> None:
    clock = SimpleNamespace(now_s=1_000.0)
    exporter = Exporter(0, clusters=["c"], now_s=lambda: clock.now_s)
    past = SimpleNamespace(
        cluster="c",
        open_incidents=lambda _: [], latest_generations=lambda: [], counted_groups=lambda: [], led=dict,
        latest_loads=lambda: {}, latest_tasks=dict, standings=lambda: [], agreements=lambda: [],
        look_for_windows=lambda: None,
    )  # fmt: skip
    try:
        exporter.restore(past)
        exporter.reader("c", status())
        assert not exporter.well(30)  # ready, and nothing was ever committed
        exporter.batch(report())
        assert exporter.well(30)
        clock.now_s += 31
        assert not exporter.well(30)
        exporter.batch(report())
        exporter.trouble("c", "PostgreSQL can't be used")
        assert not exporter.well(30)
        exporter.beat("withheld")
        assert b'rebalance_monitor_heartbeats_sent_total{cluster="c",outcome="withheld"} 1.0' in exporter.scrape()
    finally:
        exporter.stop()
