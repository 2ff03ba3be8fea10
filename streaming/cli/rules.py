"""`rules`: what is judged, how loudly people are told, and each rule's runbook, from the one catalogue."""

import argparse
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rebalance_monitor.dashboards.runbooks import FOLDER, runbooks
from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.connect.advice.words import whole_text
from rebalance_monitor.streaming.core.incidents.commands import commands_of
from rebalance_monitor.streaming.core.incidents.own_alerts import OWN_ALERTS, OwnAlert, readable
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import Step
from rebalance_monitor.streaming.core.runbooks import damping_text, loudness_of, loudness_text
from .exit_codes import DONE, InputError
from .output import print_json


def rules(arguments: argparse.Namespace) -> int:
    """List every rule, or show one runbook: by a rule's title or code, or an alert's name. Raises InputError."""
    name, output = arguments.name, arguments.output
    if name is None:
        return _list(RULES, output)
    chosen = [rule for rule in RULES if name in (rule.title, rule.code, rule.alert)]
    about_us = runbooks().get(f"{FOLDER}/{name}.md") if not chosen else None
    if about_us is not None and output != "json":
        print(about_us, end="")
        return DONE
    if about_us is not None:
        print_json(own_alert_object(next(own for own in OWN_ALERTS if own.name == name)))
        return DONE
    if not chosen:
        raise InputError(f"no rule has the title or code {name!r}; {_hint(name)}")
    if output == "json":
        return _list(chosen, output)
    print(runbooks()[f"{FOLDER}/{chosen[0].title}.md"], end="")
    return DONE


def _hint(name: str) -> str:
    if name.startswith("RebalanceIncident"):
        return "the label `rule` of that alert names one"
    names = {one.lower(): one for rule in RULES for one in (rule.title, rule.code, rule.alert)}
    names |= {Path(page).stem.lower(): Path(page).stem for page in runbooks()}
    close = get_close_matches(name.lower(), names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(names[one] for one in close)}?"
    return "`rebalance-monitor rules` lists them"


def _list(some: Iterable[Rule], output: str) -> int:
    for rule in some:
        if output == "json":
            print_json(rule_object(rule))
        else:
            told = f"{loudness_text(rule)}; {damping_text(rule)}"
            print(f"{rule.code:14} {rule.title:40} {rule.severity.value:9} {told}")
    return DONE


def rule_object(rule: Rule) -> dict[str, Any]:
    """The rule as one JSON object; times in ms."""
    first, later = loudness_of(rule)
    return {
        "kind": "rule",
        "code": rule.code,
        "title": rule.title,
        "alert_name": rule.alert,
        "wrong": rule.wrong,
        "severity": rule.severity.value,
        "alert": first.value,
        "alert_later": later.value,
        "for_ms": rule.for_ms,
        "keep_firing_ms": rule.keep_firing_ms,
        "absorbed_by_storm": rule.absorbed,
        "needs_every_generation": rule.needs_every_generation,
        "meaning": rule.meaning,
        "exceptions": list(rule.exceptions),
        "confirm": [{"run": check.run, "shows": check.shows} for check in rule.confirm],
        "advice": [_step_object(step) for step in rule.advice],
        "resolves": rule.resolves,
        "issues": list(rule.issues),
    }


def own_alert_object(own: OwnAlert) -> dict[str, Any]:
    """The alert about the monitor as one JSON object; labels stand in the texts by their names."""
    return {
        "kind": "own_alert",
        "alert_name": own.name,
        "alert": own.severity,
        "hold": own.hold,
        "summary": readable(own.summary),
        "description": readable(own.description),
        "confirm": [{"run": check.run, "shows": check.shows} for check in own.confirm],
        "advice": [_step_object(step) for step in own.advice],
        "resolves": own.resolves,
    }


def _step_object(step: Step) -> dict[str, Any]:
    return {"does": step.kind.value, "text": whole_text(step), "run": list(commands_of(step))}
