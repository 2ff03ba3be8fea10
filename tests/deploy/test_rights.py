"""The rights that the documents name are those of the KafkaUser, no more and no fewer."""

import re
from typing import Any

import pytest
import yaml

from lab.paths import ROOT

USER: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "strimzi" / "kafka-user.yaml").read_text(encoding="utf-8"))
COMMAND = re.compile(r"kafka-acls\.sh .*--operation (\w+)(.+)$", re.MULTILINE)
Right = tuple[str, str, str]
"""Operation, kind of resource, its name."""


def granted() -> set[Right]:
    """By the KafkaUser."""
    return {
        (operation, one["resource"]["type"], one["resource"].get("name", ""))
        for one in USER["spec"]["authorization"]["acls"]
        for operation in one["operations"]
    }


def documented(page: str) -> set[Right]:
    """By the commands of a page."""
    found: set[Right] = set()
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").replace("\\\n", " ")
    for operation, resources in COMMAND.findall(text):
        for kind, name in re.findall(r"--(topic|group|cluster)(?: ([^\s-]\S*))?", resources):
            found.add((operation, kind, name.strip("'")))
    return found


def test_the_user_has_the_rights_of_the_documents() -> None:
    assert granted() == documented("running.md") | documented("polling.md")


def test_each_command_is_read() -> None:
    for page, commands in (("running.md", 1), ("polling.md", 3), ("sampled.md", 2)):
        assert (ROOT / "docs" / page).read_text(encoding="utf-8").count("kafka-acls.sh") == commands
        assert documented(page)
    assert documented("sampled.md") < documented("polling.md"), "what is asked for there is asked for here, too"


@pytest.mark.parametrize("operation", ["Write", "Create", "Delete", "Alter", "All"])
def test_the_user_changes_nothing(operation: str) -> None:
    assert operation not in {each for each, _, _ in granted()}


def test_the_topics_of_connect_are_those_of_the_first_example() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:config|status)_topic: (\S+)", page))
    read = {name for operation, kind, name in granted() if (operation, kind) == ("Read", "topic")}
    assert read == named | {"__consumer_offsets"}
