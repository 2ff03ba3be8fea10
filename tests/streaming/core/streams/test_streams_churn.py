"""Real applications whose processes come and go all the time: every generation is judged, and nothing is an alarm."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import replay

CAPTURE = Path(__file__).parents[3] / "vectors" / "captures-groups" / "streams-churn"
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
    assert [one for one in found(told=told) if one["kind"] == "violation" and one["severity"] != "info"] == []
    assert not any(grades(group, told=told)["unexplained"] for group in (LAG, TOPOLOGY, STICKY))


@pytest.mark.parametrize("group", [LAG, TOPOLOGY, STICKY])
def test_every_generation_is_judged(group: str) -> None:
    assert grades(group).keys() == {"match", "explainable"}
