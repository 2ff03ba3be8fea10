"""Two real monitors, one real Prometheus, one real Alertmanager: one monitor loses a right, then hangs, then dies; the
other loses its topic. What fires for which, when, and that no open incident looks resolved meanwhile.

Both judge the same group on the same broker, each as a cluster of its own: the first by the offsets topic, as a user
whose right can be taken away; the second by a copy of that topic, which can be deleted. The rules are the generated
ones with every duration divided by SPEED, and Prometheus looks every second.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from signal import SIGCONT, SIGSTOP, Signals
from typing import Any

import httpx
import psycopg
import pytest

from lab.asking import local
from lab.ports import HOST, free_ports
from lab.process import Child
from lab.receivers.alerting import shortened, start_alertmanager, start_prometheus
from lab.receivers.hook_receiver import HookReceiver, Inbox
from lab.sessions import members
from lab.simulated_group.members import SimulatedGroup
from rebalance_monitor.dashboards.alerts import rule_file
from tests.integration import told
from tests.integration.mirror import OFFSETS, mirrored
from tests.integration.secured import Secured, client, secured
from tests.integration.taking_away import delete, ungrant
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.integration, pytest.mark.prometheus, told.needs_prometheus]
GROUP, COPY, USER, PASSWORD = "two", "offsets-copy", "monitor", "open sesame"
FIRST, SECOND = "first", "second"
SPEED = 20
ABSENT, BLIND, NOT_READY = (f"RebalanceMonitor{name}" for name in ("Absent", "Blind", "ClusterNotReady"))
UNEXPLAINED = "RebalanceMonitorUnexplained"
# When these fire is left open. Degraded joins the others where a trouble lasts for 15 minutes, and so does Stale (it
# compares seconds that are not divided, so it comes later than in earnest). Unexplained is about the group.
AT_ANY_TIME = {"RebalanceMonitorStale", "RebalanceMonitorDegraded", UNEXPLAINED}
ONCE = (["firing"], ["firing", "resolved"])
Alert = tuple[str, str]
"""(name, cluster)."""


@dataclass(slots=True)
class Heard:
    """What people were told, and when what happened."""

    watched: Watched
    inbox: Inbox
    table: list[str] = field(default_factory=list)

    def of_monitors(self) -> dict[Alert, list[str]]:
        """Alerts about the monitors themselves, by name and cluster."""
        return {
            (dict(labels)["alertname"], dict(labels).get("cluster", "")): said
            for labels, said in self.inbox.alerts().items()
            if dict(labels)["alertname"].startswith("RebalanceMonitor")
        }

    def firing(self) -> set[Alert]:
        """Those whose time is known."""
        return {
            alert for alert, said in self.of_monitors().items() if alert[0] not in AT_ANY_TIME and said[-1] == "firing"
        }

    def incidents(self) -> dict[Alert, list[str]]:
        """What was told of the group, by rule and cluster."""
        return {
            (dict(labels)["rule"], dict(labels)["cluster"]): said for labels, said in told.incidents(self.inbox).items()
        }

    def until_told(self, wanted: set[Alert], group: SimulatedGroup) -> None:
        """Until people were told of these incidents of the group."""
        began_s = time.monotonic()
        while missing := wanted - self.incidents().keys():
            state = f"generation {group.generation}, {'' if group.broken() else 'nothing '}held twice"
            told_so_far = f"{self.incidents()} and {self.of_monitors()}"
            assert time.monotonic() - began_s < PATIENCE_S, f"{missing} missing of {told_so_far}; the group: {state}"
            time.sleep(0.1)

    def until(self, what: str, expected: set[Alert], jobs: list[Child]) -> None:
        """Until exactly these alerts about monitors fire. All the while both clusters' incidents go on to fire."""
        began_s, seen, before = time.monotonic(), self.firing(), self.incidents()
        while (now := self.firing()) != expected:
            self._unchanged(before)
            assert time.monotonic() - began_s < PATIENCE_S, f"{what}: {now} fire, {expected} should"
            assert all(job.running() for job in jobs), [job.tail() for job in jobs if not job.running()]
            for alert in now ^ seen:
                self._note(what, alert, now, began_s)
            seen = now
            time.sleep(0.1)
        for alert in now ^ seen:
            self._note(what, alert, now, began_s)
        self._unchanged(before)

    def _unchanged(self, before: dict[Alert, list[str]]) -> None:
        assert before
        now = self.incidents()
        assert {alert: now[alert] for alert in before} == before, "an incident was told again, or looked resolved"

    def _note(self, what: str, alert: Alert, now: set[Alert], began_s: float) -> None:
        word = "fires" if alert in now else "is over"
        after_s = time.monotonic() - began_s
        self.table.append(f"{what:<34} {alert[0]:<32} {alert[1]:<7} {word:<8} after {after_s:5.1f} s")


@pytest.fixture(scope="module")
def stage() -> Iterator[Secured]:
    with secured("monitors-in-trouble", {USER: PASSWORD}) as made:
        yield made


def configured(watched: Watched, cluster: str, **more: Any) -> dict[str, Any]:
    """The sections of one of the monitors."""
    sections = told.sections(watched, GROUP, {"path": "prometheus"})
    sections["clusters"][0].update({"name": cluster, **more})
    return {**sections, "page": {"enabled": False}, "audit": {"every_ms": None}, "ready": {"max_lag_s": 5}}


def second_database(watched: Watched) -> dict[str, str]:
    with psycopg.connect(watched.postgres.dsn, autocommit=True) as server:
        server.execute("create database second")
    return {"dsn": watched.postgres.dsn.replace("/postgres?", "/second?")}


def signal_all(job: Child, number: Signals) -> None:
    """To every process of the monitor, as when its container is paused."""
    for pid in members(job.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def ready(port: int) -> bool:
    try:
        return local().get(f"http://{HOST}:{port}/readyz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def test_each_trouble_is_told_of_its_monitor_and_nothing_looks_resolved(stage: Secured) -> None:
    watched = stage.watched
    with ExitStack() as stack:
        receiver = stack.enter_context(HookReceiver())
        group = stack.enter_context(told.simulated(watched, GROUP))
        for topic in (OFFSETS, *told.topics(GROUP).values()):
            stage.grant(USER, topic, "read")
        copying = stack.enter_context(ExitStack())
        copying.enter_context(mirrored(watched.broker.address, COPY))
        ports = free_ports(2)
        own = configured(watched, FIRST, bootstrap_servers=stage.address, client=client(USER, PASSWORD))
        first = stack.enter_context(watched.job(FIRST, **own, http={"host": HOST, "port": ports[0]}))
        watched.lab.wait_for("the first ready", lambda: ready(ports[0]), first, PATIENCE_S)
        other = {
            **configured(watched, SECOND),
            "database": second_database(watched),
            "source": {"heartbeat_ms": 2_000, "offsets_topic": COPY},
        }
        second = stack.enter_context(watched.job(SECOND, **other, http={"host": HOST, "port": ports[1]}))
        watched.lab.wait_for("the second ready", lambda: ready(ports[1]), second, PATIENCE_S)
        # Only now, or the monitors' own starts would be the first silence.
        alertmanager = start_alertmanager(watched.lab, "alertmanager", f"{receiver.url}/alertmanager")
        targets = [f"{HOST}:{port}" for port in ports]
        start_prometheus(watched.lab, "prometheus", targets, alertmanager, shortened(rule_file(), SPEED))
        heard, both = Heard(watched, receiver.inbox), [first, second]
        told.spoil(watched, group)
        wanted = {(rule, cluster) for rule in ("duplicate_active", "imbalance") for cluster in (FIRST, SECOND)}
        heard.until_told(wanted, group)
        heard.until("nothing is wrong", set(), both)

        ungrant(stage, USER, OFFSETS)
        heard.until("the first loses a right", {(BLIND, FIRST), (NOT_READY, FIRST)}, both)
        stage.grant(USER, OFFSETS, "read")
        heard.until("the first has it again", set(), both)

        signal_all(first, SIGSTOP)
        heard.until("the first hangs", {(ABSENT, FIRST)}, both)
        signal_all(first, SIGCONT)
        heard.until("the first goes on", set(), both)
        assert "process_hangs" not in first.log.read_text(), "it blames a process that was frozen with it"

        copying.close()  # or the copy would be made anew
        delete(watched, COPY)
        blind = {(BLIND, SECOND), (NOT_READY, SECOND)}
        heard.until("the second loses its topic", blind, both)

        told.kill(first)
        heard.until("the first dies", {(ABSENT, FIRST), *blind}, [second])

        assert heard.incidents().keys() >= wanted
        assert set(map(tuple, heard.incidents().values())) == {("firing",)}, heard.incidents()
        said = heard.of_monitors()
        again = ["firing", "resolved"]
        assert {alert: words for alert, words in said.items() if alert[0] not in AT_ANY_TIME} == {
            (BLIND, FIRST): again,
            (NOT_READY, FIRST): again,
            (ABSENT, FIRST): [*again, "firing"],
            **{alert: ["firing"] for alert in blind},
        }
        assert all(words in ONCE for alert, words in said.items() if alert[0] == UNEXPLAINED), said
    print(f"\nwith every duration divided by {SPEED}:")
    print("\n".join(heard.table))
