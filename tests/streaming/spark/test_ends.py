"""What a sample says of a cluster that has no offsets topic yet, or has none any more."""

import threading
from collections.abc import Mapping

import pytest

from rebalance_monitor.streaming.spark.ends import NO_SUCH_TOPIC, FoundTopics, NamedPartition, TopicInfo
from rebalance_monitor.streaming.spark.offsets import Bounds, Offset, Sample, SourcePartition, Span, advance, spans
from rebalance_monitor.streaming.spark.sampling import METADATA_EVERY_S, Sampler
from tests.waiting import PATIENCE_S

OFFSETS = "__consumer_offsets"
HEARTBEAT_MS = 500
THERE = FoundTopics(found={OFFSETS: TopicInfo("id", {0: 1})})
NEVER = FoundTopics(missing={OFFSETS: NO_SUCH_TOPIC})


class Cluster:
    """A cluster that says what it is told to say, at the ends as well."""

    def __init__(self, says: FoundTopics) -> None:
        self.says = says

    def topics(self, names: tuple[str, ...]) -> FoundTopics:
        return self.says

    def ends(self, places: tuple[NamedPartition, ...], committed: bool) -> Mapping[NamedPartition, int | None]:
        return dict.fromkeys(places, 7)

    def beginnings(self, places: tuple[NamedPartition, ...]) -> Mapping[NamedPartition, int | None]:
        return dict.fromkeys(places, 3)


class Looks:
    """A sampler whose metadata is always due; each look is one sample."""

    def __init__(
        self,
        says: FoundTopics,
        made_on_demand: str | None = OFFSETS,
        known: Mapping[SourcePartition, Bounds] | None = None,
    ) -> None:
        self.cluster, self._at_s = Cluster(says), 0.0
        wanted: dict[str, str] = {OFFSETS: "offsets", "connect-configs": "config"}
        self._sampler = Sampler(
            self.cluster, lambda: wanted, (), 1.0, lambda: 1_000, lambda _: None, made_on_demand, known
        )

    @property
    def blind(self) -> str | None:
        return self._sampler.blind

    def unread(self, start: Offset) -> Mapping[SourcePartition, Bounds]:
        return self._sampler.unread(start)

    def look(self) -> Sample:
        self._at_s += METADATA_EVERY_S
        self._sampler.refresh(self._at_s)
        assert self._sampler.sample is not None
        return self._sampler.sample


def test_a_topic_that_never_was_is_nothing_to_wait_for_once_that_is_sure() -> None:
    looks = Looks(NEVER)
    assert [looks.look().complete for _ in range(3)] == [False, True, True]
    begun = advance(Offset(), looks.look(), None, None, HEARTBEAT_MS)
    assert (begun.partitions, begun.tick_ms) == ({}, 1_000), "the clock goes on"
    looks.cluster.says = THERE
    grown = advance(begun, looks.look(), None, None, HEARTBEAT_MS)
    assert spans(begun, grown) == [Span(SourcePartition(OFFSETS, "id", 0), 3, 7)], "and its first records are read"


@pytest.mark.parametrize("why", ["not_authorized", ""])
def test_a_topic_that_is_hidden_or_unknown_is_waited_for(why: str) -> None:
    looks = Looks(FoundTopics(missing={OFFSETS: why} if why else {}))
    assert not any(looks.look().complete for _ in range(3))


def test_a_topic_that_was_there_is_waited_for() -> None:
    looks = Looks(THERE)
    assert looks.look().complete
    looks.cluster.says = NEVER
    assert not any(looks.look().complete for _ in range(3))
    read_before = Looks(NEVER, made_on_demand=None)
    assert not any(read_before.look().complete for _ in range(3))


@pytest.mark.parametrize(
    ("why", "complete"), [("Broker: Leader not available", False), ("invalid_name: 300 characters", True)]
)
def test_a_passing_error_of_a_topic_that_was_read_holds_the_clock(why: str, complete: bool) -> None:
    both = {OFFSETS: TopicInfo("id", {0: 1}), "connect-configs": TopicInfo("id", {0: 1})}
    looks = Looks(FoundTopics(found=both))
    assert looks.look().complete
    looks.cluster.says = FoundTopics(found={OFFSETS: both[OFFSETS]}, missing={"connect-configs": why})
    assert looks.look().complete is complete


def test_the_error_of_a_topic_that_was_never_read_is_its_own() -> None:
    looks = Looks(FoundTopics(found=THERE.found, missing={"connect-configs": "Broker: Unknown error"}))
    assert looks.look().complete
    looks = Looks(
        FoundTopics(found={"connect-configs": TopicInfo("id", {0: 1})}, missing={OFFSETS: "Broker: Unknown error"})
    )
    assert not looks.look().complete, "without the offsets topic nothing is known"


CONFIGS = TopicInfo("id", {0: 1})


@pytest.mark.parametrize("why", [NO_SUCH_TOPIC, "not_authorized"])
@pytest.mark.parametrize("others", [{}, {"connect-configs": CONFIGS}])
def test_without_the_offsets_topic_the_clock_stands_whatever_else_can_be_read(
    why: str, others: dict[str, TopicInfo]
) -> None:
    looks = Looks(FoundTopics(found={**THERE.found, **others}))
    assert looks.look().complete
    assert looks.blind is None
    looks.cluster.says = FoundTopics(found=others, missing={OFFSETS: why})
    assert not any(looks.look().complete for _ in range(3))
    assert looks.blind == f"{OFFSETS} ({why})"
    looks.cluster.says = FoundTopics(found={**THERE.found, **others})
    assert looks.look().complete
    assert looks.blind is None


def test_a_new_cluster_is_not_blind_and_neither_is_one_that_has_only_just_been_asked() -> None:
    looks = Looks(FoundTopics(found={"connect-configs": CONFIGS}, missing=NEVER.missing))
    assert [looks.look().complete for _ in range(3)] == [False, True, True]
    assert looks.blind is None
    read_before = Looks(NEVER, made_on_demand=None)
    read_before.look()
    assert read_before.blind is None, "a broker that has just started may not know every topic yet"
    read_before.look()
    assert read_before.blind is not None


def test_what_was_last_known_of_a_deleted_topic_is_kept() -> None:
    both = FoundTopics(found={**THERE.found, "connect-configs": CONFIGS})
    looks = Looks(both)
    looks.look()
    looks.cluster.says = FoundTopics(found=THERE.found, missing={"connect-configs": NO_SUCH_TOPIC})
    assert not looks.look().gone, "one look is not enough"
    assert looks.look().gone == {SourcePartition("connect-configs", "id", 0): Bounds(3, 7, 1)}
    looks.cluster.says = FoundTopics(found={**THERE.found, "connect-configs": TopicInfo("id-2", {0: 1})})
    sample = looks.look()
    assert SourcePartition("connect-configs", "id-2", 0) in sample.bounds
    looks.cluster.says = FoundTopics(found={OFFSETS: TopicInfo("id-2", {0: 1})}, missing={"connect-configs": "hidden"})
    assert SourcePartition(OFFSETS, "id", 0) in looks.look().gone, "made anew between two looks"


def test_the_next_reader_knows_what_was_unread_of_a_topic_that_is_deleted_meanwhile() -> None:
    key = SourcePartition("connect-configs", "id", 0)
    before = Looks(FoundTopics(found={**THERE.found, "connect-configs": CONFIGS}))
    before.look()
    partly = Offset(partitions={key: 5, SourcePartition(OFFSETS, "id", 0): 7})
    unread = before.unread(partly)
    assert unread == {key: Bounds(3, 7, 1)}, "what is read to its end is not named"
    after = Looks(FoundTopics(found=THERE.found, missing={"connect-configs": NO_SUCH_TOPIC}), known=unread)
    assert advance(partly, after.look(), None, None, HEARTBEAT_MS).gone == {}, "one look is not enough"
    assert after.unread(partly) == unread, "nor is it forgotten by then"
    given_up = advance(partly, after.look(), None, None, HEARTBEAT_MS)
    assert given_up.gone == {key: "topic_deleted"}
    assert spans(partly, given_up) == [Span(key, 5, 7)]
    assert after.unread(given_up) == {}, "it is stated once"


def test_of_a_topic_whose_new_life_is_read_nothing_is_left_to_state() -> None:
    old, new = SourcePartition("connect-configs", "old", 0), SourcePartition("connect-configs", "new", 0)
    there = FoundTopics(found={**THERE.found, "connect-configs": TopicInfo("new", {0: 1})})
    looks = Looks(there, known={old: Bounds(3, 7, 1)})
    looks.look()
    assert old in looks.unread(Offset({old: 5}))
    assert old not in looks.unread(Offset({new: 7}))


def test_what_goes_wrong_beside_the_cluster_is_a_problem_and_the_sampling_goes_on() -> None:
    """Any exception of the client, or of a file: the thread states it and samples again."""
    told: list[str | None] = []
    wrong: list[Exception] = [RuntimeError("of the client"), OSError(24, "Too many open files"), KeyError("control")]
    seen = threading.Event()

    def wanted() -> dict[str, str]:
        if wrong:
            raise wrong.pop(0)
        return {OFFSETS: "offsets"}

    def note(sampler: Sampler) -> None:
        told.append(sampler.problem)
        if sampler.problem is None:
            seen.set()

    sampler = Sampler(Cluster(THERE), wanted, (), 0.01, lambda: 1_000, note)
    sampler.start()
    assert seen.wait(PATIENCE_S)
    sampler.stop()
    problems = [one for one in told if one is not None]
    assert len(problems) == 3
    assert all(one.startswith("the reader takes no samples (") for one in problems)
    assert "Too many open files" in problems[1]
