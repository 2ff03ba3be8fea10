"""Real applications whose processes come and go all the time: every generation is judged, and nothing is an alarm."""

from collections import Counter
from functools import cache
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import replay
from tests.vector_files import GROUP_CAPTURES

CAPTURE = GROUP_CAPTURES / "streams-churn"
CLOCK_MS = 1_500
"""The leader's clock and the coordinator's are one here; a thread looks at it now and then."""
LAG, TOPOLOGY, STICKY = "s11-6-none", "s12-2-topology", "s13-4-sticky"


@cache
def found(*, told: bool) -> list[dict[str, Any]]:
    """What `replay` prints; `told`: with what the capture says of the applications and their topics."""
    settings = settings_of(CAPTURE) if told else ClusterSettings(name="c")
    if not told:
        return replay(records_of(CAPTURE), settings).objects
    return replay(records_of(CAPTURE), settings, knowledge=knowledge_of(CAPTURE)).objects


def grades(group: str, *, told: bool = True) -> Counter[str]:
    return Counter(
        one["verdict"]["grade"]
        for one in found(told=told)
        if one["kind"] == "generation" and one["group"] == group and one["members"]
    )


@pytest.mark.parametrize("told", [True, False])
def test_nothing_is_an_alarm(told: bool) -> None:
    """But for one process that is restarted again and again for minutes: by the records that is a crash loop."""
    alarms = [one for one in found(told=told) if one["kind"] == "violation" and one["severity"] != "info"]
    assert [(one["group"], one["rule"]) for one in alarms] == [(TOPOLOGY, "crash_loop")]
    assert not any(grades(group, told=told)["unexplained"] for group in (LAG, TOPOLOGY, STICKY))


@pytest.mark.parametrize("group", [LAG, TOPOLOGY, STICKY])
def test_every_generation_is_judged(group: str) -> None:
    assert grades(group).keys() == {"match", "explainable"}


def test_no_move_comes_before_the_time_that_is_told_for_it() -> None:
    """Threads that give partitions up, or are told to, join again at once: what has caught up by then moves."""
    earliest: dict[str, tuple[set[str], int]] = {}
    compared = 0
    for one in found(told=True):
        if one["kind"] != "generation" or not one["members"]:
            continue
        members = {member["member_id"] for member in one["members"]}
        progress = one["streams"]["progress"] or {"moves_left": None, "not_before_ms": None}
        before, not_before_ms = earliest.get(one["group"], (set(), 0))
        if members == before and progress["moves_left"] == 0:
            compared += 1
            assert one["at_ms"] + CLOCK_MS >= not_before_ms, (one["group"], one["generation"])
        told_ms = progress["not_before_ms"] or 0
        earliest[one["group"]] = members, max(told_ms, not_before_ms if members == before else 0)
    assert compared > 5
