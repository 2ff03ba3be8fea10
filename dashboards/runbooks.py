"""Runbooks and the table of rules, made from the rule catalogue and the alerts about the monitor itself.

One page per title of a rule, because people are told the title: several laws may share one, and then each has its
paragraph.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.connect.advice.words import whole_text
from rebalance_monitor.streaming.core.incidents.catalogue import MADE
from rebalance_monitor.streaming.core.incidents.commands import commands_of, on_kubernetes
from rebalance_monitor.streaming.core.incidents.own_alerts import OWN_ALERTS, readable
from rebalance_monitor.streaming.core.incidents.rule import Check, Rule
from rebalance_monitor.streaming.core.incidents.step import Step
from rebalance_monitor.streaming.core.metrics import CLUSTER
from rebalance_monitor.streaming.core.runbooks import by_codes, commands, damping_text, left_open, loudness_text
from .alerts import alerts
from .cluster_label import renamed_query
from .monitor_alerts import Alert

FOLDER = "runbooks"
_T = TypeVar("_T")
_JIRA = "https://issues.apache.org/jira/browse/"


def runbooks(cluster_label: str = CLUSTER) -> dict[str, str]:
    """Path below the documentation's folder -> text: a page for each rule title and each alert about the monitor."""
    found = {f"{FOLDER}/{title}.md": _rule_page(title, rules) for title, rules in _by_title().items()}
    return found | {f"{FOLDER}/{alert.own.name}.md": _alert_page(alert, cluster_label) for alert in alerts()}


def _by_title() -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in RULES:
        found.setdefault(rule.title, []).append(rule)
    return found


def _rule_page(title: str, rules: Sequence[Rule]) -> str:
    parts = [
        f"# {title}",
        MADE,
        "## Symptom",
        f"The alert `{rules[0].alert}`, or an open incident `{title}` on the dashboards, the page and in "
        "`rebalance_monitor.incidents`. Its message names what is affected; its evidence the records. "
        "The group's page shows who holds what, and the leader if a member leads.",
        "## Meaning",
        _bullets(f"{rule.code} (usually {rule.severity.value}): {rule.wrong}" for rule in rules),
        "The rule that is broken:",
        _bullets(_once(rule.meaning for rule in rules)),
        "Alert severity, and when people are notified:",
        _bullets(f"{rule.code}: {loudness_text(rule)}; {damping_text(rule)}" for rule in rules),
        *_what_to_do(
            _once(check for rule in rules for check in rule.confirm),
            by_codes(rules, lambda rule: rule.advice),
            by_codes(rules, lambda rule: (rule.resolves,)),
        ),
        "## Known false positives",
        _bullets(_once(text for rule in rules for text in rule.exceptions)) or "Nothing known.",
        "## Kafka issues",
        _bullets(f"[{issue}]({_JIRA}{issue})" for issue in sorted({issue for rule in rules for issue in rule.issues}))
        or "None known.",
    ]
    return "\n\n".join(parts) + "\n"


def _alert_page(alert: Alert, cluster_label: str) -> str:
    own = alert.own
    parts = [
        f"# {own.name}",
        MADE,
        "## Symptom",
        f"The alert `{own.name}`, severity {own.severity}: {readable(own.summary)}.",
        "## Meaning",
        readable(own.description),
        *_what_to_do(own.confirm, [("", own.advice)], [("", (own.resolves,))]),
        "## Expression",
        f"It must hold for {own.hold} before the alert fires." if own.hold else "The alert fires at once.",
        "```promql\n" + renamed_query(alert.expr, cluster_label) + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _what_to_do(
    confirm: Sequence[Check],
    advice: Sequence[tuple[str, Sequence[Step]]],
    resolves: Sequence[tuple[str, Sequence[str]]],
) -> list[str]:
    """Steps and ends come with the codes of the rules they are for, where the rules of a title differ."""
    looks = [f"```sh\n{_lines(check.run, on_kubernetes(check))}\n```\n\nShows {check.shows}." for check in confirm]
    if wanted := left_open(commands(confirm, (step for _, steps in advice for step in steps))):
        looks.insert(0, "Fill in " + ", ".join(f"`{name}` ({where})" for name, where in wanted.items()) + ".")
    return [
        *(["## How to confirm", *looks] if looks else []),
        "## What to do",
        "\n\n".join(_steps(codes, steps) for codes, steps in advice),
        "## When it ends by itself",
        "\n".join(f"* {codes}: {text}" if codes else text for codes, texts in resolves for text in texts),
    ]


def _steps(codes: str, steps: Sequence[Step]) -> str:
    numbered = "\n".join(f"{number}. {_step(step)}" for number, step in enumerate(steps, start=1))
    return f"{codes}:\n\n{numbered}" if codes else numbered


def _step(step: Step) -> str:
    """What to do, whether it moves work, and what to paste."""
    told = f"{whole_text(step)} *({step.kind.value})*"
    run = commands_of(step)
    if not run:
        return told
    return told + "\n\n   ```sh\n" + "".join(f"   {line}\n" for line in run) + "   ```"


def _lines(*commands: str) -> str:
    return "\n".join(line for line in commands if line)


def rules_table() -> str:
    rules = [
        f"| [{rule.title}]({FOLDER}/{rule.title}.md) | {rule.code} | {rule.alert} | {rule.severity.value} | "
        f"{loudness_text(rule)} | {damping_text(rule)} | {'' if rule.needs_every_generation else 'yes'} | "
        f"{', '.join(rule.issues)} |"
        for rule in RULES
    ]
    own = [
        f"| [{own.name}]({FOLDER}/{own.name}.md) | {own.severity} | {own.hold or 'at once'} | {readable(own.summary)} |"
        for own in OWN_ALERTS
    ]
    return "\n".join(
        (
            "# Rules",
            "",
            MADE,
            "",
            "A rule's severity says how wrong it is. The alert severity says how urgent it is: critical pages,",
            "a warning can wait until working hours, info is for reports. Both, and the damping, can be set per team: "
            "[alerts](alerts.md).",
            "",
            "Rules that look at one assignment alone, or at what lasts, judge [polled](sampled.md) groups, too.",
            "",
            "| rule | code | alert | severity | alert severity | notified | polled | Kafka issues |",
            "|---|---|---|---|---|---|---|---|",
            *rules,
            "",
            "Alerts about the monitor itself:",
            "",
            "| alert | severity | notified after | says |",
            "|---|---|---|---|",
            *own,
            "",
        )
    )


def _once(values: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(values))


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"* {text}" for text in texts)
