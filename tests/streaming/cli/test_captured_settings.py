"""What `capture` writes of a configuration is what the configuration says, without what its reader has no use for."""

import json
from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli.capture import described
from rebalance_monitor.streaming.cli.captures import settings_of
from rebalance_monitor.streaming.cli.exit_codes import InputError
from rebalance_monitor.streaming.config.clusters import ClusterSection

SECTION = ClusterSection.model_validate(
    {
        "name": "own",
        "bootstrap_servers": "kafka.example.org:9092",
        "client": {"sasl.password": "planted"},
        "connect": {
            "c": {"config_topic": "c-cfg", "max_delay_ms": 0, "placements": {"job-1": ["w1:8083"]}},
            "guessed": {},
        },
        "streams": {"app": {"release": "4.3.1", "standbys": 1, "rack_tags": ["zone"]}},
        "client_libraries": {"go-*": "franz-go"},
        "own_assignors": {"g": ["shares"]},
        "session_timeout_ms": 20_000,
    }
)  # fmt: skip


def test_it_is_read_as_it_was(tmp_path: Path) -> None:
    text = json.dumps(described(SECTION))
    (tmp_path / "cluster.json").write_text(text)
    assert settings_of(tmp_path) == SECTION.core()
    assert "planted" not in text
    assert "example.org" not in text


def test_a_plug_in_is_not_in_it(tmp_path: Path) -> None:
    """A capture is sent around: whoever judges it runs no code of its own."""
    section = ClusterSection.model_validate(
        {
            "name": "own",
            "bootstrap_servers": "k:1",
            "streams": {"app": {"plug_in": {"name": "m:A", "configs": {"k": 1}}}},
        }
    )
    assert described(section) == {"capture": "own", "settings": {"name": "own", "streams": {"app": {}}}}
    for settings, sentence in (
        ({"streams": {"app": {"plug_in": {"name": "m:A"}}}}, "streams names a plug-in, and a capture runs no code"),
        ({"coordinator_log": {"files": ["/var/log/x"]}}, "coordinator_log is no part of a capture; remove it"),
    ):
        (tmp_path / "cluster.json").write_text(json.dumps({"settings": settings}))
        with pytest.raises(InputError, match=sentence):
            settings_of(tmp_path)


def test_a_mistake_in_it_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text('{"settings": {"connect": {"c": {"release_": 1}}}}')
    with pytest.raises(InputError, match=r"cluster.json: connect.c.release_: this key is unknown; remove"):
        settings_of(tmp_path)
