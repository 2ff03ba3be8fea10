"""Runbooks and the table of rules, made from the rule catalogue and the alerts about the monitor itself.

One page per title of a rule, because people are told the title: several laws may share one, and then each has its
paragraph.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from dashboards.alert import Alert
from dashboards.alerts import alerts
from dashboards.cluster_label import renamed_query
from streaming.core.catalogue import RULES
from streaming.core.incidents.rule import Check, Rule
from streaming.core.incidents.runbooks import damping_text, left_open, loudness_text, told_as
from streaming.core.metrics import CLUSTER
from streaming.core.model.results import AlertSeverity

FOLDER = "runbooks"
_MADE = "<!-- Made by `rebalance-monitor dashboards build` from the rule catalogue; edit that. -->"
_T = TypeVar("_T")
_JIRA = "https://issues.apache.org/jira/browse/"


def pages(cluster_label: str = CLUSTER) -> dict[str, str]:
    """Path below the documentation's folder -> text: a page per rule title, one per alert, and the table of all."""
    found = {f"{FOLDER}/{title}.md": _rule_page(title, rules) for title, rules in _by_title().items()}
    found |= {f"{FOLDER}/{alert.name}.md": _alert_page(alert, cluster_label) for alert in alerts() if not alert.runbook}
    return {**found, "rules.md": _table()}


def _by_title() -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in RULES:
        found.setdefault(rule.title, []).append(rule)
    return found


def _rule_page(title: str, rules: Sequence[Rule]) -> str:
    loud = sorted({told for rule in rules for told in told_as(rule)}, key=list(AlertSeverity).index)
    alert = " or ".join(f"`RebalanceIncident{one.value.capitalize()}`" for one in loud)
    parts = [
        f"# {title}",
        _MADE,
        "## Symptom",
        f'{alert} with `rule="{title}"`, or an open incident of this name on the dashboards, the page and in '
        "`rebalance_monitor.incidents`. Its message names the workers and jobs; its evidence the records. Which worker "
        "leads the group stands on the group's page.",
        "## Meaning",
        "As long as nothing is wrong:",
        _bullets(f"{rule.code} (usually {rule.severity.value}): {rule.meaning}" for rule in rules),
        "How loudly people are told, and when:",
        _bullets(f"{rule.code}: {loudness_text(rule)}; {damping_text(rule)}" for rule in rules),
        *_what_to_do(
            _once(check for rule in rules for check in rule.confirm),
            _once(step for rule in rules for step in rule.advice),
            _once(rule.resolves for rule in rules),
        ),
        "## What looks like it and is none",
        _bullets(_once(text for rule in rules for text in rule.exceptions)) or "Nothing known.",
        "## Kafka issues",
        _bullets(f"[{issue}]({_JIRA}{issue})" for issue in sorted(_issues(rules))) or "None known.",
    ]
    return "\n\n".join(parts) + "\n"


def _alert_page(alert: Alert, cluster_label: str) -> str:
    parts = [
        f"# {alert.name}",
        _MADE,
        "## Symptom",
        f"The alert `{alert.name}`, severity {alert.severity}.",
        "## Meaning",
        _readable(alert.description),
        "```promql\n" + renamed_query(alert.expr, cluster_label) + "\n```",
        f"It must hold for {alert.hold} before the alert fires." if alert.hold else "It fires at once.",
        *_what_to_do(alert.confirm, alert.advice, (alert.resolves,)),
    ]
    return "\n\n".join(parts) + "\n"


def _what_to_do(confirm: Sequence[Check], advice: Sequence[str], resolves: Sequence[str]) -> list[str]:
    looks = [f"```sh\n{check.run}\n```\n\nShows {check.shows}." for check in confirm]
    if wanted := left_open(confirm):
        looks.insert(0, "Fill in " + ", ".join(f"`{name}` ({where})" for name, where in wanted.items()) + ".")
    return [
        *(["## How to confirm", *looks] if looks else []),
        "## What to do",
        "\n".join(f"{number}. {step}" for number, step in enumerate(advice, start=1)),
        "## When it ends by itself",
        _bullets(resolves) if len(resolves) > 1 else resolves[0],
    ]


def _table() -> str:
    rules = [
        f"| [{rule.title}]({FOLDER}/{rule.title}.md) | {rule.code} | {rule.severity.value} | {loudness_text(rule)} | "
        f"{damping_text(rule)} | {', '.join(rule.issues)} |"
        for rule in RULES
    ]
    own = [
        f"| [{alert.name}]({FOLDER}/{alert.name}.md) | {alert.severity} | {alert.hold or 'at once'} | "
        f"{_readable(alert.summary)} |"
        for alert in alerts()
        if not alert.runbook
    ]
    return "\n".join(
        (
            "# Rules",
            "",
            _MADE,
            "",
            "A rule's severity says how wrong it is, the alert severity how loudly people are told: critical wakes "
            "somebody,",
            "a warning waits for the morning, info is for reports. Both, and the damping, can be changed per team: "
            "[alerts](alerts.md).",
            "",
            "| rule | code | severity | told as | told | Kafka issues |",
            "|---|---|---|---|---|---|",
            *rules,
            "",
            "Alerts about the monitor itself:",
            "",
            "| alert | severity | told after | says |",
            "|---|---|---|---|",
            *own,
            "",
        )
    )


def _readable(template: str) -> str:
    """Text of an alert with the names of its labels in the place of their values."""
    whole = re.sub(
        r"\{\{ with \$labels\.(\w+) \}\}(.*?)\{\{ end \}\}",
        lambda found: found[2].replace("{{ . }}", f"*{found[1]}*"),
        template,
    )
    return re.sub(r"\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}", r"*\1*", whole)


def _issues(rules: Iterable[Rule]) -> set[str]:
    return {issue for rule in rules for issue in rule.issues}


def _once(values: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(values))


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"* {text}" for text in texts)
