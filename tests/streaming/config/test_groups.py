"""Owners, damping and maintenance windows as a user writes them, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.section import ConfigError
from rebalance_monitor.streaming.core.catalogue import CATALOGUE
from rebalance_monitor.streaming.core.incidents.damping import alert_severity, damping_of
from rebalance_monitor.streaming.core.incidents.maintenance import muting
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Certainty, Part, Severity
from rebalance_monitor.streaming.core.model.settings import NOTHING_EXPECTED, Expectations

CLUSTER = "clusters: [{name: prod, bootstrap_servers: 'k:9092'}]\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "monitor.yaml"
    path.write_text(CLUSTER + text, encoding="utf-8")
    return path


def test_the_first_owner_that_fits_counts_and_its_damping_beats_everybody_s(tmp_path: Path) -> None:
    text = """
alerting: {damping: {imbalance: {for_ms: 1000}, CONNECT-K10: {keep_firing_ms: 5}}}
groups:
- {team: other, cluster: test-*}
- team: pipelines
  match: connect-*
  alerts: {imbalance: info}
  damping: {CONNECT-I8: {for_ms: 7}}
  session_timeout_ms: 30000
- {team: patient, match: slow-*, session_timeout_ms: 10000, silent_member_ms: 600000}
- {team: all}
"""
    core = load(written(tmp_path, text), {}).core_clusters()["prod"]
    owner = core.owner_of("connect-a")
    assert owner is not None
    assert (owner.team, owner.alerts) == ("pipelines", {"imbalance": AlertSeverity.INFO})
    assert (owner.session_timeout_ms, owner.rebalance_timeout_ms) == (30_000, None)
    assert [core.silent_member_ms_of(group) for group in ("connect-a", "slow-a")] == [None, 600_000]
    assert damping_of(CATALOGUE, core, "connect-a", "CONNECT-I8") == (7, 0)
    assert damping_of(CATALOGUE, core, "elsewhere", "CONNECT-I8") == (1000, 0)
    assert damping_of(CATALOGUE, core, "connect-a", "CONNECT-K10") == (0, 5)


def test_a_window_mutes_from_its_beginning_until_just_before_its_end(tmp_path: Path) -> None:
    text = """
maintenance:
- {owner: jane, reason: upgrade, groups: a*, begins: 1970-01-01T00:00:01Z, ends: 1970-01-01T00:00:02+00:00}
"""
    windows = [one.core() for one in load(written(tmp_path, text), {}).maintenance]
    assert [muting(windows, "prod", "abc", at) is not None for at in (999, 1000, 1999, 2000)] == [
        False, True, True, False,
    ]  # fmt: skip
    assert muting(windows, "prod", "bcd", 1000) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("groups: [{team: a, alerts: {imbalanced: info}}]", "no rule is called 'imbalanced'"),
        ("groups: [{team: a, alerts: {imbalance: loud}}]", "groups[0].alerts.imbalance"),
        ("groups: [{team: a, members_at_least: 0}]", "groups[0].members_at_least"),
        ("groups: [{team: a, lag_s: 0.5}]", "groups[0].lag_s: must be a whole number"),
        ("groups: [{team: a, lag_s: 0}]", "groups[0].lag_s"),
        ("groups: [{team: a, rebalances_per_hour: 361}]", "groups[0].rebalances_per_hour"),
        ("groups: [{team: a, members_at_least: 1, severity: page}]", "groups[0].severity"),
        ("groups: [{team: a, severity: info}]", "severity is how loudly unmet expectations speak, and none is given"),
        ("groups: [{match: a}]", "groups[0].team: this key is missing"),
        (
            "maintenance: [{owner: a, reason: b, begins: 2026-01-01T00:00:00Z, ends: 2026-01-09T00:00:00Z}]",
            "may last 7 days at most",
        ),
        (
            "maintenance: [{owner: a, reason: b, begins: 2026-01-02T00:00:00Z, ends: 2026-01-01T00:00:00Z}]",
            "must end after it begins",
        ),
        ("maintenance: [{owner: a, reason: b, begins: 2026-01-02T00:00:00, ends: 2026-01-03T00:00:00Z}]", "begins"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, text), {})
    assert says in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_an_owner_sets_how_loudly_a_rule_speaks_for_single_connectors(tmp_path: Path) -> None:
    text = 'groups: [{team: pay, connectors: {"payments-*": {failed: critical}}}]\n'
    owner = load(written(tmp_path, text), {}).core_clusters()["prod"].owner_of("g")
    assert owner is not None
    assert owner.connectors == {"payments-*": {"failed": AlertSeverity.CRITICAL}}
    with pytest.raises(ConfigError, match="no rule is called"):
        load(written(tmp_path, text.replace("failed", "broken")), {})


def test_what_is_expected_of_groups_and_how_loudly_it_speaks(tmp_path: Path) -> None:
    text = """
groups:
- {team: a, match: orders-1, members_at_least: 2, alerts: {GROUP-E1: info}, severity: critical}
- {team: b, match: "orders-*", lag_s: 120, rebalances_per_hour: 0}
- {team: c, match: orders-2, members_at_least: 2}
"""
    core = load(written(tmp_path, text), {}).core_clusters()["prod"]
    assert core.expects("orders-1") == Expectations(members_at_least=2)
    assert core.expects("orders-2") == Expectations(lag_s=120, rebalances_per_hour=0), "the first that fits counts"
    assert core.expects("others") == NOTHING_EXPECTED
    assert core.awaited() == ["orders-1"]
    owner = core.owner_of("orders-1")
    assert owner is not None
    part = Part(
        incident_id="i", code="GROUP-E1", severity=Severity.MEDIUM, certainty=Certainty.CERTAIN,
        opened_generation=1, opened_at_ms=1, subjects=(),
    )  # fmt: skip
    loud = [
        alert_severity(CATALOGUE, core, "orders-1", replace(part, code=code), 1) for code in ("GROUP-E1", "GROUP-E2")
    ]
    assert loud == [AlertSeverity.INFO, AlertSeverity.CRITICAL]
