"""The generated rules, judged by Prometheus' own tool."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rebalance_monitor.dashboards import build
from rebalance_monitor.dashboards.alerts import IDENTITY, WHILE_BLIND, alerts, prometheus_rule, rule_file
from rebalance_monitor.dashboards.incident_alerts import titles
from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.incidents.own_alerts import OWN_ALERTS, OwnAlert
from rebalance_monitor.streaming.core.metrics import METRICS, label_problem
from rebalance_monitor.streaming.core.runbooks import Addresses, alert_name, headline, next_step
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from tests.dashboards.asked import rendered
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
PROMTOOL = shutil.which("promtool")
AMTOOL = shutil.which("amtool")
TESTS = Path(__file__).parent / "rules_test.yml"
MONITORS = Path(__file__).parent / "monitors_test.yml"

pytestmark = pytest.mark.prometheus
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="no promtool: apt-get install prometheus")


def promtool(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    assert PROMTOOL
    return subprocess.run(
        [PROMTOOL, *arguments], capture_output=True, text=True, input=stdin, check=False, timeout=PATIENCE_S
    )


@needs_promtool
def test_rules_are_well_formed() -> None:
    done = promtool("check", "rules", "--lint-fatal", str(ROOT / "dashboards" / "generated" / "alerts.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_rules_fire_and_resolve_as_described() -> None:
    done = promtool("test", "rules", str(TESTS))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_what_one_of_several_monitors_suffers_is_said_of_it_alone_and_stays_said() -> None:
    done = promtool("test", "rules", str(MONITORS))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_with_another_label_for_the_cluster_the_same_rules_hold(tmp_path: Path) -> None:
    """They differ in nothing but the label; and the tests themselves hold with the label renamed."""
    rules = rendered("kafka_cluster")["alerts.yml"]
    assert rules.replace("kafka_cluster", "cluster") == rendered()["alerts.yml"]
    (tmp_path / "alerts.yml").write_text(rules, encoding="utf-8")
    text = re.sub(r"(?<!\?)\bcluster(?=(: |=|!=|\)|, ))", "kafka_cluster", TESTS.read_text(encoding="utf-8"))
    renamed = tmp_path / TESTS.name
    renamed.write_text(re.sub("- .*alerts.yml", "- alerts.yml", text), encoding="utf-8")
    done = promtool("test", "rules", str(renamed))
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_monitors_trouble_inhibits_nothing_of_another() -> None:
    for rule in alertmanager()["inhibit_rules"]:
        assert "cluster" in rule["equal"]


@pytest.mark.parametrize("name", ["alertname", "group", "instance", "__name__", "1st", "ka-fka", ""])
def test_a_name_that_no_label_or_another_label_has_is_refused(name: str) -> None:
    assert label_problem(name)
    with pytest.raises(SystemExit):
        build.main(["--check", "--cluster-label", name])


@needs_promtool
def test_of_every_title_an_alert_fires_with_what_it_is_about_and_ends(tmp_path: Path) -> None:
    """Both paths say the same words, which are the catalogue's."""
    (tmp_path / "alerts.yml").write_text(rendered()["alerts.yml"], encoding="utf-8")
    test: dict[str, Any] = {"interval": "1m", "input_series": [], "alert_rule_test": []}
    for title in titles():
        own = f'cluster="c", group="g", rule="{title}"'
        own += ', worker="w:1", connector="", severity="warning"'
        since = f'rebalance_monitor_incident_since_timestamp_seconds{{{own}, subject="task s-0", workers="w:1"}}'
        test["input_series"] += [
            {"series": f'rebalance_monitor_incident{{{own}, team="", path="prometheus"}}', "values": "0 1 1 0 0"},
            {"series": since, "values": "_ 60 60 _ _"},
        ]
        firing = {
            "exp_labels": {
                "severity": "warning", "cluster": "c", "group": "g", "worker": "w:1", "rule": title,
                "path": "prometheus",
            },
            "exp_annotations": {
                "summary": f"{headline(title)} Group g of c",
                "description": "task s-0 on w:1; incident open since 1970-01-01 00:01:00 +0000 UTC. ",
                "next_step": next_step(title),
                "group_url": "http://127.0.0.1:9471/group?cluster=c&group=g",
                "runbook_url": f"http://127.0.0.1:9471/runbook?rule={title}",
            },
        }  # fmt: skip
        looks: tuple[tuple[str, list[Any]], ...] = (("0m", []), ("2m", [firing]), ("4m", []))
        test["alert_rule_test"] += [
            {"eval_time": at, "alertname": alert_name(title), "exp_alerts": seen} for at, seen in looks
        ]
    document = {"rule_files": ["alerts.yml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
    done = promtool("test", "rules", str(tmp_path / "test.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_an_alert_speaks_of_its_own_incident_and_of_no_other_of_the_same_rule(tmp_path: Path) -> None:
    """Two connectors fail at the same time: two alerts, each with its own task. Of one of them another task had failed
    a few minutes before, and its incident has ended."""
    (tmp_path / "alerts.yml").write_text(rendered()["alerts.yml"], encoding="utf-8")
    test: dict[str, Any] = {"interval": "1m", "input_series": [], "alert_rule_test": []}
    alerts = []
    for connector in ("a", "b"):
        own = f'cluster="c", group="g", rule="failed", worker="", connector="{connector}", severity="warning"'
        since = f"rebalance_monitor_incident_since_timestamp_seconds{{{own}, "
        test["input_series"] += [
            {"series": f'rebalance_monitor_incident{{{own}, team="", path="prometheus"}}', "values": "1x3"},
            {"series": f'{since}subject="task {connector}-0", workers="w:1"}}', "values": "60x3"},
        ]
        labels = {"cluster": "c", "group": "g", "rule": "failed", "connector": connector, "severity": "warning"}
        alerts.append(
            {
                "exp_labels": {**labels, "path": "prometheus"},
                "exp_annotations": {
                    "summary": f"{headline('failed')} Group g of c",
                    "description": f"task {connector}-0 on w:1; incident open since 1970-01-01 00:01:00 +0000 UTC. ",
                    "next_step": next_step("failed"),
                    "group_url": "http://127.0.0.1:9471/group?cluster=c&group=g",
                    "runbook_url": "http://127.0.0.1:9471/runbook?rule=failed",
                },
            }
        )
        if connector == "a":
            before = {"series": f'{since}subject="task a-7", workers="w:2"}}', "values": "0 stale"}
            test["input_series"].append(before)
    test["alert_rule_test"] = [{"eval_time": "2m", "alertname": alert_name("failed"), "exp_alerts": alerts}]
    document = {"rule_files": ["alerts.yml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
    done = promtool("test", "rules", str(tmp_path / "test.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_links_lead_to_the_page_of_the_monitor_that_watches_the_cluster(tmp_path: Path) -> None:
    """Without building the rules anew: the monitor says where its page is, also when it is gone."""
    (tmp_path / "alerts.yml").write_text(rendered()["alerts.yml"], encoding="utf-8")
    own = 'group="g", team="", worker="", connector="", rule="imbalance", severity="info", path="prometheus"'
    pages = {"c": "https://kafka.example/monitor", "d": "http://10.0.0.7:9471", "none": "http://127.0.0.1:9471"}
    series = [{"series": f'rebalance_monitor_incident{{cluster="{one}", {own}}}', "values": "1x9"} for one in pages]
    series += [
        {
            "series": f'rebalance_monitor_build_info{{cluster="{one}", version="1", page="{pages[one]}"}}',
            "values": given,
        }
        for one, given in (("c", "1x9"), ("d", "1x2 _x7"))
    ]
    alerts = [
        {
            "exp_labels": {
                "cluster": one, "group": "g", "rule": "imbalance", "severity": "info", "path": "prometheus"
            },
            "exp_annotations": {
                "summary": f"{headline('imbalance')} Group g of {one}",
                "description": "",
                "next_step": next_step("imbalance"),
                "group_url": f"{page}/group?cluster={one}&group=g",
                "runbook_url": f"{page}/runbook?rule=imbalance",
            },
        }
        for one, page in pages.items()
    ]  # fmt: skip
    test = {
        "interval": "1m",
        "input_series": series,
        "alert_rule_test": [{"eval_time": "9m", "alertname": alert_name("imbalance"), "exp_alerts": alerts}],
    }
    document = {"rule_files": ["alerts.yml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
    done = promtool("test", "rules", str(tmp_path / "test.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rule_file_says_nothing_three_times() -> None:
    """One short rule for each title; the only long expression is recorded once."""
    (group, _) = rule_file()["groups"]
    own = [rule for rule in group["rules"] if rule.get("alert", WHILE_BLIND) != WHILE_BLIND]
    assert len(group["rules"]) == len(own) + 3
    assert len(own) == len({rule.title for rule in RULES})
    assert all(len(rule["expr"]) < 100 for rule in own)
    assert all("{{ if eq" not in text for rule in own for text in rule["annotations"].values())


def seconds(duration: str) -> float:
    return sum(
        float(count) * {"s": 1, "m": 60, "h": 3600}[unit] for count, unit in re.findall(r"(\d+)([smh])", duration)
    )


def course(test: dict[str, Any], alert: str) -> str:
    """What one test expects of an alert over time, one letter for each look: s(ilent) or f(iring)."""
    looks = [one for one in test.get("alert_rule_test", []) if one["alertname"] == alert]
    return "".join(
        "f" if one["exp_alerts"] else "s" for one in sorted(looks, key=lambda one: seconds(one["eval_time"]))
    )


@pytest.mark.parametrize("alert", [alert.own.name for alert in alerts()])
def test_of_every_rule_one_test_shows_silence_firing_and_silence_again(alert: str) -> None:
    tests = yaml.safe_load(TESTS.read_text(encoding="utf-8"))["tests"]
    assert any(re.fullmatch("s+f+s+", course(test, alert)) for test in tests)


def test_the_resource_holds_the_same_rules() -> None:
    resource = prometheus_rule(Addresses("https://m.example.org"))
    assert (resource["apiVersion"], resource["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert resource["spec"] == rule_file(Addresses("https://m.example.org"))


def test_only_what_makes_the_monitor_blind_or_harms_wakes_somebody() -> None:
    assert {alert.own.name for alert in alerts() if alert.own.severity == "critical"} == {
        "RebalanceMonitorAbsent",
        "RebalanceMonitorStale",
        "RebalanceMonitorBlind",
        "RebalanceMonitorClusterNotReady",
    }
    assert {alert.own.severity for alert in alerts()} == {"critical", "warning", "info"}


@pytest.mark.parametrize("own", OWN_ALERTS, ids=lambda own: own.name)
def test_of_every_alert_about_the_monitor_everybody_is_told_what_to_do(own: OwnAlert) -> None:
    assert own.advice
    assert own.resolves
    assert own.summary
    assert own.description


def test_every_declared_alert_about_the_monitor_has_a_rule() -> None:
    assert tuple(alert.own for alert in alerts()) == OWN_ALERTS


def alertmanager() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "conf" / "compose" / "alertmanager.yml").read_text(encoding="utf-8")))


def test_a_blind_moment_inhibits_by_the_labels_that_mark_and_incident_share() -> None:
    (rule,) = [one for one in alertmanager()["inhibit_rules"] if WHILE_BLIND in one["source_matchers"][0]]
    assert rule["equal"] == list(IDENTITY)
    (pattern,) = re.findall(r'alertname=~"(.+)"', rule["target_matchers"][0])
    assert all(re.fullmatch(pattern, rule.alert) for rule in RULES)
    assert not any(re.fullmatch(pattern, own.name) for own in OWN_ALERTS)


@pytest.mark.skipif(AMTOOL is None, reason="no amtool: apt-get install prometheus-alertmanager")
def test_alertmanager_takes_its_configuration_and_only_what_pages_reaches_the_pager() -> None:
    assert AMTOOL
    file = str(ROOT / "conf" / "compose" / "alertmanager.yml")
    done = subprocess.run(
        [AMTOOL, "check-config", file], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for severity, receiver in (("critical", "page"), ("warning", "working-hours"), ("info", "report"), ("", "report")):
        route = [AMTOOL, "config", "routes", "test", f"--config.file={file}", f"severity={severity}"]
        asked = subprocess.run(route, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert asked.stdout.strip() == receiver


def test_a_warning_waits_until_working_hours() -> None:
    (own,) = [one for one in alertmanager()["route"]["routes"] if one["receiver"] == "working-hours"]
    assert own["active_time_intervals"] == ["working hours"]
    assert {one["name"] for one in alertmanager()["time_intervals"]} == {"working hours"}


@needs_promtool
def test_what_is_exposed_passes_prometheus_lint() -> None:
    """Every declared metric with one series, and what the process says of itself, as the exporter writes them."""
    exporter = Exporter(0, clusters=["c"])
    try:
        for metric in METRICS:
            values = ["x"] * len(metric.labels)
            match metric.kind:
                case "counter":
                    exporter._families.counter(metric, *values).inc()
                case "histogram":
                    exporter._families.histogram(metric, *values).observe(1)
                case "gauge" | "info":
                    exporter._families.gauge(metric, *values).set(1)
        text = exporter.scrape().decode()
    finally:
        exporter.stop()
    assert "process_resident_memory_bytes" in text
    done = promtool("check", "metrics", stdin=text)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
