"""Three monitors, one Prometheus, one Alertmanager: one monitor is killed, one hangs, and the third is well.

The rules are the generated ones with every duration divided by 60: minutes become seconds.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from lab.asking import local
from lab.paths import ROOT
from lab.ports import HOST, free_ports
from lab.process import Child, Lab
from lab.receivers.alerting import Prometheus, shortened, start_alertmanager, start_prometheus
from lab.receivers.hook_receiver import HookReceiver, Inbox
from rebalance_monitor.dashboards.alerts import rule_file
from tests.integration.told import needs_prometheus
from tests.integration.watched import own_lab
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.integration, pytest.mark.prometheus, needs_prometheus]
FASTER = 60
INCIDENT, ABSENT = "KafkaConnectDuplicateTask", "RebalanceMonitorAbsent"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with own_lab("two-monitors") as made:
        yield made


def monitor(lab: Lab, cluster: str, port: int) -> Child:
    command = [sys.executable, "-m", "tests.integration.stand_in", str(port), cluster]
    return lab.start(f"monitor-{cluster}", command, cwd=ROOT)


def heard(inbox: Inbox) -> dict[tuple[str, str], list[str]]:
    """What was told, by alert and cluster, in order."""
    return {
        (dict(labels)["alertname"], dict(labels).get("cluster", "")): said for labels, said in inbox.alerts().items()
    }


def evaluations(prometheus: Prometheus, alert: str, cluster: str) -> int:
    """In how many evaluations, one a second, this alert has fired."""
    query = f'count_over_time(ALERTS{{alertname="{alert}", cluster="{cluster}", alertstate="firing"}}[10m])'
    answer = (
        local().get(f"http://{prometheus.address}/api/v1/query", params={"query": query}, timeout=PATIENCE_S).json()
    )
    return sum(int(one["value"][1]) for one in answer["data"]["result"])


def test_one_dies_one_hangs_and_nothing_looks_resolved(lab: Lab) -> None:
    with ExitStack() as stack:
        receiver = stack.enter_context(HookReceiver())
        inbox = receiver.inbox
        ports = dict(zip(("dies", "hangs", "well"), free_ports(3), strict=True))
        monitors = {cluster: monitor(lab, cluster, port) for cluster, port in ports.items()}
        alertmanager = start_alertmanager(lab, "alertmanager", f"{receiver.url}/alertmanager")
        targets = [f"{HOST}:{port}" for port in ports.values()]
        prometheus = start_prometheus(lab, "prometheus", targets, alertmanager, shortened(rule_file(), FASTER))
        lab.wait_for("every incident told", lambda: {key for key in heard(inbox) if key[0] == INCIDENT} == told(*ports))
        # Until the first scrape no monitor is there at all; a slow machine may be told so.
        beginning = {key for key in heard(inbox) if key[0] != INCIDENT}
        assert beginning <= {(ABSENT, "")}
        monitors["dies"].kill()
        monitors["hangs"].process.send_signal(signal.SIGSTOP)
        stack.callback(monitors["hangs"].process.send_signal, signal.SIGCONT)
        # Twice as long as an incident outlives its last scrape without the rule for a monitor that is gone.
        for cluster in ("dies", "hangs"):
            lab.wait_for(f"{cluster} gone", lambda cluster=cluster: evaluations(prometheus, ABSENT, cluster) >= 30)  # type: ignore[misc]
        said = heard(inbox)
        gone = {(ABSENT, "dies"): ["firing"], (ABSENT, "hangs"): ["firing"]}
        assert {key: said[key] for key in sorted(said) if key[0] != INCIDENT and key not in beginning} == gone
        assert {key: said[key] for key in said if key[0] == INCIDENT} == {key: ["firing"] for key in told(*ports)}
        monitors["hangs"].process.send_signal(signal.SIGCONT)
        lab.wait_for("the hanging one back", lambda: heard(inbox)[ABSENT, "hangs"] == ["firing", "resolved"])
        said = heard(inbox)
        assert said[ABSENT, "dies"] == ["firing"]
        assert {key: said[key] for key in said if key[0] == INCIDENT} == {key: ["firing"] for key in told(*ports)}
        assert not [key for key in said if key[1] == "well" and key[0] != INCIDENT]


def told(*clusters: str) -> set[tuple[str, str]]:
    return {(INCIDENT, cluster) for cluster in clusters}
