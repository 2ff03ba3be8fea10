"""How incidents that only time shows of a consumer group go on and end; what is said of a replaced static member."""

from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident
from tests.streaming.core.rules.builders import GROUP, Story, generations, incidents
from tests.streaming.core.rules.cases_consumer_time import (
    COOPERATIVE,
    HELD_BACK,
    MINUTE_MS,
    PLACED,
    ROUNDROBIN,
    TIMEOUTS_MS,
    TRANSFER_MS,
    WHOLE,
    WITH_A_HOLE,
    two_processes,
)
from tests.streaming.core.rules.consumers import Consumer, group, record
from tests.streaming.folded_group import FoldedGroup

LATE_MS = 100
"""How long after its time stamp a record is read."""


class Live(FoldedGroup):
    """A story told record by record to a monitor whose clock runs along."""

    def __init__(self, story: Story) -> None:
        super().__init__(story.settings, GROUP)
        self.story, self.told = story, 0

    def goes_on(self, for_ms: int = 0) -> list[tuple[str, str]]:
        """Each new record as it comes, then the clock alone, for so long. Returns what was said of incidents."""
        before = len(self.results)
        for row in self.story.rows[self.told :]:
            self.fold([row], row.timestamp_ms + LATE_MS)
        self.told = len(self.story.rows)
        if for_ms:
            self.fold(now_ms=self.story.now_ms + LATE_MS + for_ms)
        return [(one.code, one.transition) for one in incidents(self.results[before:])]

    def incident(self) -> Incident:
        """As it was published last."""
        return incidents(self.results)[-1]


def test_a_partition_without_owner_pages_after_the_time_outs_until_somebody_has_it() -> None:
    live = Live(group(ROUNDROBIN, WITH_A_HOLE))
    assert live.goes_on(TIMEOUTS_MS - 1) == []
    assert live.goes_on(TIMEOUTS_MS) == [("CONSUMER-C01", "opened"), ("CONSUMER-C01", "fired")]
    assert live.incident().alert is AlertSeverity.CRITICAL
    assert live.goes_on(10 * TIMEOUTS_MS) == []
    record(live.story, ROUNDROBIN, *WITH_A_HOLE, after_ms=11 * TIMEOUTS_MS)
    assert live.goes_on() == [], "the next generation leaves it out again"
    record(live.story, ROUNDROBIN, *WHOLE)
    assert live.goes_on(TIMEOUTS_MS) == [("CONSUMER-C01", "resolved")]


def test_generations_that_leave_it_out_do_not_begin_the_patience_anew() -> None:
    live = Live(group(ROUNDROBIN, WITH_A_HOLE))
    live.goes_on()
    for _ in range(3):
        record(live.story, ROUNDROBIN, *WITH_A_HOLE, after_ms=20_000)
        assert live.goes_on() == []
    record(live.story, ROUNDROBIN, *WITH_A_HOLE, after_ms=20_000)
    assert live.goes_on() == [("CONSUMER-C01", "opened"), ("CONSUMER-C01", "fired")]


def test_a_leap_of_the_coordinators_clock_is_no_patience() -> None:
    """Another broker, an hour ahead, writes the next record a second later; the monitor's clock says so."""
    live = Live(group(ROUNDROBIN, WITH_A_HOLE))
    live.goes_on()
    now_ms = live.story.now_ms
    record(live.story, ROUNDROBIN, *WITH_A_HOLE, after_ms=60 * MINUTE_MS)
    row = live.story.rows[live.told]
    outcome = fold_group(live.story.settings, GROUP, live.state, [row], Tick(now_ms + 1_000))
    assert incidents(outcome.results) == []


def test_a_transfer_that_is_not_finished_ends_with_the_next_generation() -> None:
    live = Live(group(COOPERATIVE, HELD_BACK))
    assert live.goes_on(TRANSFER_MS - 1) == [], "m1 joined again after 59 s, and m2 59 s after it"
    assert live.goes_on(TRANSFER_MS) == [("CONSUMER-C09", "opened"), ("CONSUMER-C09", "fired")]
    assert live.incident().alert is AlertSeverity.WARNING
    record(live.story, COOPERATIVE, *PLACED, after_ms=2 * TRANSFER_MS)
    assert live.goes_on(TIMEOUTS_MS) == [("CONSUMER-C09", "resolved")]


def test_a_group_without_members_waits_for_nothing() -> None:
    live = Live(group(ROUNDROBIN, WITH_A_HOLE))
    live.goes_on()
    live.story.now_ms += 1_000
    live.story.generation += 1
    live.story.group_record((), protocol_type="consumer")
    assert live.goes_on(10 * TIMEOUTS_MS) == []


def test_a_contest_is_over_half_an_hour_after_its_last_change() -> None:
    live = Live(two_processes())
    assert live.goes_on(30 * MINUTE_MS - 1_000) == [("CONSUMER-C14", "opened"), ("CONSUMER-C14", "fired")]
    assert live.incident().alert is AlertSeverity.WARNING
    assert live.goes_on(30 * MINUTE_MS) == [("CONSUMER-C14", "resolved")]


def test_a_process_that_takes_a_static_members_place_is_the_cause_of_the_record() -> None:
    causes = [one.cause for one in generations(two_processes().fold())]
    assert [[cause.kind for cause in one] for one in causes[1:]] == [["member_replaced"]] * 3
    assert [subject.id for cause in causes[1] for subject in cause.subjects] == ["i"]


def test_the_only_member_of_a_group_is_replaced_within_the_groups_life() -> None:
    story = Story()
    for number, host in enumerate(("h1", "h2")):
        member = Consumer(id=f"i-{number}", given="a-0", instance="i", host=f"/{host}")
        record(story, ROUNDROBIN, member, again=number > 0)
    first, second = generations(story.fold())
    assert (first.incarnation, second.incarnation) == (0, 0)
    assert [cause.kind for cause in second.cause] == ["member_replaced"]


def test_a_number_that_no_topic_can_have_costs_nothing() -> None:
    """Any client may write any number: what lies below it is no partition without owner."""
    live = Live(group(ROUNDROBIN, (Consumer(id="m1", given=f"a-0 a-{2**31 - 1}"),)))
    assert live.goes_on(10 * TIMEOUTS_MS) == []
