"""What people see of a Streams application: moves that are left, the next probing rebalance, skew, missing copies."""

from typing import Any

from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Generation
from rebalance_monitor.streaming.core.streams.words import summary
from tests.streaming.core.rules.builders import GROUP, Story, generations
from tests.streaming.core.rules.cases_streams_across import ONE_WARM_UP, never_nearer
from tests.streaming.core.rules.cases_streams_placement import LATER_MS, ONE_OF_TWO_COPIED, one_part_each
from tests.streaming.core.rules.cases_streams_record import ONE_COPY
from tests.streaming.core.rules.streams import PROBING_MS, Thread, group
from tests.streaming.core.streams.test_sampled_ends import SampledLife


def details(story: Story) -> list[dict[str, Any]]:
    return [as_object(one)["streams"] for one in story.fold() if isinstance(one, Generation)]


def test_moves_that_are_left_are_counted_and_timed() -> None:
    story = never_nearer()
    *_, last = details(story)
    assert last["progress"] == {
        "moves_left": 1,
        "rebalances": 1,
        "not_before_ms": story.now_ms + PROBING_MS,
        "next_ms": story.now_ms + PROBING_MS,
        "probed": 6,
        "stuck": 5,
    }
    assert summary(last).startswith("1 move left, at best 1 probing rebalance, so not before ")


def test_a_task_that_has_no_copy_where_it_goes_needs_one_rebalance_more() -> None:
    """b shall run 1_1 and 1_3, and one copy may warm up at a time."""
    threads = (
        Thread(
            id="a1",
            active="1_0 1_1 1_2 1_3",
            owned="1_0 1_1 1_2 1_3",
            sums="1_0:-2 1_1:-2 1_2:-2 1_3:-2",
            generation=1,
            next_ms=LATER_MS,
        ),
        Thread(id="b1", standby="1_1", generation=1),
    )
    story = group(threads, known=ONE_WARM_UP)
    (detail,) = details(story)
    assert detail["progress"] is not None
    (process, other) = detail["processes"]
    assert [thread["warm_up"] for thread in other["threads"]] == [["1_1"]]
    assert detail["progress"]["moves_left"] == 2
    assert detail["progress"]["rebalances"] == 2
    interval_ms = LATER_MS - story.rows[-1].timestamp_ms
    assert detail["progress"]["not_before_ms"] == LATER_MS + interval_ms, "nobody told the interval, the deadline does"
    assert process["leads"]


def test_missing_copies_and_skew_are_counted() -> None:
    (detail,) = details(group(ONE_OF_TWO_COPIED, known=ONE_COPY))
    assert detail["missing_standbys"] == 1
    assert "1 standby missing" in summary(detail)
    (uneven,) = details(one_part_each())
    assert summary(uneven) == "sub-topology 0: 0 to 2 tasks per process; sub-topology 2: 0 to 2 tasks per process"
    assert uneven["balance"] == {"stateful": [0, 0], "stateless": [2, 2]}


def test_each_law_is_graded() -> None:
    (detail,) = details(one_part_each())
    laws = detail["laws"]
    assert isinstance(laws, dict)
    assert (laws["STREAMS-S01"], laws["STREAMS-S13"], laws["STREAMS-S18"]) == ("ok", "violated", "undetermined")


def test_other_generations_have_nothing_of_it() -> None:
    assert summary(None) == ""


def test_copies_have_lags_where_samples_tell_where_changelogs_end() -> None:
    told = SampledLife(2, grow=40).lived()
    compared = 0
    for generation, topics in zip(generations(told.fold()), told.known, strict=True):
        assert generation.streams is not None
        for process in generation.streams.processes:
            assert process.lags.keys() == {task for task, total in process.offset_sums.items() if total >= 0}
            for task, lag in process.lags.items():
                part, number = map(int, task.split("_"))
                samples = topics.ends_of(f"{GROUP}-store{part}-changelog")
                (*_, last) = (sample for sample in samples if sample.answered_ms <= generation.at_ms)
                assert lag == max(last.ends[number] - process.offset_sums[task], 0)
                compared += lag > 0
    assert compared > 10
    unasked = [one.streams for one in generations(told.fold(sampled=False))]
    assert not any(process.lags for one in unasked if one is not None for process in one.processes)
