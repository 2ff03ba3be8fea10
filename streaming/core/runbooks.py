"""What every runbook needs, wherever it is shown (as a file, on the page, by the command): its address, how loudly and
when people are told of a rule, and what its commands leave open.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rebalance_monitor.streaming.core.connect.advice.words import whole_text
from rebalance_monitor.streaming.core.incidents.commands import commands_of, on_kubernetes
from rebalance_monitor.streaming.core.incidents.damping import alert_severity
from rebalance_monitor.streaming.core.incidents.rule import Check, Rule
from rebalance_monitor.streaming.core.incidents.step import Step
from rebalance_monitor.streaming.core.model.findings import AlertSeverity, Certainty, Part
from rebalance_monitor.streaming.core.model.settings import PUBLIC_URL, ClusterSettings
from .catalogue import CATALOGUE

_T = TypeVar("_T")
VARIABLES = {
    "ALERTMANAGER": "its host:port",
    "BROKERS": "the cluster's bootstrap servers",
    "CONFIG": "the monitor's configuration file",
    "CONFIG_TOPIC": "the Connect cluster's `config.storage.topic`",
    "CONNECTOR": "named in the message",
    "CONNECT_CLUSTER": "the name of Strimzi's `KafkaConnect`",
    "CONNECT_POD": "the worker's pod under Strimzi",
    "DELAY_S": "`scheduled.rebalance.max.delay.ms` in seconds",
    "DSN": "the address of the monitor's database, its `database.dsn`",
    "GROUP": "the group id",
    "HOST": "the worker's host",
    "KAFKA_POD": "a broker's pod under Strimzi",
    "JMX_PORT": "where the worker's JMX listens",
    "MONITOR": "host:port of the monitor's metrics",
    "OFFSET": "from the incident's evidence, or from the command before",
    "PARTITION": "from the incident's evidence, or from the command before",
    "PROMETHEUS": "its host:port",
    "RELEASE": "a Kafka release, such as 3.9.0",
    "REPLICAS": "how many workers there shall be",
    "STATUS_TOPIC": "the Connect cluster's `status.storage.topic`",
    "TASK": "the number of the task, named in the message",
    "TOPIC": "named in the alert, or in its message",
    "WORKER": "host:port of a worker's REST interface",
    "WORKER_PROPERTIES": "the worker's configuration file",
}
"""What the commands leave open, and where it is found."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where people read on: `public_url` is the page as they reach it, `runbooks` a published copy of docs/runbooks.

    Without such a copy (None) the page's own runbooks are meant.
    """

    public_url: str = PUBLIC_URL
    runbooks: str | None = None

    def runbook(self, name: str) -> str:
        if self.runbooks is not None:
            return f"{self.runbooks.rstrip('/')}/{name}.md"
        return f"{self.public_url.rstrip('/')}/runbook?rule={name}"

    def group(self, cluster: str, group: str) -> str:
        """Of a group's page; both names are escaped already."""
        return f"{self.public_url.rstrip('/')}/group?cluster={cluster}&group={group}"

    def at_once(self, cluster: str, from_ms: int, until_ms: int) -> str:
        """Of the events between two moments, for programs; the name is escaped already."""
        return f"{self.public_url.rstrip('/')}/api/v1/at_once?cluster={cluster}&since_ms={from_ms}&until_ms={until_ms}"


def rules_titled(title: str) -> tuple[Rule, ...]:
    """Every rule of this title: several laws may share one."""
    return tuple(rule for rule in CATALOGUE.rules if rule.title == title)


def alert_name(title: str) -> str:
    """The name of the alert about this title; that of any incident for a title that the catalogue does not have."""
    return next((rule.alert for rule in rules_titled(title)), "KafkaRebalanceIncident")


def headline(title: str) -> str:
    """What is wrong, in one sentence; the title itself where the catalogue does not have it."""
    return next((rule.wrong for rule in rules_titled(title)), f"{title}.")


def next_step(title: str, code: str = "") -> str:
    """What to do first about an incident of the rule with this title and code: rules that share a title may declare
    other steps. Empty for a title that the catalogue does not have."""
    rules = sorted(rules_titled(title), key=lambda rule: rule.code != code)
    return next((whole_text(rule.advice[0]) for rule in rules), "")


def by_codes(rules: Sequence[Rule], parts: Callable[[Rule], tuple[_T, ...]]) -> list[tuple[str, tuple[_T, ...]]]:
    """What several rules of one title declare, each with the codes it is for; no codes where all declare the same."""
    found: dict[tuple[_T, ...], list[str]] = {}
    for rule in rules:
        found.setdefault(parts(rule), []).append(rule.code)
    return [("" if len(found) == 1 else ", ".join(codes), declared) for declared, codes in found.items()]


def left_open(commands: Iterable[str]) -> dict[str, str]:
    """The variables of these commands, in order, with where each is found."""
    named = {name for command in commands for name in re.findall(r"\$([A-Z_]+)", command)}
    return {name: VARIABLES[name] for name in sorted(named)}


def commands(checks: Iterable[Check], steps: Iterable[Step]) -> list[str]:
    looked = [text for check in checks for text in (check.run, on_kubernetes(check)) if text]
    return looked + [text for step in steps for text in commands_of(step)]


def loudness_of(rule: Rule) -> tuple[AlertSeverity, AlertSeverity]:
    """How loudly people are told of a certain finding of the rule: at first, and after the patience with a storm."""
    usual = Part(
        incident_id="",
        code=rule.code,
        subjects=(),
        severity=rule.severity,
        certainty=Certainty.CERTAIN,
        opened_generation=0,
        opened_at_ms=0,
    )
    anywhere = ClusterSettings(name="")
    later_ms = rule.pages_after_ms or 0
    return alert_severity(CATALOGUE, anywhere, "", usual, 0), alert_severity(CATALOGUE, anywhere, "", usual, later_ms)


def loudness_text(rule: Rule) -> str:
    """How loudly people are told, in words."""
    first, later = loudness_of(rule)
    if first is not later:
        return f"{first.value}, after {(rule.pages_after_ms or 0) // 60_000} minutes {later.value}"
    return f"{first.value} if certain, else warning" if first is AlertSeverity.CRITICAL else first.value


def damping_text(rule: Rule) -> str:
    """After how long people are told of its beginning and end, in words."""
    begins = rule.patience or (f"after {_minutes(rule.for_ms)}" if rule.for_ms else "at once")
    ends = f", its end {_minutes(rule.keep_firing_ms)} later" if rule.keep_firing_ms else ""
    return f"{begins}{ends}{'; suppressed during `rebalance_storm`' if rule.absorbed else ''}"


def _minutes(duration_ms: int) -> str:
    return f"{duration_ms // 60_000} min"
