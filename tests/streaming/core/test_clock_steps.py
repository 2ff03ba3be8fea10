"""Coordinators whose clocks differ by minutes take over from one another: no right leader is accused for it.

A punctual group follows up in time, so that by one clock nothing at all is to be reported; then its coordinator moves
from tests.streaming.folded_group import FoldedGroup
from broker to broker, and what was true by one clock is false by the other.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.clocks.span import FARTHEST_MS
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Tick, Undecodable
from rebalance_monitor.streaming.core.model.results import Certainty, Grade, Incident, Result, Severity
from tests.streaming.core.rules.builders import GROUP, OFFSETS, Story, generations, incidents
from tests.streaming.core.rules.cases_across import DELAY_MS, MINUTE_MS, PATIENCE_MS, calm, departure, drop_given
from tests.streaming.core.rules.test_no_alarm import LIVES, NAMES, WORLDS, Fate
from tests.streaming.core.test_clocks import moved

BROKERS_MS = (0, 5_000, -5_000, 60_000, -90_000, 200_000, -200_000, 420_000, -600_000, 3_600_000, -3_600_000)
MEMBERS = ("join", "leave", "crash", "restart", "back")


class Punctual(Fate):
    """Whatever happens is followed up within seconds, delays end when they are over, and calm lasts for minutes."""

    def live(self, rounds: int) -> None:
        self.story.configure(NAMES[0], 3)
        self.join()
        self.round()
        for _ in range(rounds):
            before = [one.member_id for one in self.story.workers.values()], self.story.snapshots[-1]
            what = self.dice.choice([*MEMBERS, "configure", "delete"])
            (self.move if what in MEMBERS else self.change)(what)
            if before == ([one.member_id for one in self.story.workers.values()], self.story.snapshots[-1]):
                continue  # nothing that makes a group rebalance
            self.round(self.dice.choice([40, 1_000, 30_000]))
            self.settle()

    def round(self, after_ms: int = 1_000) -> None:
        given = self.story.rebalance(after_ms=after_ms)
        self.delay_ms = max(one.delay_ms for one in given.values() if not isinstance(one, bytes))
        self.revoked = any(
            not isinstance(one, bytes) and (one.revoked_connectors or one.revoked_tasks) for one in given.values()
        )

    def settle(self) -> None:
        """Follow-ups until nothing is pending; sometimes the next thing happens within the delay."""
        while self.revoked or self.delay_ms:
            if self.delay_ms > 40_000 and not self.revoked and self.dice.random() < 0.3:
                self.round(self.dice.randint(1_000, self.delay_ms // 2))
                return
            self.round(300 if self.revoked else self.delay_ms + 50)
        self.story.wait(self.dice.choice([10_000, 10 * MINUTE_MS]))


def lived(world: str, seed: int, max_delay_ms: int) -> Story:
    protocol, era = WORLDS[world]
    story = Story(protocol, era=era, max_delay_ms=max_delay_ms)
    Punctual(story, seed).live(8)
    return story


def taken_over(story: Story, dice: random.Random) -> None:
    """From now and then on another broker writes the group's records."""
    at_ms, rows = 0, []
    for row in story.rows:
        if row.topic == OFFSETS:
            at_ms = dice.choice(BROKERS_MS) if dice.random() < 0.15 else at_ms
            row = moved(row, at_ms)
        rows.append(row)
    story.rows = rows


def alarms(story: Story, results: list[Result]) -> Counter[str]:
    """What is reported above info, but for a zombie's duplicates, what leaders before 3.5.2 leave lying, and jobs that
    no worker in the group may run, which is no leader's mistake."""
    lying = story.max_delay_ms == 0 and not story.era.places_at_once_without_delay
    found = Counter(
        one.code
        for one in incidents(results)
        if one.severity is not Severity.INFO
        and not (one.code == "CONNECT-I2" and one.severity is Severity.MEDIUM)
        and not (lying and one.code in ("CONNECT-I4", "CONNECT-K5"))
        and "no worker may run" not in one.message
    )
    found.update(one.verdict.grade.value for one in generations(results) if one.verdict.grade is Grade.UNEXPLAINED)
    return found


@pytest.mark.parametrize("world", ["A5", "A3a", "static", "eager"])
@settings(max_examples=LIVES)
@given(seed=st.integers(0, 2**32), max_delay_ms=st.sampled_from([0, 40, 60_000, 300_000]))
def test_a_right_leader_raises_no_alarm(world: str, seed: int, max_delay_ms: int) -> None:
    story = lived(world, seed, max_delay_ms)
    assert not alarms(story, story.fold())
    taken_over(story, random.Random(seed))
    assert not alarms(story, story.fold())


def watched(story: Story, steps_ms: Callable[[int], int], end_ms: int | None = None) -> list[Result]:
    """The records one by one as they come, and the monitor's own clock, which is right, in between. `steps_ms`: by how
    much the coordinator of the n-th record is ahead; `end_ms` is the monitor's last look."""
    group, count = story.followed(), 0
    ends = [*(row.timestamp_ms for row in story.rows[1:]), end_ms]
    for row, next_ms in zip(story.rows, ends, strict=True):
        read_ms = row.timestamp_ms + 300
        if row.topic == OFFSETS:
            row, count = moved(row, steps_ms(count)), count + 1
        group.fold([row], read_ms)
        if next_ms is not None and next_ms > read_ms:
            group.fold(now_ms=next_ms)
    return group.results


@pytest.mark.parametrize("world", ["A5", "static"])
@settings(max_examples=LIVES)
@given(seed=st.integers(0, 2**32), max_delay_ms=st.sampled_from([0, 40, 300_000]))
def test_nor_does_it_where_the_monitor_watches_live(world: str, seed: int, max_delay_ms: int) -> None:
    story, dice = lived(world, seed, max_delay_ms), random.Random(seed)
    at: list[int] = [0]

    def steps_ms(count: int) -> int:
        at.append(dice.choice(BROKERS_MS) if dice.random() < 0.15 else at[-1])
        return at[-1]

    assert not alarms(story, watched(story, steps_ms))


@pytest.mark.parametrize("step_ms", [0, -600_000, 600_000])
@pytest.mark.parametrize("when", ["always", "last"])
def test_what_is_really_overdue_is_told_in_time_by_the_monitors_clock(step_ms: int, when: str) -> None:
    """Nothing follows the delay; the coordinator's clock is off from the start, or since the last record."""
    story = departure()
    last = sum(row.topic == OFFSETS for row in story.rows) - 1
    due_ms = story.now_ms + DELAY_MS + PATIENCE_MS + 300
    step = lambda count: step_ms if when == "always" or count == last else 0  # noqa: E731
    for end_ms, codes in ((due_ms - 1_000, set[str]()), (due_ms + 1_000, {"CONNECT-K5", "CONNECT-K6"})):
        found = [one for one in incidents(watched(story, step, end_ms)) if one.transition == "fired"]
        assert {one.code for one in found} == codes
        assert all(one.severity is Severity.HIGH and one.certainty is Certainty.CERTAIN for one in found)


def test_a_rebalance_that_came_late_by_two_coordinators_clocks_is_only_possible() -> None:
    """Without a clock of one's own nobody knows whether it was late, or the second broker's clock ahead."""
    story = departure()
    story.rebalance(after_ms=DELAY_MS + 10 * MINUTE_MS)
    found = [one for one in incidents(story.fold()) if one.transition in ("opened", "resolved")]
    assert {one.code for one in found} == {"CONNECT-K5", "CONNECT-K6"}
    assert {(one.severity, one.certainty) for one in found} == {(Severity.INFO, Certainty.POSSIBLE)}
    assert all("clock" in one.message for one in found)
    assert Counter(one.transition for one in found) == {"opened": 2, "resolved": 2}


def test_jobs_that_wait_on_in_one_record_after_the_other_wait_too_long_for_sure() -> None:
    story = departure()
    for _ in range(3):
        story.rebalance(drop_given, after_ms=DELAY_MS)
    found = incidents(story.fold(), "CONNECT-K5")
    assert {one.severity for one in found if one.transition == "updated"} == {Severity.HIGH}
    assert found[-1].firing


@pytest.mark.parametrize("ms", [20 * MINUTE_MS, -MINUTE_MS])
def test_the_rest_of_a_delay_tells_how_much_time_has_passed(ms: int) -> None:
    story = departure()
    before = len(story.rows)
    for _ in range(3):
        story.rebalance(after_ms=60_000)
    story.rows = [*story.rows[:before], *(moved(row, ms) for row in story.rows[before:])]
    assert not incidents(story.fold())


def test_a_rolling_downgrade_that_another_broker_stamps_is_not_late() -> None:
    story = calm()
    story.protocol = "compatible"
    story.restart("w1")
    story.rebalance()
    before = len(story.rows)
    story.restart("w2")
    story.rebalance(after_ms=20_000)
    story.rebalance()
    story.rows = [*story.rows[:before], *(moved(row, 20 * MINUTE_MS) for row in story.rows[before:])]
    assert {one.severity for one in incidents(story.fold(), "CONNECT-K13")} <= {Severity.INFO}


def test_rounds_of_hours_are_no_storm_where_the_clock_was_set_back() -> None:
    story = calm("w1", "w2", "w3")
    for number in range(12):
        story.configure(f"more{number}", 1)
        story.rebalance(after_ms=20 * MINUTE_MS)
        story.rebalance()
    rows = [row for row in story.rows if row.topic == OFFSETS]
    back = {row.offset: -index * 21 * MINUTE_MS for index, row in enumerate(rows)}
    story.rows = [moved(row, back[row.offset]) if row.topic == OFFSETS else row for row in story.rows]
    assert not incidents(story.fold(), "CONNECT-K10")


def test_a_record_that_could_not_be_read_is_a_rebalance_all_the_same() -> None:
    """After it nobody knows who holds what, so nothing is overdue."""
    story = departure()
    story.rebalance(after_ms=DELAY_MS + 50)
    story.rows[-1] = replace(story.rows[-1], body=Undecodable("unsupported_version", 40, "0009"))
    found = incidents(story.until(20 * MINUTE_MS).fold())
    assert not found
    story.rebalance()
    assert not incidents(story.fold())


@pytest.mark.parametrize("late_ms", [FARTHEST_MS - 1, FARTHEST_MS + 1, 60 * FARTHEST_MS])
def test_records_that_come_late_are_timed_from_when_they_come(late_ms: int) -> None:
    """However late they are: as in a mirrored topic, where what seems overdue may be answered by the next record."""
    story = departure()
    (*_, last) = story.rows
    now_ms = last.timestamp_ms + late_ms
    outcome = fold_group(story.settings, GROUP, None, story.rows, Tick(now_ms))
    assert not [one for one in outcome.results if isinstance(one, Incident)]
    late = fold_group(story.settings, GROUP, outcome.state, [], Tick(now_ms + DELAY_MS + PATIENCE_MS + MINUTE_MS))
    assert {one.code for one in late.results if isinstance(one, Incident)} == {"CONNECT-K5", "CONNECT-K6"}


def test_a_tick_before_the_records_is_no_time_of_day() -> None:
    story = departure()
    (*_, last) = story.rows
    outcome = fold_group(story.settings, GROUP, None, story.rows, Tick(last.timestamp_ms - FARTHEST_MS - 1))
    later = fold_group(story.settings, GROUP, outcome.state, [], Tick(last.timestamp_ms - FARTHEST_MS + DELAY_MS))
    assert not [one for one in (*outcome.results, *later.results) if isinstance(one, Incident)]
