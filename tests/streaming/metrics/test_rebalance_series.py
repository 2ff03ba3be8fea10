"""Rebalances by cause, the spread of a group, and how long verdicts and batches take."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rebalance_monitor.streaming.core.model.results import Cause, ConnectShare
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.metrics.series import MOST_CAUSES
from tests.streaming.builders import generation, member, pending
from tests.streaming.metrics.test_prometheus import report

PREFIX = "rebalance_monitor_"


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    made = Exporter(0, clusters=["c"])
    yield made
    made.stop()


def samples(exporter: Exporter, name: str, **labels: str) -> dict[tuple[str, ...], float]:
    """Values by the labels that are not given."""
    found = {}
    for family in text_string_to_metric_families(exporter.scrape().decode()):
        for sample in family.samples:
            if sample.name == PREFIX + name and labels.items() <= sample.labels.items():
                found[tuple(value for key, value in sorted(sample.labels.items()) if key not in labels)] = sample.value
    return found


def test_a_judged_rebalance_counts_under_its_first_cause(exporter: Exporter) -> None:
    joined = (Cause(kind="worker_joined"), Cause(kind="delay_expired"))
    exporter.observe([pending(1, cause=joined)])
    assert samples(exporter, "rebalances_total") == {}
    exporter.observe([generation(1, cause=joined), generation(2, generation=8)])
    assert samples(exporter, "rebalances_total", cluster="c", group="connect-1") == {
        ("worker_joined",): 1.0,
        ("unknown",): 1.0,
    }


def test_causes_are_bounded(exporter: Exporter) -> None:
    exporter.observe([generation(at, generation=at, cause=(Cause(kind=f"k{at}"),)) for at in range(MOST_CAUSES + 9)])
    counted = samples(exporter, "rebalances_total", cluster="c", group="connect-1")
    assert len(counted) == MOST_CAUSES + 1
    assert counted["other",] == 9.0


def test_the_spread_is_the_most_less_the_fewest(exporter: Exporter) -> None:
    share = ConnectShare(("a",), tuple(("a", number) for number in range(7)))
    loaded = replace(member(1), assigned=share, owned=ConnectShare((), ()))
    idle = replace(member(2), assigned=ConnectShare((), (("b", 0),)), owned=ConnectShare((), ()))
    exporter.observe([generation(members=(loaded, idle))])
    assert samples(exporter, "connect_spread", cluster="c", group="connect-1") == {
        ("connectors",): 1.0,
        ("tasks",): 6.0,
    }


def test_verdicts_and_batches_are_timed_but_not_history_and_not_what_waits(exporter: Exporter) -> None:
    now_ms = int(time.time() * 1000)
    fresh = generation(1, at_ms=now_ms - 20_000)
    exporter.batch(report(fresh, pending(2, at_ms=now_ms), replace(fresh, historic=True), rows=3, seconds=0.2))
    exporter.batch(report(rows=0, seconds=0.1))
    assert samples(exporter, "judged_after_seconds_count") == {("c",): 1.0}
    assert samples(exporter, "judged_after_seconds_bucket", cluster="c")["10.0",] == 0.0
    assert samples(exporter, "batch_seconds_count") == {("c",): 1.0}
    assert samples(exporter, "batch_seconds_bucket", cluster="c")["0.25",] == 1.0
