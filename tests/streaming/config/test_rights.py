"""The declared rights: what a configuration needs, the commands that grant it, and the page that lists it."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.config.rights import ALL, CLUSTER_NAME, KINDS, AclOperation, markdown, rights_of
from rebalance_monitor.streaming.config.settings import Settings

DOCS = Path(__file__).parents[3] / "docs"


def needed(cluster: dict[str, Any], **sections: Any) -> list[tuple[str, str, str]]:
    told = {"clusters": [{"name": "a", "bootstrap_servers": "k:9092", **cluster}], **sections}
    settings = Settings.model_validate(told)
    found = rights_of(settings, settings.clusters[0])
    return [(str(one.kind.operation), str(one.kind.resource), one.name) for one in found]


ASKED = [("Describe", "topic", ALL), ("Describe", "group", ALL), ("Describe", "cluster", CLUSTER_NAME)]


def test_each_configuration_needs_its_own_rights() -> None:
    log = ("Read", "topic", "__consumer_offsets")
    assert needed({}) == [log, *ASKED]
    assert needed({"source": "poll"}) == ASKED
    connect = {"sinks": {"status_topic": "states"}, "others": {"config_topic": "c", "status_topic": "states"}}
    topics = [("Read", "topic", name) for name in ("sinks-configs", "states", "c")]
    assert needed({"connect": connect}) == [log, *topics, *ASKED]
    logs = {"coordinator_log": {"topic": "kafka-logs"}}
    assert needed(logs) == [log, ("Read", "topic", "kafka-logs"), *ASKED]
    nothing = {"topics": False, "group_states": False, "progress": False}
    assert needed({}, polling=nothing) == [log]
    assert needed({"source": "poll"}, polling=nothing) == ASKED[1:]
    assert needed({}, source={"offsets_topic": "mirror.offsets"})[0] == ("Read", "topic", "mirror.offsets")


def test_no_right_lets_it_write() -> None:
    assert {one.operation for one in KINDS} == {AclOperation.READ, AclOperation.DESCRIBE}


def test_the_commands_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "monitor.yaml"
    secured = {"sasl.username": "watch er", "sasl.password": "hush"}
    told = {"clusters": [{"name": "a", "bootstrap_servers": "k:9092", "client": secured, "source": "poll"}]}
    path.write_text(yaml.safe_dump(told))
    assert main(["config", "rights", "--config", str(path)]) == 0
    heading, *commands = capsys.readouterr().out.splitlines()
    assert heading == "# cluster a"
    begin = ["kafka-acls.sh", "--bootstrap-server", "k:9092", "--add", "--allow-principal", "User:watch er"]
    rests = [["--topic", "*"], ["--group", "*"], ["--cluster"]]
    assert list(map(shlex.split, commands)) == [[*begin, "--operation", "Describe", *rest] for rest in rests]
    assert main(["config", "rights", "--config", str(path), "--principal", "User:CN=monitor"]) == 0
    assert "--allow-principal User:CN=monitor " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--principal", "monitor"], "--principal 'monitor' must be a type and a name, such as User:monitor\n"),
        ([], "clusters is empty, so no right is needed; list at least one cluster\n"),
    ],
)
def test_what_cannot_be_printed_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    path = tmp_path / "monitor.yaml"
    path.write_text("{}")
    assert main(["config", "rights", "--config", str(path), *words]) == 2
    assert capsys.readouterr().err.endswith(sentence)


def test_the_page_lists_every_right() -> None:
    assert markdown() in (DOCS / "security.md").read_text(encoding="utf-8")
