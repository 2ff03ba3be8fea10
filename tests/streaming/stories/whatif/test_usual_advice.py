"""Settings that need no value: which are asked about, which are worth a line, and how much is looked at."""

from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.whatif import usual_advice
from rebalance_monitor.streaming.stories.whatif.advice import AskedHistory
from rebalance_monitor.streaming.stories.whatif.advice_words import STANDBYS
from rebalance_monitor.streaming.stories.whatif.streams_history import StreamsSetting
from rebalance_monitor.streaming.stories.whatif.usual_advice import (
    lines_of_others,
    looked_at,
    notes_on,
    settings_of,
    usual_object,
    worth_it,
)

VECTORS = Path(__file__).parents[3] / "vectors"


def told(capture: str, group: str, most_held: int = usual_advice.MOST_HELD) -> dict[str, Any]:
    source = capture_of(str(VECTORS / capture))
    (key,) = (one for one in source.names() if one[1] == group)
    found, whole = looked_at(source.generations(key), most_held)
    return usual_object(AskedHistory(*key, found, whole=whole, until_ms=source.at_ms, there=False), 0)


def placed_by(standbys: int) -> dict[str, Any]:
    return {"streams": {"placed_by": {"standbys": standbys, "warm_ups": 2, "acceptable_lag": 10_000, "ends": {}}}}


def of(protocol: str, protocol_type: str = "consumer", lifecycle: str = "classic") -> list[dict[str, Any]]:
    return [{"lifecycle": lifecycle, "protocol": protocol, "protocol_type": protocol_type}]


@pytest.mark.parametrize(
    ("generations", "settings"),
    [
        ([], []),
        (of("uniform", lifecycle="consumer"), []),
        (of("default", "connect"), ["sessioned"]),
        (of("sessioned", "connect"), ["4.3"]),
        (of("range"), ["static", "roundrobin", "sticky", "cooperative-sticky"]),
        (of("cooperative-sticky"), ["static"]),
        (of("stream"), ["static"]),
        ([of("stream")[0] | placed_by(1)], ["static"]),
        ([of("stream")[0] | placed_by(0)], ["static", "num.standby.replicas"]),
    ],
)
def test_what_is_asked_about(generations: list[dict[str, Any]], settings: list[str]) -> None:
    """From cooperative-sticky nobody is led back to an assignor for which everybody stops."""
    asked = [
        one.assignor
        or ("static" if one.static else one.connect.protocol or one.connect.release)
        or (STANDBYS if one.streams == StreamsSetting(standbys=1) else None)
        for one in settings_of(generations)
    ]
    assert asked == settings


def test_what_would_have_been_saved_is_a_line_with_what_it_would_have_cost() -> None:
    (line,) = worth_it(told("captures/compatible-2.8.2", "compat-282"))
    assert line == (
        "With Kafka 4.3: rebalances that left workers with tasks that differ by more than one: 0 instead of 4; but"
        " connectors and tasks that workers gained: 62 instead of 58; connectors and tasks that workers that stayed had"
        " to stop: 12 instead of 10; time without a worker, all connectors and tasks together: 91 s instead of 84 s",
        "24 rebalances computed",
    )


def test_what_would_have_saved_nothing_is_no_line() -> None:
    answer = told("captures/sessioned-4.3.1", "connect-main")
    assert worth_it(answer) == []
    assert list(lines_of_others(answer)) == ["Less than 10 % of each figure would have been saved with Kafka 4.3."]


def test_a_tenth_is_worth_a_line_and_less_is_not() -> None:
    def line(recorded: int, most: int) -> list[tuple[str, str]]:
        figures = {
            "recorded": {"rebalances": recorded},
            "computed": {"rebalances": [0, most]},
            "left_out": {},
            "words": {"rebalances": "x"},
        }
        return worth_it({"settings": [{"answer": {"title": "x", **figures}}]})

    assert (len(line(100, 90)), len(line(100, 91)), len(line(0, 0))) == (1, 0, 0)


def test_the_newest_generations_are_looked_at_and_that_there_were_more_is_said() -> None:
    whole = told("captures-groups/java-classic", "j-range")
    assert (whole["all"], notes_on(whole)) == (True, [])
    part = told("captures-groups/java-classic", "j-range", most_held=100)
    assert part["all"] is False
    assert 1 < part["generations"] < whole["generations"]
    assert notes_on(part) == [f"There were more: only the newest {part['generations']} generations were looked at."]
    assert told("captures-groups/java-classic", "j-range", most_held=0)["generations"] == 1, "at least one"


def test_why_nothing_is_known_is_said_once_for_all_settings_that_it_holds_for() -> None:
    answer = told("captures-groups/java-classic", "j-range", most_held=0)
    assert list(lines_of_others(answer)) == [
        "Cannot tell with static members: the group's members are static already.",
        "Cannot tell with roundrobin, sticky, cooperative-sticky: no rebalance can be computed (there was none).",
    ]
