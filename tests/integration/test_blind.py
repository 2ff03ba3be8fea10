"""Blind is not resolved: a monitor that is killed with an incident open ends no alert, and its silence is told.

Ten minutes of silence take half a minute here: the rule file is the generated one with every duration (`for`, ranges,
offsets) divided by SPEED, and Prometheus looks every second.
"""

import time

import pytest

from lab.ports import HOST
from lab.receivers.alerting import Prometheus, shortened, start_alertmanager, start_prometheus
from lab.receivers.hook_receiver import HookReceiver
from rebalance_monitor.dashboards.alerts import rule_file
from tests.integration.told import (
    all_passed_on,
    incidents,
    kill,
    needs_prometheus,
    rules_firing,
    sections,
    simulated,
    spoil,
    wait_told,
)
from tests.integration.watched import Watched

pytestmark = [pytest.mark.integration, pytest.mark.prometheus, needs_prometheus]
GROUP = "blind"
SPEED = 20
DOWN_S = 600 / SPEED
ABSENT = "RebalanceMonitorAbsent"


def names(prometheus: Prometheus) -> set[str]:
    return {one["labels"]["alertname"] for one in prometheus.firing()}


def test_a_killed_monitor_resolves_nothing_and_is_missed(watched: Watched) -> None:
    with HookReceiver() as receiver, simulated(watched, GROUP) as members:
        inbox = receiver.inbox
        alertmanager = start_alertmanager(watched.lab, "alertmanager", f"{receiver.url}/alertmanager")
        with watched.job("monitor", **sections(watched, GROUP, {"path": "prometheus"})) as job:
            watched.wait_ready(job)
            # Only now, or the monitor's own start would be the first silence.
            target, rules = f"{HOST}:{watched.http_port}", shortened(rule_file(), SPEED)
            prometheus = start_prometheus(watched.lab, "prometheus", target, alertmanager, rules)
            spoil(watched, members)
            wait_told(watched, "the duplicate told", lambda: "duplicate_active" in rules_firing(inbox), job)
            kill(job)
            killed_s = time.monotonic()
        wait_told(watched, "all passed on", lambda: all_passed_on(prometheus, inbox))
        told = incidents(inbox)
        assert all(said == ["firing"] for said in told.values())

        def missed() -> bool:
            return any(dict(labels)["alertname"] == ABSENT for labels in inbox.alerts())

        def ten_minutes_later() -> bool:
            assert incidents(inbox) == told, "somebody was told that it is over, or told again"
            return time.monotonic() - killed_s >= DOWN_S

        wait_told(watched, "ten minutes of silence", ten_minutes_later)
        assert missed(), "nobody was told that the monitor is gone"
        (absent,) = [said for labels, said in inbox.alerts().items() if dict(labels)["alertname"] == ABSENT]
        assert absent == ["firing"]
        assert {"KafkaConnectDuplicateTask", ABSENT} <= names(prometheus)
        print(f"\n{len(told)} alerts go on after {DOWN_S:.0f} s of silence; told: {ABSENT}")
