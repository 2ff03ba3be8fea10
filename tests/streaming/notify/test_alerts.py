"""Alertmanager's alerts: equal labels for firing and resolved, and times that it accepts."""

import pytest

from rebalance_monitor.streaming.core.incidents.alert_text import named_text
from rebalance_monitor.streaming.core.metrics import INCIDENT
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Subject
from rebalance_monitor.streaming.core.runbooks import Addresses
from rebalance_monitor.streaming.notify.alerts import AlertStyle, alert, alert_labels, notification, rfc3339
from rebalance_monitor.streaming.store.labels import as_it_is, incident_labels
from rebalance_monitor.streaming.store.stored import incident_of
from tests.streaming.builders import incident

STYLE = AlertStyle(generator_url="http://127.0.0.1:9470/metrics")
NOW_MS = 1_700_000_000_123


def test_labels_are_equal_for_firing_and_resolved() -> None:
    labels = alert_labels(incident(), STYLE)
    assert labels == alert_labels(incident("resolved"), STYLE)
    assert set(labels) == {"alertname", "incident_id", *INCIDENT.labels}
    assert labels["alertname"] == "KafkaConnectDuplicateTask"


def test_worker_and_connector_are_named_only_when_they_are_one() -> None:
    found = incident_labels(incident(), "push")
    assert (found["worker"], found["connector"]) == ("w1:8083", "my-sink")
    two = (Subject("worker", "a:1"), Subject("worker", "b:1"), Subject("task", "x-0"), Subject("connector", "y"))
    found = incident_labels(incident(subjects=two), "push")
    assert (found["worker"], found["connector"]) == ("", "")


def test_a_firing_alert_ends_well_ahead() -> None:
    sent = alert(incident(), NOW_MS, STYLE)
    assert sent["startsAt"] == "1970-01-01T00:00:01.000Z"
    assert sent["endsAt"] == rfc3339(NOW_MS + 1_200_000)
    assert sent["annotations"]["certainty"] == "certain"


def test_an_alert_says_what_is_wrong_with_what_on_which_worker_and_since_when() -> None:
    said = alert(incident(), NOW_MS, STYLE)["annotations"]
    assert said["summary"] == ("Two workers hold the same connector or task, or both may run it. Group connect-1 of c")
    assert said["description"] == (
        "task my-sink-0 on w1:8083; incident open since 1970-01-01T00:00:01.000Z. task my-sink-0 runs twice"
    )


def test_an_alert_leads_to_the_page_of_its_group_and_to_the_runbook_of_its_rule() -> None:
    sent = alert(incident(group="a b&c/ü"), NOW_MS, AlertStyle(addresses=Addresses("https://m.example/")))
    page = "https://m.example/group?cluster=c&group=a%20b%26c%2F%C3%BC"
    assert (sent["annotations"]["group_url"], sent["generatorURL"]) == (page, page)
    assert sent["annotations"]["runbook_url"] == "https://m.example/runbook?rule=duplicate_active"
    assert sent["annotations"]["next_step"]
    own = AlertStyle(addresses=Addresses(runbooks="https://wiki.example/r/"))
    told = alert(incident("resolved"), NOW_MS, own)
    assert told["annotations"]["runbook_url"] == "https://wiki.example/r/duplicate_active.md"


@pytest.mark.parametrize(
    ("subjects", "text"),
    [
        ((), ""),
        ((Subject("group", "g"),), ""),
        ((Subject("worker", "a:1"), Subject("worker", "b:1")), "worker a:1, worker b:1"),
        ((Subject("task", "s-0"), Subject("worker", "a:1"), Subject("worker", "b:1")), "task s-0 on a:1, b:1"),
        ((Subject("member", "consumer-1-x"),), "member consumer-1-x"),
        (
            tuple(Subject("task", f"s-{at}") for at in range(7)),
            "task s-0, task s-1, task s-2, task s-3, task s-4, 2 more",
        ),
    ],
)
def test_what_an_incident_is_about_is_named_up_to_five(subjects: tuple[Subject, ...], text: str) -> None:
    assert named_text(incident("fired", subjects=subjects), as_it_is) == text


def test_a_resolved_alert_ends_when_it_was_resolved_and_never_in_the_future() -> None:
    assert alert(incident("resolved"), NOW_MS, STYLE)["endsAt"] == rfc3339(9_000)
    ahead = alert(incident("resolved", opened_at_ms=NOW_MS + 1, resolved_at_ms=NOW_MS + 5_000), NOW_MS, STYLE)
    assert ahead["startsAt"] == ahead["endsAt"] == rfc3339(NOW_MS)


def test_a_change_of_severity_ends_the_old_labels_and_fires_the_new_in_one_push() -> None:
    after = incident("updated", alert=AlertSeverity.WARNING)
    old, new = notification(as_object(after), "updated", as_object(incident()), NOW_MS, STYLE)
    assert (old["labels"]["severity"], old["endsAt"]) == ("critical", rfc3339(NOW_MS))
    assert (new["labels"]["severity"], new["endsAt"]) == ("warning", rfc3339(NOW_MS + 1_200_000))


def test_a_change_of_the_message_fires_the_same_labels_again() -> None:
    after = incident("updated", message="now three times")
    (only,) = notification(as_object(after), "updated", as_object(incident()), NOW_MS, STYLE)
    assert only["annotations"]["description"].endswith("now three times")


def test_a_stored_incident_comes_back_equal() -> None:
    for stored in (incident(), incident("resolved", historic=True), incident(sampled=True)):
        assert incident_of(as_object(stored), stored.transition, stored.historic) == stored
