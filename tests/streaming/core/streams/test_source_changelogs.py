"""Source topics that serve as changelogs: their end offset is the committed one, and members may report more."""

from dataclasses import replace
from uuid import UUID

import pytest

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.topics import NO_SAMPLES, TopicHistory, TopicMetadata, history_of
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.core.streams.caught_up import INCREDIBLE, lag_of, possible
from rebalance_monitor.streaming.core.streams.sampled_ends import from_sources
from rebalance_monitor.streaming.core.streams.topology import SubtopologySeen
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.rules.cases_streams_record import KNOWN
from tests.streaming.core.rules.streams import Thread, group
from tests.vector_files import GROUP_CAPTURES

TABLE = """Topologies:
   Sub-topology: 0
    Source: S (topics: [in])
      --> T
    Processor: KTABLE-SOURCE-0000000001 (stores: [in-store])
      --> none
      <-- S
"""
SEEN = (SubtopologySeen(number=0, topics={"in": 3}, stateful=True),)
A, B, C, D = (UUID(int=number) for number in range(1, 5))


@pytest.mark.parametrize("name", sorted(path.name for path in GROUP_CAPTURES.glob("streams-source-changelog-*")))
def test_kafkas_own_answers_are_not_accused(name: str) -> None:
    path = GROUP_CAPTURES / name
    told = replay(records_of(path), settings_of(path), knowledge=knowledge_of(path)).objects
    assert [one["message"] for one in told if one["kind"] == "violation" and one["severity"] != "info"] == []
    assert not any(one["kind"] == "generation" and one["verdict"]["grade"] == "unexplained" for one in told)


def sampled(**partitions: int) -> TopicHistory:
    topics = {name.replace("_", "-"): (frozenset[str](),) * count for name, count in partitions.items()}
    return history_of([TopicMetadata(1, topics)])


@pytest.mark.parametrize(
    ("topics", "text", "may"),
    [
        (sampled(**{"in": 3}), TABLE, True),
        (NO_SAMPLES, TABLE, True),
        (NO_SAMPLES, TABLE.replace("KTABLE-SOURCE", "P"), False),
        (sampled(**{"in": 3, "app_in_store_changelog": 3}), TABLE, False),
        (sampled(**{"in": 3}), TABLE.replace("<-- S", "<-- other"), False),
        (sampled(**{"in": 3}), None, True),
        (NO_SAMPLES, None, False),
        (sampled(**{"in": 3, "app_other_changelog": 2}), None, True),
        (sampled(**{"in": 3, "app_other_changelog": 3}), None, False),
    ],
)
def test_a_source_topic_may_be_the_changelog_where_nothing_excludes_it(
    topics: TopicHistory, text: str | None, *, may: bool
) -> None:
    assert from_sources(topics, text, "app", SEEN) == ({(0, "")} if may else set())


def test_a_process_that_reports_more_than_the_end_offset_lags_by_all_of_it() -> None:
    sums = {A: -2, B: 900, C: 400}
    assert [lag_of(sums, process, 500) for process in (A, B, C, D)] == [-2, 500, 100, 500]
    listed = possible(sums, (A, B, C, D), 100, 0, below=True)
    found = {(one.caught_up, one.beyond) for one in listed}
    assert (frozenset({A, C}), frozenset({B})) in found
    assert (frozenset({A}), frozenset({B, C})) in found
    assert (frozenset({A, B, C, D}), frozenset({B, C})) in found
    assert not any(one.beyond for one in possible(sums, (A, B, C, D), 100, 0))
    assert all(one.end <= 400 + 100 for one in listed if C in one.caught_up and D not in one.caught_up)


def second(total: int) -> Verdict:
    """Of a record in which a runs 1_0, and b reports so much of it."""
    a, b = Thread(id="a1", active="1_0", generation=1), Thread(id="b1", active="1_1", generation=1)
    again = replace(a, owned="1_0", sums="1_0:-2"), replace(b, owned="1_1", sums=f"1_0:{total} 1_1:-2")
    return generations(group((a, b), again, known=KNOWN).fold())[-1].verdict


@pytest.mark.parametrize("total", [INCREDIBLE, (1 << 63) - 1])
def test_a_sum_that_no_changelog_holds_makes_no_match(total: int) -> None:
    assert second(INCREDIBLE - 1).grade is Grade.MATCH
    verdict = second(total)
    assert verdict.grade is Grade.EXPLAINABLE
    assert verdict.reason is not None
    assert verdict.reason.kind is ReasonKind.UNKNOWN_END_OFFSETS
    assert f"b1 reports {total} of 1_0" in verdict.reason.text


def test_whatever_a_process_reports_of_a_task_it_may_have_been_all_but_empty() -> None:
    """Up to the acceptable lag nobody is behind: a, which has nothing, is to run 1_0, though b reports so much."""
    b = Thread(id="b1", active="1_1", owned="1_1", sums=f"1_0:{INCREDIBLE} 1_1:-2", generation=1)
    c = Thread(id="c1", active="1_0 1_2", owned="1_0 1_2", sums="1_0:-2 1_2:-2", generation=1)
    first = replace(b, owned="", sums=""), replace(c, owned="", sums="")
    moving = Thread(id="a1", next_ms=0), b, replace(c, active="1_2")
    verdict = generations(group(first, moving, known=KNOWN).fold())[-1].verdict
    assert verdict.grade is Grade.EXPLAINABLE, verdict.reason
