"""The time of the probing rebalance: what the leader's clock and its interval allow, and what its deadlines tell."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.clocks.span import FARTHEST_MS, SKEW_MS
from rebalance_monitor.streaming.core.model.results import Certainty, Grade
from rebalance_monitor.streaming.core.streams.catalogue_placement import DEADLINE_CARRIER
from tests.streaming.core.rules.builders import Story, generations, incidents
from tests.streaming.core.rules.cases_streams_record import KNOWN
from tests.streaming.core.rules.streams import Thread, group, record

INTERVAL_MS = 600_000
KNOWN_INTERVAL = replace(KNOWN, probing_interval_ms=INTERVAL_MS)
ALONE = (Thread(id="a1", active="1_0", sums="1_0:-2"), Thread(id="b1", active="1_1", sums="1_1:-2"))


def probes(*aheads_ms: int) -> Story:
    """The first copy warms up; each deadline is so much ahead of its record."""
    story = group(ALONE, known=KNOWN_INTERVAL)
    for ahead_ms in aheads_ms:
        story.now_ms += INTERVAL_MS
        threads = (
            Thread(id="a1", active="1_0", sums="1_0:-2", next_ms=story.now_ms + 5_000 + ahead_ms),
            Thread(id="b1", active="1_1", standby="1_0", sums="1_0:5 1_1:-2"),
        )
        record(story, *threads)
    return story


def transitions(story: Story) -> list[str]:
    return [one.transition for one in incidents(story.fold(), DEADLINE_CARRIER.code) if one.transition != "fired"]


@pytest.mark.parametrize("ahead_ms", [INTERVAL_MS, INTERVAL_MS - SKEW_MS - 20, INTERVAL_MS + SKEW_MS])
def test_clocks_that_are_right_may_be_a_little_apart(ahead_ms: int) -> None:
    assert transitions(probes(ahead_ms)) == []


def test_a_clock_that_is_ahead_is_doubted_once() -> None:
    """The next deadline shows that it is the clock: the same time ahead."""
    assert transitions(probes(INTERVAL_MS + 90_000, INTERVAL_MS + 90_000)) == ["opened", "resolved"]


@pytest.mark.parametrize("ahead_ms", [FARTHEST_MS + 2 * INTERVAL_MS, -(1 << 40), 86_400_000 + INTERVAL_MS])
def test_what_no_clock_explains_is_certain(ahead_ms: int) -> None:
    results = probes(ahead_ms).fold()
    assert generations(results)[-1].verdict.grade is not Grade.MATCH
    (opened,) = [one for one in incidents(results, DEADLINE_CARRIER.code) if one.transition == "opened"]
    assert opened.certainty is Certainty.CERTAIN


def test_the_deadline_of_the_generation_before_is_not_set_again() -> None:
    assert transitions(probes(INTERVAL_MS, -5_000)) == ["opened"]


def test_a_wrong_deadline_does_not_accuse_the_next_right_one() -> None:
    assert transitions(probes(INTERVAL_MS // 2, INTERVAL_MS, INTERVAL_MS)) == ["opened", "resolved"]
