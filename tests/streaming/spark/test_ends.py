"""What a sample says of a cluster that has no offsets topic yet, or has none any more."""

from collections.abc import Mapping

import pytest

from streaming.spark.ends import METADATA_EVERY_S, NO_SUCH_TOPIC, Place, Sampler, TopicInfo, Topics
from streaming.spark.offsets import Key, Kind, Offset, Sample, Span, advance, spans

OFFSETS = "__consumer_offsets"
HEARTBEAT_MS = 500
THERE = Topics(found={OFFSETS: TopicInfo("id", {0: 1})})
NEVER = Topics(missing={OFFSETS: NO_SUCH_TOPIC})


class Cluster:
    """A cluster that says what it is told to say, at the ends as well."""

    def __init__(self, says: Topics) -> None:
        self.says = says

    def topics(self, names: tuple[str, ...]) -> Topics:
        return self.says

    def ends(self, places: tuple[Place, ...], committed: bool) -> Mapping[Place, int | None]:
        return dict.fromkeys(places, 7)

    def beginnings(self, places: tuple[Place, ...]) -> Mapping[Place, int | None]:
        return dict.fromkeys(places, 3)


class Looks:
    """A sampler whose metadata is always due; each look is one sample."""

    def __init__(self, says: Topics, made_on_demand: str | None = OFFSETS) -> None:
        self.cluster, self._at_s = Cluster(says), 0.0
        wanted: dict[str, Kind] = {OFFSETS: "offsets", "connect-configs": "config"}
        self._sampler = Sampler(self.cluster, lambda: wanted, 1.0, lambda: 1_000, lambda _: None, made_on_demand)

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
    assert spans(begun, grown) == [Span(Key(OFFSETS, "id", 0), 3, 7)], "and its first records are read"


@pytest.mark.parametrize("why", ["not_authorized", ""])
def test_a_topic_that_is_hidden_or_unknown_is_waited_for(why: str) -> None:
    looks = Looks(Topics(missing={OFFSETS: why} if why else {}))
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
    looks = Looks(Topics(found=both))
    assert looks.look().complete
    looks.cluster.says = Topics(found={OFFSETS: both[OFFSETS]}, missing={"connect-configs": why})
    assert looks.look().complete is complete


def test_the_error_of_a_topic_that_was_never_read_is_its_own() -> None:
    looks = Looks(Topics(found=THERE.found, missing={"connect-configs": "Broker: Unknown error"}))
    assert looks.look().complete
    looks = Looks(
        Topics(found={"connect-configs": TopicInfo("id", {0: 1})}, missing={OFFSETS: "Broker: Unknown error"})
    )
    assert not looks.look().complete, "without the offsets topic nothing is known"
