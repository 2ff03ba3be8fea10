"""conf/default.yaml says what the code does: every key, its default, and one comment."""

import re
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from rebalance_monitor.streaming.config.clusters import ClusterSection, ConnectSection, StreamsSection
from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.settings import Settings

PATH = Path(__file__).parents[3] / "conf" / "default.yaml"


def example() -> dict[str, Any]:
    """The commented-out cluster entry, as YAML."""
    lines = PATH.read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("#- name"))
    entry = [line[1:] for line in takewhile(lambda line: line.startswith("#"), lines[start:])]
    text = "\n".join(entry).replace("connect: {}", "connect:").replace("streams: {}", "streams:")
    clusters: list[dict[str, Any]] = yaml.safe_load(text)
    (cluster,) = clusters
    return cluster


def defaults(section: type[BaseModel]) -> dict[str, object]:
    fields = section.model_fields.items()
    return {name: None if f.is_required() else f.get_default(call_default_factory=True) for name, f in fields}


def test_the_file_equals_the_code() -> None:
    assert yaml.safe_load(PATH.read_text(encoding="utf-8")) == Settings().model_dump(mode="json")
    assert load(PATH, {}) == Settings()


def test_the_example_names_every_key_of_a_cluster_with_its_default() -> None:
    cluster = example()
    (connect,) = cluster.pop("connect").values()
    assert connect == defaults(ConnectSection)
    (streams,) = cluster.pop("streams").values()
    assert streams == defaults(StreamsSection)
    expected = defaults(ClusterSection)
    assert set(cluster) == set(expected) - {"connect", "streams"}
    optional = {"client", "session_timeout_ms", "rebalance_timeout_ms"}
    assert {k: cluster[k] for k in optional} == {k: expected[k] for k in optional}


def test_the_other_examples_are_valid_once_uncommented() -> None:
    lines = PATH.read_text(encoding="utf-8").splitlines()
    for name in ("groups", "maintenance"):
        start = next(n for n, line in enumerate(lines) if line.startswith(f"{name}:")) + 1
        entry = [line[1:] for line in takewhile(lambda line: line.startswith("#"), lines[start:])]
        assert len(getattr(Settings.model_validate({name: yaml.safe_load("\n".join(entry))}), name)) == 1


def test_every_key_has_its_comment() -> None:
    keys = [line for line in PATH.read_text(encoding="utf-8").splitlines() if re.match(r"[# -]*[a-z_]+: +\S", line)]
    assert len(keys) > 30
    assert [line for line in keys if not re.search(r"\S +# \w", line)] == []
