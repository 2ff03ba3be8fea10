"""Near misses of rules about time: two coordinators wrote the records, and their clocks differ."""

from dataclasses import replace

from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import NearMiss
from tests.streaming.core.rules.cases_across import DELAY_MS, MINUTE_MS, calm, departure

CLOCKS = "by the clocks of two coordinators only, and over: info"


def stamped_by_another(story: Story, ms: int) -> Story:
    """The last record is written by a coordinator whose clock is ahead by so much."""
    last = story.rows[-1]
    assert isinstance(last.body, GroupGeneration)
    body = replace(last.body, state_ms=last.body.state_ms + ms)
    story.rows[-1] = replace(last, timestamp_ms=last.timestamp_ms + ms, body=body)
    return story


def handed_out_under_another_clock() -> Story:
    story = departure()
    story.rebalance(after_ms=DELAY_MS + 50)
    return stamped_by_another(story, 20 * MINUTE_MS)


def followed_up_under_another_clock() -> Story:
    story = calm()
    story.join("w3")
    story.rebalance()
    story.rebalance()
    return stamped_by_another(story, 20 * MINUTE_MS)


def the_rest_of_the_delay_under_another_clock() -> Story:
    story = departure()
    story.rebalance(after_ms=20_000)
    return stamped_by_another(story, 100_000)


CASES = (
    NearMiss(code="CONNECT-K5", exception=CLOCKS, story=handed_out_under_another_clock, at_most=Severity.INFO),
    NearMiss(code="CONNECT-K6", exception=CLOCKS, story=handed_out_under_another_clock, at_most=Severity.INFO),
    NearMiss(
        code="CONNECT-K7",
        exception="the clocks of two coordinators differ, the leader's own has gone on",
        story=the_rest_of_the_delay_under_another_clock,
    ),
    NearMiss(code="CONNECT-K14", exception=CLOCKS, story=followed_up_under_another_clock, at_most=Severity.INFO),
)
