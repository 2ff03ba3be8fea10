"""Real clusters: the laws of one record report what really happened, and nothing else.

Only the capture with frozen workers has something to report. Workers stood still for longer than their session, lost
their jobs to others and came back with them: in generations 11, 14 and 20, as the capture's own events tell, and each
time the leader took the jobs from everybody who had them.
"""

from typing import Any

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import replay
from tests.vector_files import CAPTURES

NAMES = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir())
ZOMBIES = {11: 3, 14: 5, 20: 5}


def found(name: str, *, use_settings: bool) -> list[dict[str, Any]]:
    path = CAPTURES / name
    settings = settings_of(path) if use_settings else ClusterSettings(name=name)
    objects = replay(records_of(path), settings).objects
    return [one for one in objects if one.get("code", "").startswith(("CONNECT-I", "CONNECT-S", "CONNECT-P"))]


@pytest.mark.parametrize("use_settings", [True, False], ids=["settings", "no-settings"])
@pytest.mark.parametrize("name", NAMES)
def test_only_zombies_are_reported(name: str, use_settings: bool) -> None:
    violations = found(name, use_settings=use_settings)
    if name != "zombie":
        assert violations == []
        return
    assert {(one["code"], one["rule"], one["severity"]) for one in violations} == {
        ("CONNECT-I2", "duplicate_active", "medium")
    }
    assert {one["opened_generation"]: len(one["parts"]) for one in violations} == ZOMBIES
    assert len(ZOMBIES) == len(violations)
    assert all(one["resolved_at_ms"] is not None for one in violations)
    assert all("KAFKA-9184" in one["message"] for one in violations)
