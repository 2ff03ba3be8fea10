"""Every rule is broken alone once, and every legitimate exception of a rule passes in silence."""

import inspect
import re
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.connect.rules import remembering
from rebalance_monitor.streaming.core.connect.rules.examine import LAWS
from rebalance_monitor.streaming.core.lifecycles import REGISTRY
from rebalance_monitor.streaming.core.model.results import Incident, Severity
from tests.streaming.core.rules.builders import incidents
from tests.streaming.core.rules.cases import Broken, Case, NearMiss

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))
CASES: tuple[Case, ...] = tuple(
    case for module in MODULES for case in import_module(f"tests.streaming.core.rules.{module}").CASES
)
BROKEN = [case for case in CASES if isinstance(case, Broken)]
NEAR_MISSES = [case for case in CASES if isinstance(case, NearMiss)]
CATALOGUE = {rule.code: rule for rule in RULES}
ORDER = list(Severity)


@cache
def broken(case: Broken) -> list[Incident]:
    """Every transition that the story tells; told once for all tests."""
    return incidents(case.story().fold())


def worse(severity: Severity, other: Severity) -> bool:
    return ORDER.index(severity) < ORDER.index(other)


def test_codes_are_unique() -> None:
    assert [code for code, count in Counter(rule.code for rule in RULES).items() if count > 1] == []


def test_the_catalogue_has_the_rules_of_every_lifecycle() -> None:
    """It lists them without loading what judges; the fold knows those of its lifecycles."""
    assert REGISTRY.catalogue.rules == RULES


def test_every_rule_is_broken_somewhere() -> None:
    """Of a rule about the monitor itself no story can tell: no record may make the fold fail."""
    about_clusters = {code for code in CATALOGUE if not code.startswith("MONITOR-")}
    assert sorted(about_clusters - {case.code for case in BROKEN}) == []


def test_a_rule_with_a_deadline_has_a_law_that_ends_it() -> None:
    """The next record ends an incident only if a law names its rule."""
    named = set(re.findall(r"DueFinding\(rule=([A-Z_]+)", inspect.getsource(remembering.deadlines)))
    assert len(named) > 3
    with_deadline = {getattr(remembering, name).code for name in named}
    assert sorted(with_deadline - {rule.code for law in LAWS for rule in law.rules}) == []


def test_every_exception_has_its_near_miss_and_no_other() -> None:
    declared = {(rule.code, exception) for rule in RULES for exception in rule.exceptions}
    told = {(case.code, case.exception) for case in NEAR_MISSES}
    assert sorted(declared ^ told) == []


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_the_rule_alone_is_broken_and_reported_once(case: Broken) -> None:
    found = broken(case)
    opened = [one for one in found if one.transition == "opened"]
    of_the_rule = [one for one in opened if one.code == case.code]
    assert len(of_the_rule) == 1, f"{case.code} opens {len(of_the_rule)} incidents here, not one; see its law"
    mine = of_the_rule[0]
    rule = CATALOGUE[case.code]
    assert mine.rule == rule.title
    assert tuple(f"{one.type} {one.id}" for one in mine.subjects) == case.subjects
    assert min((one.severity for one in found if one.code == case.code), key=ORDER.index) == case.severity
    assert any(evidence.source is not None for evidence in mine.evidence)
    assert case.says in mine.message
    assert not rule.issues_fit or all(issue in mine.message for issue in rule.issues)
    others = {one.code for one in opened if worse(one.severity, Severity.INFO)} - {case.code}
    assert others == case.along


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_what_goes_on_is_told_as_since(case: Broken) -> None:
    """A message stands until the incident ends: the duration of what goes on would be wrong a minute later."""
    for one in broken(case):
        for text in (one.message, *(evidence.text or "" for evidence in one.evidence)):
            assert not re.search(r"\b(for|in) (about )?\d+ (ms|s|min)\b", text)


@pytest.mark.parametrize("case", NEAR_MISSES, ids=lambda case: case.name)
def test_the_exception_is_not_reported(case: NearMiss) -> None:
    found = incidents(case.story().fold(), case.code)
    assert [one for one in found if case.at_most is None or worse(one.severity, case.at_most)] == []
