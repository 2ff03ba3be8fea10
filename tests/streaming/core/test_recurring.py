"""A harm that is over in a second, and comes again and again: once it is history, three times in an hour it is told."""

from rebalance_monitor.streaming.core.fold.recurring import WITHIN_MS
from rebalance_monitor.streaming.core.incidents.rule import MINUTE_MS
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases_consumer import COOPERATIVE
from tests.streaming.core.rules.consumers import record, shares
from tests.streaming.core.test_consumer_waits import Live

EARLY = "CONSUMER-C03"
TAKEN = shares(m1="a-0", m2="a-1", held={"m1": "a-0 a-1"})
WELL = shares(m1="a-0", m2="a-1", held={"m1": "a-0", "m2": "a-1"})
BRIEFLY = [(EARLY, "opened"), (EARLY, "resolved")]


def begun() -> Live:
    return Live(record(Story(), COOPERATIVE, *WELL))


def taken_early(live: Live, after_ms: int = 10 * MINUTE_MS) -> list[tuple[str, str]]:
    """For a second, ended by the next generation."""
    record(live.story, COOPERATIVE, *TAKEN, after_ms=after_ms)
    record(live.story, COOPERATIVE, *WELL, after_ms=1_000)
    return [one for one in live.goes_on() if one[0] == EARLY]


def test_one_that_is_over_in_a_second_is_history() -> None:
    live = begun()
    assert taken_early(live) == BRIEFLY
    assert live.goes_on(WITHIN_MS) == []


def test_one_that_lasts_is_notified_as_ever() -> None:
    live = begun()
    record(live.story, COOPERATIVE, *TAKEN)
    assert {(EARLY, "opened"), (EARLY, "fired")} <= set(live.goes_on(5 * MINUTE_MS))


def test_the_third_within_an_hour_is_notified_until_an_hour_after_the_last() -> None:
    live = begun()
    assert taken_early(live) + taken_early(live) == 2 * BRIEFLY
    assert (EARLY, "resolved") not in taken_early(live)[1:]
    assert live.goes_on(5 * MINUTE_MS) == [(EARLY, "fired")]
    assert "found in 3 generations within" in live.incident().message
    assert live.goes_on(WITHIN_MS - 1_001) == []
    assert live.goes_on(WITHIN_MS - 1_000)[0] == (EARLY, "resolved")


def test_three_in_more_than_an_hour_are_history() -> None:
    live = begun()
    for _ in range(5):
        assert taken_early(live, after_ms=31 * MINUTE_MS) == BRIEFLY


def test_a_generation_in_between_does_not_end_it() -> None:
    live = begun()
    for _ in range(3):
        taken_early(live)
    record(live.story, COOPERATIVE, *WELL, after_ms=20 * MINUTE_MS)
    assert (EARLY, "resolved") not in live.goes_on()
