"""The rights that the configuration declares are those of the KafkaUser, no more and no fewer."""

import re
from typing import Any

import pytest
import yaml

from lab.paths import ROOT
from rebalance_monitor.streaming.config.rights import CLUSTER_NAME, rights_of
from rebalance_monitor.streaming.config.settings import Settings

USER: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "strimzi" / "kafka-user.yaml").read_text(encoding="utf-8"))
Right = tuple[str, str, str]
"""Operation, kind of resource, its name; the only cluster has none."""


def granted() -> set[Right]:
    """By the KafkaUser."""
    return {
        (operation, one["resource"]["type"], one["resource"].get("name", ""))
        for one in USER["spec"]["authorization"]["acls"]
        for operation in one["operations"]
    }


def example() -> Settings:
    """The configuration that README begins with."""
    (block,) = re.findall(r"^    clusters:\n(?:    .*\n|\n)+", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    return Settings.model_validate(yaml.safe_load(re.sub(r"^    ", "", block, flags=re.M)))


def test_the_user_has_the_rights_that_the_first_example_needs() -> None:
    settings = example()
    (cluster,) = settings.clusters
    needed = {
        (right.kind.operation.value, right.kind.resource.value, "" if right.name == CLUSTER_NAME else right.name)
        for right in rights_of(settings, cluster)
    }
    assert granted() == needed


@pytest.mark.parametrize("operation", ["Write", "Create", "Delete", "Alter", "All"])
def test_the_user_changes_nothing(operation: str) -> None:
    assert operation not in {each for each, _, _ in granted()}
