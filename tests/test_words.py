"""What users read has the field's own words: in documents, on the page, in the API, in metrics, dashboards and logs.

    people are notified, an incident is suppressed     not: told, quiet, hushed; nobody hears of anything
    connectors and tasks                               not: jobs (`job` is the streaming job, or Prometheus' label)
    a rebalance                                        not: a round
    a worker that declares a task                      not: a lister

Pages of benchmarks are left out: they show names of measured values.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.dashboards.shelf import SHELF
from rebalance_monitor.streaming.audit.suites import SUITES
from rebalance_monitor.streaming.cli.commands import parser
from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.incidents.own_alerts import OWN_ALERTS
from rebalance_monitor.streaming.core.metrics import METRICS
from rebalance_monitor.streaming.web.contract import ROUTES
from rebalance_monitor.streaming.web.openapi import document

ROOT = Path(__file__).parents[1]
NOTIFYING = re.compile(r"\b(told|telling|quiet|quietly|hushed|hears?|heard)\b", re.IGNORECASE)
CONNECT = re.compile(r"\b(jobs?|rounds?|listers?)\b", re.IGNORECASE)

Texts = Iterator[tuple[str, str]]
"""Where a text stands, and the text."""


def documents() -> Texts:
    docs = [one for one in (ROOT / "docs").glob("*.md") if not one.name.startswith("benchmarks")]
    pages = [ROOT / "README.md", *docs, *(ROOT / "docs" / "runbooks").glob("*.md")]
    for path in (*pages, ROOT / "conf" / "default.yaml"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            yield f"{path.relative_to(ROOT)}:{number}", line


def page() -> Texts:
    """Templates without their tags: what a browser shows."""
    for path in sorted((ROOT / "streaming" / "web" / "templates").glob("*.html")):
        text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        yield path.name, re.sub(r"<script.*?</script>|<[^>]*>", " ", text, flags=re.DOTALL)


def said(value: Any, where: str, names: frozenset[str]) -> Texts:
    """The texts under these names in a document of objects and lists."""
    match value:
        case dict():
            for name, inner in value.items():
                if name in names and isinstance(inner, str):
                    yield f"{where}.{name}", inner
                yield from said(inner, f"{where}.{name}", names)
        case list():
            for number, inner in enumerate(value):
                yield from said(inner, f"{where}[{number}]", names)
        case _:
            pass


def api() -> Texts:
    yield from said(document(), "openapi", frozenset({"description", "summary", "title"}))


def metrics() -> Texts:
    for metric in METRICS:
        yield metric.name, metric.help


def panels() -> Texts:
    for place, _ in SHELF:
        value = json.loads((ROOT / "dashboards" / "generated" / place.file).read_text(encoding="utf-8"))
        yield from said(value, place.file, frozenset({"title", "description"}))


def rules() -> Texts:
    for rule in RULES:
        texts = (rule.wrong, rule.meaning, *rule.exceptions, rule.resolves, *(step.text for step in rule.advice))
        yield from ((rule.code, text) for text in texts)
    for own in OWN_ALERTS:
        yield own.name, own.description


def commands() -> Texts:
    """Help of every command, as `--help` shows it."""
    whole = parser()
    yield whole.prog, whole.format_help()
    for action in whole._actions:
        if isinstance(action.choices, dict):
            yield from ((name, one.format_help()) for name, one in action.choices.items())


def logged() -> Texts:
    """First arguments of calls of loggers, and messages of findings."""
    for path in sorted((ROOT / "streaming").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            match node:
                case ast.Call(func=ast.Attribute(attr="info" | "warning" | "error" | "exception"), args=[first, *_]):
                    yield from ((where, text) for text in constants(first))
                case (
                    ast.keyword(arg="message", value=value) | ast.Assign(targets=[ast.Name(id="message")], value=value)
                ):
                    yield from ((where, text) for text in constants(value))
                case _:
                    pass


def audit() -> Texts:
    for suite in SUITES:
        for contract in suite.contracts:
            yield contract.name, contract.says


def identifiers() -> Texts:
    """Names that programs of users compare, each as words: of objects, addresses, tables, metrics and rules."""
    names = [*schema_names(document()["components"]["schemas"]), *(route.path for route in ROUTES)]
    names += [parameter.name for route in ROUTES for parameter in route.parameters]
    names += [name for suite in SUITES for name in (suite.table, *suite.columns)]
    names += [contract.name for suite in SUITES for contract in suite.contracts]
    names += [name for metric in METRICS for name in (metric.name, *metric.labels)]
    names += [name for rule in RULES for name in (rule.title, rule.alert)]
    for name in names:
        yield name, re.sub(r"[_/]|(?<=[a-z])(?=[A-Z])", " ", name)


def schema_names(value: Any) -> Iterator[str]:
    """Fields, values and types of a JSON schema."""
    match value:
        case dict():
            yield from value.get("properties", {})
            yield from (one for one in value.get("enum", ()) if isinstance(one, str))
            if isinstance(value.get("const"), str):
                yield value["const"]
            for inner in value.values():
                yield from schema_names(inner)
        case list():
            for inner in value:
                yield from schema_names(inner)
        case _:
            pass


def constants(node: ast.AST) -> Iterator[str]:
    """Literal pieces of a text; what is put into its gaps is left out."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.JoinedStr(values=values):
            for value in values:
                yield from constants(value)
        case ast.BinOp(left=left, right=right):
            yield from constants(left)
            yield from constants(right)
        case _:
            pass


@cache
def read(source: Callable[[], Texts]) -> tuple[tuple[str, str], ...]:
    """Read once for all patterns."""
    return tuple(source())


@pytest.mark.parametrize("source", [documents, page, api, metrics, panels, rules, commands, logged, audit, identifiers])
def test_people_are_notified(source: Any) -> None:
    found = [(where, text) for where, text in read(source) if NOTIFYING.search(text)]
    assert found == []


@pytest.mark.parametrize("source", [page, api, metrics, panels, rules, logged, audit, identifiers])
def test_connectors_and_tasks_are_rebalanced(source: Any) -> None:
    texts = ((where, OWN_JOB.sub("", text)) for where, text in read(source))
    assert [(where, text) for where, text in texts if CONNECT.search(text)] == []


OWN_JOB = re.compile(r"\b(the|another|streaming|older) (streaming )?job\b( of this database)?", re.IGNORECASE)
"""The process that reads, judges and writes."""


def test_the_patterns_find_what_they_are_for() -> None:
    assert NOTIFYING.search("nobody is told")
    assert NOTIFYING.search("Quiet incidents")
    assert CONNECT.search(OWN_JOB.sub("", "the job restarts two jobs"))
    assert not CONNECT.search(OWN_JOB.sub("", "another job has taken over; the job ends"))
