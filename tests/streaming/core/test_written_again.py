"""A generation that was written twice, because the leader repeated its request, is one round and not two."""

from dataclasses import replace

from rebalance_monitor.streaming.core.model.results import Grade, Severity
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import CONFIGS, GROUP, OFFSETS, STATUSES, Story, generations, incidents


def again(story: Story, ms: int = 5) -> None:
    row = story.rows[-1]
    story.rows.append(replace(row, offset=story.offsets[OFFSETS], timestamp_ms=row.timestamp_ms + ms))
    story.offsets[OFFSETS] += 1


def test_a_leader_one_record_behind_is_not_accused_by_the_copy() -> None:
    story = Story()
    story.join("w1", "w2")
    story.rebalance()
    story.configure("c1", 3)
    story.rebalance(behind=True)
    again(story)
    story.rebalance()
    results = story.fold()
    assert [one.verdict.grade for one in generations(results)] == [
        Grade.MATCH,
        Grade.EXPLAINABLE,
        Grade.NOT_JUDGED,
        Grade.MATCH,
    ]
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def test_copies_in_every_state_of_a_group_raise_nothing() -> None:
    story = Story.begun({"c1": 3}, "w1", "w2", "w3")
    again(story)
    story.leave("w3")
    for after_ms in (1_000, 60_000, 250_000, 1_000):
        story.rebalance(after_ms=after_ms)
        again(story)
        again(story)
    results = story.fold()
    assert {one.verdict.grade for one in generations(results)} == {Grade.MATCH, Grade.NOT_JUDGED}
    assert [one.repeats for one in generations(results)] == [False, True, *[False, True, True] * 4]
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def test_a_number_that_another_coordinator_hands_out_again_proves_nothing_of_the_era() -> None:
    """Leaders before 3.4 leave a newcomer idle; the round that has the number of the one before is not judged, so
    nobody knows there which kind of leader it was."""
    story = Story(era="A3b")
    story.settings = replace(
        story.settings, connect={GROUP: ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES)}
    )
    story.configure("c1", 6)
    story.join("w1", "w2", "w3")
    for _ in range(3):
        story.rebalance()
    story.join("w4")
    story.rebalance()
    story.generation -= 1
    story.rebalance(after_ms=30_000)
    results = story.fold()
    assert [one.verdict.grade for one in generations(results)][-2:] == [Grade.MATCH, Grade.NOT_JUDGED]
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def test_an_earlier_generation_that_is_written_again_is_no_round_and_no_new_life() -> None:
    story = Story.begun({"c1": 4}, "w1", "w2", "w3")
    first = story.rows[-1]
    story.leave("w3")
    story.rebalance()
    story.rows.append(replace(first, offset=story.offsets[OFFSETS], timestamp_ms=story.now_ms + 5))
    story.offsets[OFFSETS] += 1
    story.rebalance(after_ms=300_000)
    told = generations(story.fold())
    assert [one.verdict.grade for one in told] == [Grade.MATCH, Grade.MATCH, Grade.NOT_JUDGED, Grade.MATCH]
    assert told[2].verdict.why == "an earlier generation was written again"
    assert {one.incarnation for one in told} == {0}
    assert not [one for one in incidents(story.fold()) if one.severity is not Severity.INFO]


def test_a_delay_that_is_written_again_does_not_move_the_one_that_runs() -> None:
    """The copy shows less of a delay than the record before it, as if the leader had waited meanwhile."""
    story = Story.begun({"c1": 6}, "w1", "w2", "w3")
    story.leave("w3")
    story.rebalance()
    story.join("w4")
    story.rebalance(after_ms=60_000)
    first = story.rows[-1]
    story.rebalance(after_ms=300_000)
    story.rebalance()
    story.leave("w4")
    story.rebalance(after_ms=1_000)
    story.rows.append(replace(first, offset=story.offsets[OFFSETS], timestamp_ms=story.now_ms + 5))
    story.offsets[OFFSETS] += 1
    story.join("w5")
    story.rebalance(after_ms=10_000)
    story.rebalance(after_ms=300_000)
    results = story.fold()
    assert {one.verdict.grade for one in generations(results)} == {Grade.MATCH, Grade.NOT_JUDGED}
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]
