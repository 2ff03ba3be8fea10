"""What a user says of a Kafka Streams application reaches the fold as plain values."""

from pathlib import Path

import pytest

from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.section import ConfigError
from rebalance_monitor.streaming.core.model.settings import PlugIn, StreamsSettings

START = "clusters:\n- name: a\n  bootstrap_servers: k:9092\n  streams: {app: {"
TEXT = "Topologies:\\n   Sub-topology: 0\\n    Source: S (topics: [in])\\n      --> none\\n"


def application(tmp_path: Path, text: str) -> StreamsSettings:
    path = tmp_path / "monitor.yaml"
    path.write_text(f"{START}{text}}}}}\n", encoding="utf-8")
    return load(path, {}).core_clusters()["a"].streams["app"]


def test_every_value_reaches_the_fold(tmp_path: Path) -> None:
    told = "release: 3.9.1, assignor: legacy_sticky, standbys: 1, warm_ups: 4, acceptable_lag: 20, java_version: 21, "
    more = f'probing_interval_ms: 60000, rack_strategy: none, rack_tags: [zone], topology: "{TEXT}", '
    more += "rack_traffic_cost: 7, rack_non_overlap_cost: 0"
    assert application(tmp_path, told + more) == StreamsSettings(
        release="3.9.1",
        java_version=21,
        assignor="legacy_sticky",
        standbys=1,
        warm_ups=4,
        acceptable_lag=20,
        probing_interval_ms=60_000,
        rack_strategy="none",
        rack_traffic_cost=7,
        rack_non_overlap_cost=0,
        rack_tags=("zone",),
        topology=TEXT.replace("\\n", "\n"),
    )


def test_nothing_said_is_nothing_known(tmp_path: Path) -> None:
    assert application(tmp_path, "") == StreamsSettings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("standbys", "-1"),
        ("warm_ups", "0"),
        ("rack_strategy", "fast"),
        ("rack_traffic_cost", "-1"),
        ("topology", "'in -> out'"),
        ("release", "new"),
    ],
)
def test_a_mistake_is_one_line_that_says_where(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        application(tmp_path, f"{name}: {value}")
    (line,) = str(caught.value).splitlines()
    assert f"clusters[0].streams.app.{name}" in line


def test_a_plug_in_reaches_the_fold(tmp_path: Path) -> None:
    told = "plug_in: {name: 'own:Assignor', path: [/etc/own], configs: {b: 1, a: x}, budget_ms: 50, memory_mib: 256}"
    assert application(tmp_path, told).plug_in == PlugIn(
        name="own:Assignor", path=("/etc/own",), configs=(("a", "x"), ("b", 1)), budget_ms=50, memory_mib=256
    )
    assert application(tmp_path, "plug_in: {name: own}").plug_in == PlugIn(name="own")


def test_what_a_plug_in_is_configured_with_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "monitor.yaml"
    path.write_text(f"{START}plug_in: {{name: own, configs: {{key: hidden}}}}}}}}\n", encoding="utf-8")
    settings = load(path, {})
    assert "hidden" not in settings.model_dump_json()
    assert "hidden" not in repr(settings.core_clusters())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("plug_in: {name: ':Assignor'}", "plug_in.name: must be module:Class, or the name of an entry point"),
        ("plug_in: {name: own, path: [here]}", "plug_in.path[0]: must be a folder from the root on"),
        ("plug_in: {name: own, budget_ms: 0}", "plug_in.budget_ms: must be greater than or equal to 10"),
        ("plug_in: {name: own}, assignor: legacy_sticky", "app: assignor and plug_in are both set"),
        ("plug_in: {name: own}, release: 3.7.2", "app: release 3.7.2 runs no assignor of an application's own"),
    ],
)
def test_a_mistake_about_a_plug_in_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        application(tmp_path, text)
    (line,) = str(caught.value).splitlines()
    assert says in line
