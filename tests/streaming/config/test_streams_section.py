"""What a user says of a Kafka Streams application reaches the fold as plain values."""

from pathlib import Path

import pytest

from rebalance_monitor.streaming.config import ConfigError, load
from rebalance_monitor.streaming.core.model.streams_settings import StreamsSettings

START = "clusters:\n- name: a\n  bootstrap_servers: k:9092\n  streams: {app: {"
TEXT = "Topologies:\\n   Sub-topology: 0\\n    Source: S (topics: [in])\\n      --> none\\n"


def application(tmp_path: Path, text: str) -> StreamsSettings:
    path = tmp_path / "monitor.yaml"
    path.write_text(f"{START}{text}}}}}\n", encoding="utf-8")
    return load(path, {}).core_clusters()["a"].streams["app"]


def test_every_value_reaches_the_fold(tmp_path: Path) -> None:
    told = "release: 3.9.1, assignor: legacy_sticky, standbys: 1, warm_ups: 4, acceptable_lag: 20, java_version: 21, "
    more = f'probing_interval_ms: 60000, rack_strategy: none, rack_tags: [zone], topology: "{TEXT}"'
    assert application(tmp_path, told + more) == StreamsSettings(
        release="3.9.1",
        java_version=21,
        assignor="legacy_sticky",
        standbys=1,
        warm_ups=4,
        acceptable_lag=20,
        probing_interval_ms=60_000,
        rack_strategy="none",
        rack_tags=("zone",),
        topology=TEXT.replace("\\n", "\n"),
    )


def test_nothing_said_is_nothing_known(tmp_path: Path) -> None:
    assert application(tmp_path, "") == StreamsSettings()


@pytest.mark.parametrize(
    ("name", "value"),
    [("standbys", "-1"), ("warm_ups", "0"), ("rack_strategy", "fast"), ("topology", "'in -> out'"), ("release", "new")],
)
def test_a_mistake_is_one_line_that_says_where(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        application(tmp_path, f"{name}: {value}")
    (line,) = str(caught.value).splitlines()
    assert f"clusters[0].streams.app.{name}" in line
