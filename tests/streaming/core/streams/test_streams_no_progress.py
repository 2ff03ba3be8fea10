"""S-19 names the causes that fit what was seen, and no others."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from tests.streaming.core.rules.cases_streams_across import ONE_WARM_UP, probing, written_faster
from tests.streaming.core.rules.streams import group, record

RULE, LATE_LEADER = "STREAMS-S19", "2.6.0"


def message(*sums: int, known: StreamsSettings = ONE_WARM_UP, after_ms: int = 5_000) -> str:
    """What the rule says of a copy that reports these sums; the deadline is ten minutes after the story's begin."""
    story = group(known=known)
    for total in sums:
        threads = probing(total)
        if known.release == LATE_LEADER:
            threads = tuple(replace(one, version=7, latest=7, protocol=1) for one in threads)
        record(story, *threads, after_ms=after_ms)
    found = [one for one in story.fold() if isinstance(one, Incident) and one.code == RULE]
    return found[0].message


def test_a_sum_that_falls_is_lost_state() -> None:
    told = message(900, 900, 900, 900, 20, 20, 20)
    assert "900 → 900 → 20" in told
    assert "state was lost, its directory emptied or another one: the offset sum fell (1_1 " in told
    assert "a copy does not restore" not in told


def test_a_copy_that_falls_behind_is_told_with_its_sums() -> None:
    found = [one for one in written_faster().fold() if isinstance(one, Incident) and one.code == RULE]
    sums = " → ".join(str(5 + 10 * at) for at in range(6))
    assert f"5.0 were written: at {sums} it was" in found[0].message


@pytest.mark.parametrize(
    ("release", "after_ms", "named"),
    [(LATE_LEADER, 700_000, True), (LATE_LEADER, 5_000, False), ("4.3.1", 700_000, False)],
)
def test_the_known_bug_is_named_where_its_release_leads_and_rebalances_came_late(
    release: str, after_ms: int, named: bool
) -> None:
    known = replace(ONE_WARM_UP, release=release)
    assert ("KAFKA-10455" in message(*[5] * 7, known=known, after_ms=after_ms)) is named
