"""Every object that a replay prints has the shape that its JSON Schema states."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core import replay as replay_module
from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.printed import schema
from rebalance_monitor.streaming.core.model.published import as_object
from tests.profile import size
from tests.streaming import builders
from tests.vector_files import VECTORS

CAPTURES = [path for kind in ("captures", "captures-groups") for path in sorted((VECTORS / kind).iterdir())]
VALIDATOR = Draft202012Validator(schema())


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_replayed_objects_obey_the_schema(path: Path) -> None:
    kinds: dict[str, list[Any]] = defaultdict(list)
    for published in replay_module.replay(records_of(path), settings_of(path)).objects:
        kinds[published["kind"]].append(published)
    for some in kinds.values():
        for published in some[:: size(4, 1)]:
            VALIDATOR.validate(json.loads(json.dumps(published)))


def test_the_schema_refuses_what_it_does_not_know() -> None:
    bad = {"kind": "undecodable", "cluster": "c", "source": None, "reason": "r", "bytes": 1}
    assert not VALIDATOR.is_valid(bad)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_schema_takes_an_incident_of_every_rule(rule: Rule) -> None:
    VALIDATOR.validate(as_object(builders.incident(rule=rule.title, code=rule.code)))
