"""A capture that was taken without time stamps: what a group's record says of its own time is its clock."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.replay import HARMFUL, replay
from tests.vector_files import CAPTURES

CAPTURE = CAPTURES / "sessioned-4.3.1"
SETTINGS = settings_of(CAPTURE)


@pytest.mark.parametrize("none", [0, -1])
def test_the_records_own_time_is_taken(none: int) -> None:
    told = replay([replace(one, timestamp_ms=none) for one in records_of(CAPTURE)], SETTINGS)
    harmful = {str(severity) for severity in HARMFUL}
    assert told.objects[-1]["grades"]["unexplained"] == 0
    found = [one for one in told.objects if one["kind"] == "violation" and one["severity"] in harmful]
    # A connector of the capture fails on purpose; its own status says so.
    assert not [one["message"] for one in found if one["rule"] != "failed"]
