"""The command line tells the catalogue's own words."""

import json

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.incidents.own_alerts import OWN_ALERTS, OwnAlert


def test_lists_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "-o", "json"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["code"] for one in objects] == [rule.code for rule in RULES]
    assert {one["code"] for one in objects if "critical" in (one["alert"], one["alert_later"])} == {
        "CONNECT-I1", "CONNECT-I2", "CONNECT-K2", "CONNECT-K5", "CONNECT-K10", "CONNECT-K18",
        "CONSUMER-C01", "EPOCHS-E11", "EPOCHS-T11", "GROUP-G1", "GROUP-G6", "SHARE-H5",
    }  # fmt: skip
    assert main(["rules"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(RULES)


@pytest.mark.parametrize("name", ["rebalance_storm", "CONNECT-K10"])
def test_shows_a_runbook_by_title_or_code(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["rules", name]) == 0
    assert "warning, after 10 minutes critical; at once, its end 5 min later" in capsys.readouterr().out


def test_shows_the_runbook_of_an_alert_about_the_monitor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "RebalanceMonitorStale"]) == 0
    assert "## What to do" in capsys.readouterr().out
    assert main(["rules", "RebalanceIncidentCritical"]) == 2
    assert "the label `rule` of that alert names one" in capsys.readouterr().err
    assert main(["rules", "KafkaConnectTaskFailed"]) == 0
    assert "# failed" in capsys.readouterr().out


@pytest.mark.parametrize("own", OWN_ALERTS, ids=lambda own: own.name)
def test_an_alert_about_the_monitor_is_an_object_for_programs(
    capsys: pytest.CaptureFixture[str], own: OwnAlert
) -> None:
    assert main(["rules", own.name, "-o", "json"]) == 0
    (told,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (told["kind"], told["alert_name"], told["alert"]) == ("own_alert", own.name, own.severity)
    assert len(told["advice"]) == len(own.advice)
    assert "{{" not in json.dumps(told)


def test_an_unknown_name_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "nonsense"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("Imbalance", "imbalance"), ("connect-k5", "CONNECT-K5"), ("RebalanceMonitorStal", "RebalanceMonitorStale")],
)
def test_a_name_that_is_nearly_right_is_suggested(capsys: pytest.CaptureFixture[str], typed: str, meant: str) -> None:
    assert main(["rules", typed]) == 2
    said = capsys.readouterr().err
    assert "did you mean" in said
    assert meant in said
