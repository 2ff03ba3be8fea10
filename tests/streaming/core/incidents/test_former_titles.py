"""A rule with a new title: incidents, configurations and links that name the former one go on."""

from collections import Counter

import pytest

from rebalance_monitor.dashboards.incident_alerts import incident_rule
from rebalance_monitor.streaming.config.owners import OwnerSection
from rebalance_monitor.streaming.core.catalogue import CATALOGUE, RULES
from rebalance_monitor.streaming.core.incidents.damping import damping_of
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Damping
from rebalance_monitor.streaming.core.runbooks import Addresses, alert_name, headline, next_step

RENAMED = [rule for rule in RULES if rule.former_title]


def test_no_title_was_another_rules() -> None:
    titles = {title: {rule.alert for rule in RULES if title in rule.titles} for rule in RULES for title in rule.titles}
    assert RENAMED
    assert {title: alerts for title, alerts in titles.items() if len(alerts) > 1} == {}
    assert max(Counter(rule.former_title for rule in RENAMED).values()) == 1


@pytest.mark.parametrize("rule", RENAMED, ids=lambda rule: rule.code)
def test_an_open_incident_with_the_former_title_is_notified_as_before(rule: Rule) -> None:
    former = rule.former_title
    assert CATALOGUE.titled(former) == CATALOGUE.titled(rule.title) == (rule,)
    assert (alert_name(former), headline(former)) == (rule.alert, rule.wrong)
    assert next_step(former) == next_step(rule.title) != ""
    where = Addresses()
    assert where.runbook(former) == where.runbook(rule.title)
    assert Addresses(runbooks="https://docs").runbook(former) == f"https://docs/{rule.title}.md"
    assert incident_rule(rule.title, where)["expr"] == f'rebalance_monitor:incident{{rule=~"{rule.title}|{former}"}}'


@pytest.mark.parametrize("rule", RENAMED, ids=lambda rule: rule.code)
def test_a_configuration_may_name_the_former_title(rule: Rule) -> None:
    owner = OwnerSection.model_validate({"team": "a", "damping": {rule.former_title: {"for_ms": 7}}})
    settings = ClusterSettings(name="c", damping={rule.former_title: Damping(keep_firing_ms=5)}, owners=(owner.core(),))
    assert damping_of(CATALOGUE, settings, "g", rule.code)[0] in (7, rule.for_ms if rule.patience else 7)
    own = ClusterSettings(name="c", damping={rule.former_title: Damping(for_ms=9, keep_firing_ms=5)})
    assert damping_of(CATALOGUE, own, "g", rule.code)[1] == 5
