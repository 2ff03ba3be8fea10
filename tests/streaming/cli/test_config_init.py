"""The configuration that is written for a cluster is sound, whatever its groups and topics are called."""

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.config_init import DSN, file_lines
from rebalance_monitor.streaming.config.clusters import ClusterSection
from rebalance_monitor.streaming.config.loading import checked
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.reading.snapshots import Snapshot

SECTION = ClusterSection.model_validate(
    {
        "name": "own",
        "bootstrap_servers": "kafka-1:9092",
        "client": {"security.protocol": "SASL_SSL", "sasl.password": "planted"},
    }
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
LEGAL = st.from_regex(r"[a-z.\-]{1,8}(-configs?|-status)?", fullmatch=True)


def written(groups: list[Snapshot], topics: list[str]) -> tuple[str, ClusterSection]:
    text = "\n".join(file_lines(SECTION, groups, topics))
    (section,) = checked(Settings, yaml.safe_load(text), "it").clusters
    return text, section


def connect(group: str) -> Snapshot:
    return Snapshot(group, "Stable", "connect", "sessioned")


@given(st.lists(NAMES, unique=True, max_size=3), st.lists(NAMES, unique=True, max_size=3), st.lists(LEGAL, max_size=4))
@example(["a: b", "# c", "null", "1.0", "it's", "ü\n"], ["yes", '"'], [])
def test_every_group_is_in_it_as_it_is_called(workers: list[str], apps: list[str], topics: list[str]) -> None:
    groups = [*map(connect, workers), *(Snapshot(app, "Stable", "consumer", "stream") for app in apps)]
    text, section = written(groups, topics)
    assert list(section.connect) == [name for name in workers if name.isprintable()]
    assert list(section.streams) == [name for name in apps if name.isprintable()]
    assert "planted" not in text


def test_topics_are_named_where_only_one_can_be_it() -> None:
    _, section = written([connect("sinks")], ["sinks-configs", "other-configs", "kafka-connect-status"])
    assert section.connect["sinks"].config_topic == "sinks-configs"
    assert section.connect["sinks"].status_topic == "kafka-connect-status"


def test_where_several_can_be_it_they_are_listed_and_none_is_chosen() -> None:
    text, section = written([connect("sinks")], ["a-configs", "b-config"])
    assert section.connect["sinks"].config_topic is None
    assert "config_topic:  # one of a-configs, b-config" in text
    assert "status_topic:  # no topic's name ends with -status or -statuses" in text


def test_groups_that_need_no_entry_are_counted() -> None:
    text, section = written([Snapshot("orders", "Empty", "consumer", ""), Snapshot("x", "Stable", "other", "y")], [])
    assert "Other groups that were found: 2. They need no entry." in text
    assert (section.connect, section.streams) == ({}, {})


def test_the_file_is_sound_as_it_is_written_where_the_environment_names_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the tutorial's fourth step has it: no command of it ends with an error."""
    path = tmp_path / "monitor.yaml"
    section = ClusterSection.model_validate({"name": "own", "bootstrap_servers": "kafka-1:9092"})
    path.write_text("\n".join(file_lines(section, [connect("sinks")], [])), encoding="utf-8")
    assert main(["config", "check", "--config", str(path)]) == 2
    assert "database.dsn is missing" in capsys.readouterr().err
    monkeypatch.setenv(DSN, "postgresql://monitor@db/monitor")
    assert main(["config", "check", "--config", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: sound; clusters: own\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--bootstrap-servers", "nowhere"], "--bootstrap-servers: bootstrap_servers: "),
        ([], "config init asks one cluster; name it with --bootstrap-servers"),
        (["--bootstrap-servers", "127.0.0.1:1"], "127.0.0.1:1: the brokers did not describe their groups"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["config", "init", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"rebalance-monitor: {sentence}"), line
