"""From a fault to a person, by either path: each thing is told once when it begins and once when it ends.

A real broker and a group of simulated workers whose leader hands out tasks twice, the monitor, a real Prometheus with
the generated rules, a real Alertmanager and a program at its webhook. The monitor is killed in the middle each time.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from lab.ports import HOST
from lab.receivers.alerting import start_alertmanager, start_prometheus
from lab.receivers.hook_receiver import HookReceiver
from tests.integration.told import (
    ONCE,
    all_over,
    all_passed_on,
    fired,
    heal,
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
BOTH = {"duplicate_active", "imbalance"}


@pytest.fixture
def receiver() -> Iterator[HookReceiver]:
    with HookReceiver() as made:
        yield made


def test_by_prometheus_each_label_set_fires_once_and_resolves_once(watched: Watched, receiver: HookReceiver) -> None:
    """Also across a SIGKILL and a restart of the monitor while incidents are open."""
    group, inbox = "by-prometheus", receiver.inbox
    alertmanager = start_alertmanager(watched.lab, "alertmanager-1", f"{receiver.url}/alertmanager")
    prometheus = start_prometheus(watched.lab, "prometheus-1", f"{HOST}:{watched.http_port}", alertmanager)
    told = sections(watched, group, {"path": "prometheus"})
    with ExitStack() as stack:
        members = stack.enter_context(simulated(watched, group))
        with watched.job("by-prometheus-1", **told) as job:
            watched.wait_ready(job)
            spoil(watched, members)
            wait_told(watched, "both told", lambda: rules_firing(inbox) >= BOTH, job)
            kill(job)
            wait_told(watched, "all passed on", lambda: all_passed_on(prometheus, inbox))
            before = incidents(inbox)
        with watched.job("by-prometheus-2", **told) as job:
            watched.wait_ready(job)
            after = incidents(inbox)
            assert {labels: after[labels] for labels in before} == before, "a restart told somebody again"
            heal(watched, members)
            wait_told(watched, "the end of both", lambda: all_over(watched, group) and not rules_firing(inbox), job)
            wait_told(watched, "no alert left", lambda: not alertmanager.active() and all_passed_on(prometheus, inbox))
    heard = incidents(inbox)
    assert heard == dict.fromkeys(heard, ONCE)
    assert {dict(labels)["rule"] for labels in heard} >= BOTH
    assert {dict(labels)["path"] for labels in heard} == {"prometheus"}
    assert not any("incident_id" in dict(labels) for labels in heard)
    print(f"\npath prometheus: {len(heard)} label sets, each fired once and resolved once")


def test_by_push_each_incident_fires_once_and_resolves_once(watched: Watched, receiver: HookReceiver) -> None:
    """Also across a SIGKILL between a notification's sending and the mark that it was sent: then it is repeated under
    its key, and whoever honours keys sees it once.
    """
    group, inbox = "by-push", receiver.inbox
    alertmanager = start_alertmanager(watched.lab, "alertmanager-2", f"{receiver.url}/alertmanager")
    told = sections(
        watched,
        group,
        {
            "path": "push",
            "alertmanagers": [f"http://{alertmanager.address}"],
            "webhooks": [{"name": "hook", "url": f"{receiver.url}/hook"}],
        },
    )
    with ExitStack() as stack:
        members = stack.enter_context(simulated(watched, group))
        with watched.job("by-push-1", **told) as job:
            watched.wait_ready(job)
            receiver.hold()
            spoil(watched, members)
            wait_told(watched, "a first notification", lambda: bool(inbox.raw()), job)
            wait_told(watched, "both told by Alertmanager", lambda: rules_firing(inbox) >= BOTH, job)
            kill(job)
            (unmarked,) = inbox.raw()
            receiver.release()
        assert unmarked not in _sent(watched, group), "killed before the mark"
        with watched.job("by-push-2", **told) as job:
            wait_told(watched, "a repetition", lambda: inbox.raw()[unmarked] > 1, job)
            watched.wait_ready(job)
            heal(watched, members)
            wait_told(watched, "the end of all", lambda: all_over(watched, group) and not rules_firing(inbox), job)
            wait_told(watched, "an empty outbox", lambda: _sent(watched, group) == _written(watched, group), job)
            wait_told(watched, "no alert left", lambda: not alertmanager.active(), job)
    _assert_alertmanager(watched, group, receiver)
    raw, honoured = inbox.raw(), inbox.honoured()
    assert set(honoured) == _written(watched, group)
    assert {key for key, times in raw.items() if times > 1} == {unmarked}, "only the kill made a repetition"
    course: dict[str, list[str]] = {}
    for message in honoured.values():
        course.setdefault(message["incident"]["incident_id"], []).append(message["transition"])
    assert set(course) == set(fired(watched, group))
    assert all(steps[0] == "fired" and steps.count("fired") == 1 for steps in course.values())
    assert all(steps[-1] in ("resolved", "ended") and len(steps) == 2 for steps in course.values()), course
    print(f"path push: {len(course)} incidents, {len(honoured)} keys, {sum(raw.values())} posts")


def _assert_alertmanager(watched: Watched, group: str, receiver: HookReceiver) -> None:
    """One firing and one resolved per incident. Alertmanager itself keeps silent about what it hears of only when it
    is over, so an incident of a moment may be missing."""
    heard = {dict(labels)["incident_id"]: (dict(labels), said) for labels, said in incidents(receiver.inbox).items()}
    assert len(heard) == len(incidents(receiver.inbox)), "an incident with two label sets"
    assert set(heard) <= set(fired(watched, group))
    assert all(said == ONCE for _, said in heard.values()), heard
    assert {labels["rule"] for labels, _ in heard.values()} >= BOTH
    assert {labels["path"] for labels, _ in heard.values()} == {"push"}
    print(f"\npath push, Alertmanager: {len(heard)} of {len(fired(watched, group))} incidents told, each once")


def _keys(watched: Watched, statement: str, group: str) -> set[str]:
    with psycopg.connect(watched.postgres.dsn) as database:
        return {row[0] for row in database.execute(statement, (group,)).fetchall()}


def _written(watched: Watched, group: str) -> set[str]:
    """Keys of all notifications about the group."""
    return _keys(watched, "select key from rebalance_monitor.outbox where document->>'group' = %s", group)


def _sent(watched: Watched, group: str) -> set[str]:
    """Keys that the webhook is marked to have got."""
    return _keys(
        watched,
        "select s.key from rebalance_monitor.outbox_sent s join rebalance_monitor.outbox o using (key)"
        " where o.document->>'group' = %s and s.url = 'webhook:hook'",
        group,
    )
