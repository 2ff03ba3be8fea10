"""Alertmanager's alerts: equal labels for firing and resolved, and times that it accepts."""

from streaming.core.metrics import INCIDENT
from streaming.core.model.objects import as_object
from streaming.core.model.results import AlertSeverity, Subject
from streaming.sinks.alerts import AlertStyle, alert, alert_labels, notification, rfc3339
from streaming.sinks.labels import incident_labels
from streaming.sinks.stored import incident_of
from tests.streaming.sinks.builders import incident

STYLE = AlertStyle(generator_url="http://127.0.0.1:9470/metrics")
NOW_MS = 1_700_000_000_123


def test_labels_are_equal_for_firing_and_resolved() -> None:
    labels = alert_labels(incident(), STYLE)
    assert labels == alert_labels(incident("resolved"), STYLE)
    assert set(labels) == {"alertname", "incident_id", *INCIDENT.labels}
    assert labels["alertname"] == "RebalanceIncidentCritical"


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
    assert sent["annotations"]["description"] == "task my-sink-0 runs twice"


def test_an_alert_leads_to_the_runbook_of_its_rule() -> None:
    assert alert(incident(), NOW_MS, STYLE)["annotations"]["runbook_url"] == "docs/runbooks/duplicate_active.md"
    assert alert(incident(), NOW_MS, STYLE)["annotations"]["next_step"].startswith("Find out which of the two runs")
    own = AlertStyle(generator_url="http://a", runbooks="https://wiki.example/r/")
    told = alert(incident("resolved"), NOW_MS, own)
    assert told["annotations"]["runbook_url"] == "https://wiki.example/r/duplicate_active.md"


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
    assert only["annotations"]["description"] == "now three times"


def test_a_stored_incident_comes_back_equal() -> None:
    for one in (incident(), incident("resolved", historic=True)):
        assert incident_of(as_object(one), one.transition, one.historic) == one
