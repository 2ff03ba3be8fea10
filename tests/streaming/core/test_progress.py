"""Partitions that stand still and lag on one member: found by what is polled, ended by what is polled and written."""

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.cluster.progress import (
    PartitionOffsets,
    ProgressOfGroups,
    ProgressSample,
)
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.results import AlertSeverity, GroupProgress, MemberLag
from rebalance_monitor.streaming.core.model.settings import Damping
from tests.streaming.core.followed_story import FollowedStory
from tests.streaming.core.rules.builders import GROUP, Story, incidents
from tests.streaming.core.rules.cases_consumer_time import ROUNDROBIN, WHOLE
from tests.streaming.core.rules.cases_progress import (
    BUSY_MS,
    COMMIT_MS,
    EVERY_MS,
    LAGS,
    LONG_MS,
    STANDS,
    polled,
    steady,
    still,
)
from tests.streaming.core.rules.consumers import group, record, shares
from tests.streaming.core.rules.epochs import Epochs

ANSWERED_MS = 50
MOVED = shares(m1="a-0", m2="a-2", m3="a-1")
OPENED = [(STANDS, "opened"), (STANDS, "fired")]
ALL = ("a-0", "a-1", "a-2")


class Polled(FollowedStory):
    """And the group's offsets are asked for every half minute."""

    def __init__(self, story: Story) -> None:
        self.offsets = dict.fromkeys(ALL, (100, 200))
        super().__init__(story, STANDS)

    def goes_on(self, for_ms: int, *, still: str = "", silent: str = "", to_the_end: str = "") -> list[tuple[str, str]]:
        """So long, 100 records come to each partition with each sample, and as many are committed, except of those that
        are `still`; to those that are `silent` nothing comes. Returns what was said of the rules."""
        said = []
        for _ in range(for_ms // EVERY_MS):
            self.now_ms += EVERY_MS
            for name, (committed, end) in self.offsets.items():
                end = end if name in silent.split() else end + 100
                committed = committed if name in still.split() else min(committed + 100, end)
                self.offsets[name] = (end if name in to_the_end.split() else committed, end)
            said += self.polls()
        return said

    def polls(self) -> list[tuple[str, str]]:
        """One sample of the offsets as they are."""
        offsets = {name: PartitionOffsets(committed, end) for name, (committed, end) in self.offsets.items()}
        sample = ProgressSample(self.now_ms - ANSWERED_MS, self.now_ms, {GROUP: offsets}, frozenset({GROUP}))
        self.knowledge = Knowledge(progress=self.knowledge.progress.with_sample(sample))
        return self.said()

    def joins(self, *members: object) -> list[tuple[str, str]]:
        """Another generation, now."""
        record(self.story, ROUNDROBIN, *members, after_ms=self.now_ms - self.story.now_ms)  # type: ignore[arg-type]
        return self.reads()

    def begins_anew(self) -> None:
        """Another job on the same store: what was polled is not stored."""
        self.knowledge = NOTHING_KNOWN


def consumers() -> Polled:
    return Polled(group(ROUNDROBIN, WHOLE))


def stuck() -> Polled:
    polled = consumers()
    assert polled.goes_on(2 * LONG_MS, still="a-1") == OPENED
    return polled


def test_a_partition_that_stands_still_opens_one_incident_that_names_all() -> None:
    polled = consumers()
    assert polled.goes_on(BUSY_MS + COMMIT_MS, still="a-1") == []
    assert polled.goes_on(3 * EVERY_MS, still="a-1") == OPENED
    assert polled.goes_on(10 * LONG_MS, still="a-1") == []
    incident = polled.incident()
    assert (incident.alert, incident.rule) == (AlertSeverity.WARNING, "partitions_not_advancing")
    assert [f"{subject.type} {subject.id}" for subject in incident.subjects] == ["partition a-1", "member m2"]
    assert incident.message.startswith("m2 holds a-1: it stands at offset 100 since ")
    assert "since generation 1," in incident.message


def test_partitions_of_one_member_are_one_incident() -> None:
    polled = consumers()
    polled.goes_on(2 * LONG_MS, still="a-0 a-2")
    assert len({one.incident_id for one in incidents(polled.results) if one.code == STANDS}) == 1
    assert polled.incident().parts == 2


def test_it_ends_when_the_committed_offset_grows() -> None:
    polled = stuck()
    assert polled.goes_on(EVERY_MS) == [(STANDS, "resolved")]
    assert polled.incident().message.endswith("its committed offset has grown or reached the end")


def test_it_ends_when_the_end_is_reached() -> None:
    polled = stuck()
    assert polled.goes_on(EVERY_MS, to_the_end="a-1") == [(STANDS, "resolved")]


def test_it_ends_when_another_member_holds_the_partition() -> None:
    polled = stuck()
    assert polled.joins(*MOVED) == [(STANDS, "resolved")]
    assert polled.incident().message.endswith("another member holds it now, or nobody")


def test_a_record_that_stops_one_member_after_the_other_is_found_at_once_at_the_next() -> None:
    polled = stuck()
    polled.joins(*MOVED)
    assert polled.goes_on(EVERY_MS, still="a-1") == OPENED
    assert "m3 holds a-1" in polled.incident().message
    assert "since generation 1," in polled.incident().message


def test_nobody_answers_and_nothing_opens_or_ends() -> None:
    polled = consumers()
    polled.goes_on(BUSY_MS, still="a-1")
    assert polled.waits(10 * LONG_MS) == []
    polled = stuck()
    assert polled.waits(10 * LONG_MS) == []
    assert polled.incident().resolved_at_ms is None


def test_a_job_that_begins_anew_ends_nothing_before_it_sees_it_move() -> None:
    polled = stuck()
    polled.begins_anew()
    assert polled.goes_on(2 * LONG_MS, still="a-1") == []
    assert polled.goes_on(EVERY_MS) == [(STANDS, "resolved")]


def test_time_in_which_nobody_was_there_does_not_count() -> None:
    polled = consumers()
    polled.goes_on(2 * EVERY_MS)
    polled.joins()
    polled.goes_on(10 * LONG_MS, still="a-0 a-1 a-2")
    polled.joins(*WHOLE)
    assert polled.goes_on(BUSY_MS + COMMIT_MS, still="a-0 a-1 a-2") == []
    assert polled.goes_on(2 * EVERY_MS, still="a-0 a-1 a-2") != []


def test_a_sample_from_before_the_last_record_says_nothing_of_its_members() -> None:
    polled = consumers()
    polled.goes_on(BUSY_MS + COMMIT_MS, still="a-1")
    polled.now_ms += 4 * EVERY_MS
    sample_ms = polled.now_ms
    polled.joins(*WHOLE)
    polled.now_ms = sample_ms
    assert polled.polls() == [], "it was asked before the record was written"
    assert polled.goes_on(EVERY_MS, still="a-1") == OPENED


def test_offsets_that_are_set_back_begin_the_time_anew() -> None:
    polled = consumers()
    polled.goes_on(BUSY_MS + COMMIT_MS, still="a-1")
    polled.offsets["a-1"] = (50, polled.offsets["a-1"][1])
    assert polled.goes_on(BUSY_MS + COMMIT_MS, still="a-1") == []


def test_a_configured_time_counts_instead() -> None:
    story = group(ROUNDROBIN, WHOLE)
    story.settings = replace(story.settings, damping={"partitions_not_advancing": Damping(for_ms=EVERY_MS)})
    polled = Polled(story)
    assert polled.goes_on(4 * EVERY_MS, still="a-1") == OPENED


def test_lag_on_one_member_is_told_for_reports_when_it_lasts() -> None:
    polled = consumers()
    polled.offsets["a-1"] = (100, 5_000)
    polled.goes_on(21 * EVERY_MS)
    incident = polled.incident(LAGS)
    assert (incident.alert, incident.firing) == (AlertSeverity.INFO, True)
    assert (
        re.sub("^at .* UTC ", "", incident.message)
        == "m2 held 4900 of the group's 5100 records of lag, on 1 of 3 partitions"
    )
    polled.offsets["a-1"] = (5_000, 5_100)
    polled.goes_on(EVERY_MS)
    assert polled.incident(LAGS).resolved_at_ms is not None


def test_what_each_member_has_still_to_read_is_published_with_every_sample() -> None:
    polled = consumers()
    polled.offsets = {"a-0": (100, 200), "a-1": (100, 5_000)}
    polled.goes_on(8 * EVERY_MS, still="a-1")
    latest = [one for one in polled.results if isinstance(one, GroupProgress)][-1]
    assert (latest.group, latest.generation) == (GROUP, 1)
    assert (latest.asked_ms, latest.answered_ms) == (polled.now_ms - ANSWERED_MS, polled.now_ms)
    m1, m2 = latest.members
    assert m1 == MemberLag(
        member="m1", partitions=2, advancing=1, caught_up=0, standing=0, unknown=1, lag=100, never_committed=1
    )
    assert m2 == MemberLag(member="m2", partitions=1, advancing=0, caught_up=0, standing=1, unknown=0, lag=5_700)
    assert loads(GroupProgress, dumps(latest)) == latest
    polled.goes_on(EVERY_MS, to_the_end="a-0")
    m1, _ = [one for one in polled.results if isinstance(one, GroupProgress)][-1].members
    assert (m1.caught_up, m1.lag) == (1, 0)


@given(st.lists(st.tuples(st.integers(1, 60_000), st.integers(0, 3), st.one_of(st.none(), st.integers(0, 5)))))
def test_what_is_said_to_stand_stood_in_every_sample_meanwhile(told: list[tuple[int, int, int | None]]) -> None:
    """From the first sample of a stand to its last the committed offset was the same and below the end, and no time is
    counted before the first answer or after the last question."""
    progress, now_ms = ProgressOfGroups(), 0
    seen: list[tuple[int, int, int, int | None]] = []
    for after_ms, committed, end in told:
        asked_ms, now_ms = now_ms + after_ms, now_ms + after_ms + ANSWERED_MS
        offsets = {"a-0": PartitionOffsets(committed, end)}
        progress = progress.with_sample(ProgressSample(asked_ms, now_ms, {GROUP: offsets}, frozenset({GROUP})))
        seen.append((asked_ms, now_ms, committed, end))
        standing = progress.groups[GROUP].partitions.get("a-0")
        if standing is None:
            continue
        assert standing.since_ms <= standing.seen_ms <= now_ms
        if standing.caught_up:
            continue
        during = [told for told in seen if told[1] >= standing.since_ms and told[0] <= standing.seen_ms]
        assert {offset for _, _, offset, _ in during} == {standing.committed}
        assert all(at is None or at > offset for _, _, offset, at in during)


def test_a_group_that_is_not_asked_for_any_more_is_forgotten() -> None:
    known = ProgressOfGroups().with_sample(ProgressSample(0, 1, {GROUP: {}, "h": {}}, frozenset({GROUP, "h"})))
    assert set(known.with_sample(ProgressSample(5, 6, {}, frozenset({"h"}))).groups) == {"h"}


def test_a_member_of_a_kip_848_group_is_found_by_its_target() -> None:
    story = Epochs(2)
    story.member("m1")
    story.member("m2")
    story.epoch(1)
    story.target(1, m1="0", m2="1")
    story.holds("m1", 1, "0")
    story.holds("m2", 1, "1")
    found = incidents(polled(story, {"a-0": steady, "a-1": still}).fold(), STANDS)
    assert [one.transition for one in found] == ["opened", "fired"]
    assert found[0].message.startswith("m2 holds a-1: it stands at offset 100 since ")
