"""Laws that the broker's assignors keep for every group."""

from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.assignors.broker import range_assignor, simple, streams_sticky, uniform
from rebalance_monitor.assignors.broker.model import (
    AssignorFailed,
    BrokerGroup,
    BrokerMember,
    BrokerResult,
    BrokerTopic,
    Outcome,
    Release,
    TopicId,
    release_of,
)
from rebalance_monitor.assignors.broker.streams_model import (
    StreamsGroup,
    StreamsMember,
    StreamsResult,
    Subtopology,
    Task,
)
from tests.profile import size

Assign = Callable[..., Outcome]
few = settings(max_examples=size(15, 300), deadline=None)
RELEASES: tuple[Release, ...] = ((3, 7), (3, 8), (3, 9), (4, 0), (4, 1), (4, 2), (4, 3))
STICKY_RANGE_END: Release = (3, 9)

names = st.text(st.sampled_from("ABab01é\U0001f600"), min_size=1, max_size=4)
topic_names = st.sampled_from(["a", "b", "c", "AaAa", "BBBB"])
racks = st.sampled_from(["x", "y", "z"])
ids = st.binary(min_size=16, max_size=16)


@st.composite
def groups(draw: st.DrawFn, *, homogeneous: bool | None = None, max_members: int = 8) -> BrokerGroup:
    """A group whose previous targets are sound: disjoint, of existing partitions, partly of topics given up."""
    topics = {
        name: BrokerTopic(
            id=topic_id,
            partitions=(count := draw(st.integers(1, 9))),
            racks=tuple(draw(st.lists(st.frozensets(racks, max_size=2), min_size=count, max_size=count))),
        )
        for name, topic_id in zip(
            draw(st.lists(topic_names, unique=True, max_size=5)),
            draw(st.lists(ids, unique=True, min_size=5, max_size=5)),
            strict=False,
        )
    }
    member_ids = draw(st.lists(names, min_size=1, max_size=max_members, unique=True))
    alike = draw(st.booleans()) if homogeneous is None else homogeneous
    subscription = st.lists(topic_names, unique=True, max_size=4).map(tuple)
    common = draw(subscription)
    owner = draw(st.lists(st.sampled_from([*member_ids, None]), min_size=50, max_size=50))
    every = [(topic.id, number) for topic in topics.values() for number in range(topic.partitions)]
    held: dict[str, dict[TopicId, list[int]]] = {name: {} for name in member_ids}
    for at, name in zip(every, owner, strict=False):
        if name is not None:
            held[name].setdefault(at[0], []).append(at[1])
    return BrokerGroup(
        members=tuple(
            BrokerMember(
                id=name,
                names=common if alike else draw(subscription),
                previous=tuple((topic, tuple(numbers)) for topic, numbers in held[name].items()),
                instance_id=f"i{name}" if draw(st.booleans()) else None,
                rack=draw(st.none() | racks),
            )
            for name in member_ids
        ),
        topics=topics,
    )


def partitions(group: BrokerGroup) -> set[tuple[TopicId, int]]:
    """Every partition of every subscribed topic that exists."""
    wanted = {name for member in group.members for name in member.names}
    return {
        (topic.id, number)
        for name, topic in group.topics.items()
        if name in wanted
        for number in range(topic.partitions)
    }


def dealt(result: BrokerResult, members: Iterable[BrokerMember]) -> Counter[tuple[TopicId, int]]:
    """How many members have each partition."""
    return Counter(
        (topic, number)
        for member in members
        for topic, numbers in result.target(member.id).items()
        for number in numbers
    )


def sizes(result: BrokerResult, group: BrokerGroup) -> list[int]:
    return [sum(len(numbers) for numbers in result.target(member.id).values()) for member in group.members]


def follow(group: BrokerGroup, result: BrokerResult) -> BrokerGroup:
    """The same group after its new targets were written."""
    return BrokerGroup(
        members=tuple(
            BrokerMember(
                id=member.id,
                names=member.names,
                previous=tuple((topic, tuple(sorted(numbers))) for topic, numbers in result.target(member.id).items()),
                instance_id=member.instance_id,
                rack=member.rack,
            )
            for member in group.members
        ),
        topics=group.topics,
    )


def result_of(outcome: Outcome) -> BrokerResult | None:
    match outcome:
        case BrokerResult():
            return outcome
        case AssignorFailed():
            return None


@pytest.mark.parametrize("release", RELEASES, ids=str)
@pytest.mark.parametrize("assign", [uniform.assign, range_assignor.assign], ids=["uniform", "range"])
class TestConsumerGroups:
    @few
    @given(group=groups())
    def test_every_partition_of_subscribed_topics_has_one_owner(
        self, assign: Assign, release: Release, group: BrokerGroup
    ) -> None:
        result = result_of(assign(group, release=release))
        if result is None:
            assert release < (4, 0), "only previews may fail on a sound group"
            return
        assert dealt(result, group.members) == Counter(dict.fromkeys(partitions(group), 1))

    @few
    @given(group=groups())
    def test_nobody_has_a_topic_without_subscribing(self, assign: Assign, release: Release, group: BrokerGroup) -> None:
        result = result_of(assign(group, release=release))
        if result is None or (assign is uniform.assign and release < (3, 8)):
            return  # 3.7 moves partitions within a rack without looking at subscriptions
        for member in group.members:
            subscribed = {group.topics[name].id for name in member.names if name in group.topics}
            assert result.target(member.id).keys() <= subscribed


@pytest.mark.parametrize("release", RELEASES, ids=str)
@few
@given(group=groups(homogeneous=True))
def test_uniform_sizes_differ_by_at_most_one_with_equal_topics(release: Release, group: BrokerGroup) -> None:
    result = result_of(uniform.assign(group, release=release))
    assert result is not None
    counts = sizes(result, group)
    assert max(counts) - min(counts) <= 1


@few
@given(group=groups())
def test_uniform_leaves_its_own_result_alone(group: BrokerGroup) -> None:
    first = result_of(uniform.assign(group))
    assert first is not None
    second = result_of(uniform.assign(follow(group, first)))
    assert second is not None
    assert [second.target(one.id) for one in group.members] == [first.target(one.id) for one in group.members]


@few
@given(group=groups())
def test_range_gives_contiguous_blocks_in_member_order(group: BrokerGroup) -> None:
    result = result_of(range_assignor.assign(group))
    assert result is not None
    for topic in group.topics.values():
        blocks = [sorted(result.target(one.id).get(topic.id, ())) for one in range_assignor.member_order(group)]
        assert [number for block in blocks for number in block] in ([], list(range(topic.partitions)))


@few
@given(group=groups(), release=st.sampled_from(RELEASES[1:]))
def test_targets_do_not_depend_on_the_java_of_small_groups(group: BrokerGroup, release: Release) -> None:
    assert uniform.assign(group, release=release, java_version=17) == uniform.assign(
        group, release=release, java_version=21
    )


@pytest.mark.parametrize("release", [(3, 9), (4, 3)], ids=str)
@few
@given(group=groups())
def test_simple_gives_every_partition_of_subscribed_topics_to_somebody(release: Release, group: BrokerGroup) -> None:
    result = result_of(simple.assign(group, release=release))
    assert result is not None
    assert partitions(group) <= dealt(result, group.members).keys()


def test_simple_of_4_1_forgets_partitions_of_a_member_that_gave_the_topic_up() -> None:
    topic = BrokerTopic(id=bytes(16), partitions=2)
    left, other = BrokerMember(id="left", previous=((topic.id, (0, 1)),)), BrokerMember(id="other", names=("a",))
    group = BrokerGroup(members=(left, other), topics={"a": topic})
    for release, owned in (((4, 1), 1), ((4, 2), 2)):
        result = result_of(simple.assign(group, release=release))
        assert result is not None
        assert sum(dealt(result, group.members).values()) == owned


@few
@given(group=groups(homogeneous=True))
def test_simple_shares_every_partition_alike(group: BrokerGroup) -> None:
    result = result_of(simple.assign(group))
    assert result is not None
    wanted = partitions(group)
    if wanted:
        assert set(dealt(result, group.members).values()) <= {0, -(-len(group.members) // len(wanted))}


@few
@given(group=groups())
def test_simple_assigns_only_initialized_partitions(group: BrokerGroup) -> None:
    fresh = BrokerGroup(
        members=tuple(BrokerMember(id=one.id, names=one.names) for one in group.members), topics=group.topics
    )
    ready = {topic.id: frozenset({0}) for topic in group.topics.values()}
    result = result_of(simple.assign(fresh, assignable=ready))
    assert result is not None
    assert {number for _, number in dealt(result, fresh.members)} <= {0}


@st.composite
def streams_groups(draw: st.DrawFn) -> StreamsGroup:
    """A Streams group with sound previous targets; processes share members."""
    subtopologies = tuple(
        Subtopology(id=name, partitions=draw(st.integers(1, 7)), stateful=draw(st.booleans()))
        for name in draw(st.lists(st.sampled_from(["0", "1", "2", "10"]), unique=True, max_size=4))
    )
    member_ids = draw(st.lists(names, min_size=1, max_size=8, unique=True))
    tasks = [(one.id, number) for one in subtopologies for number in range(one.partitions)]
    owners = draw(st.lists(st.sampled_from([*member_ids, None]), min_size=len(tasks), max_size=len(tasks)))
    standbys = draw(st.lists(st.sampled_from([*member_ids, None]), min_size=len(tasks), max_size=len(tasks)))
    members = tuple(
        StreamsMember(
            id=name,
            process_id=draw(st.sampled_from(["p", "q", "r", "s"])),
            active=tuple(task for task, owner in zip(tasks, owners, strict=True) if owner == name),
            standby=tuple(task for task, owner in zip(tasks, standbys, strict=True) if owner == name),
        )
        for name in member_ids
    )
    return StreamsGroup(members=members, subtopologies=subtopologies, standby_replicas=draw(st.integers(0, 2)))


@pytest.mark.parametrize("release", [(4, 1), (4, 3)], ids=str)
class TestStreamsGroups:
    @few
    @given(group=streams_groups())
    def test_every_task_has_one_active_owner(self, release: Release, group: StreamsGroup) -> None:
        result = streams_sticky.assign(group, release=release)
        assert isinstance(result, StreamsResult)
        dealt_tasks = Counter(task for share in result.shares.values() for task in share.active)
        assert dealt_tasks == Counter((one.id, n) for one in group.subtopologies for n in range(one.partitions))

    @few
    @given(group=streams_groups())
    def test_no_process_has_two_copies_and_only_stateful_tasks_have_standbys(
        self, release: Release, group: StreamsGroup
    ) -> None:
        result = streams_sticky.assign(group, release=release)
        assert isinstance(result, StreamsResult)
        stateful = {one.id for one in group.subtopologies if one.stateful}
        copies: dict[str, list[Task]] = {}
        for member in group.members:
            share = result.shares[member.id]
            copies.setdefault(member.process_id, []).extend([*share.active, *share.standby])
            assert {name for name, _ in share.standby} <= stateful
        for tasks in copies.values():
            assert len(tasks) == len(set(tasks))
        for task, count in Counter(task for share in result.shares.values() for task in share.standby).items():
            assert count == min(group.standby_replicas, len(copies) - 1), task

    @few
    @given(group=streams_groups())
    def test_no_member_has_more_than_its_part_of_the_actives(self, release: Release, group: StreamsGroup) -> None:
        result = streams_sticky.assign(group, release=release)
        assert isinstance(result, StreamsResult)
        most = -(-sum(one.partitions for one in group.subtopologies) // len(group.members))
        if release >= (4, 2):
            assert all(len(share.active) <= most for share in result.shares.values())


def test_a_group_without_members_has_no_targets() -> None:
    empty = BrokerGroup(members=(), topics={})
    assert uniform.assign(empty) == range_assignor.assign(empty) == simple.assign(empty) == BrokerResult(shares={})


def test_a_group_with_tasks_and_without_members_cannot_be_assigned() -> None:
    group = StreamsGroup(members=(), subtopologies=(Subtopology(id="0", partitions=1, stateful=False),))
    for release in ((4, 1), (4, 3)):
        assert streams_sticky.assign(group, release=release) == AssignorFailed("TaskAssignorException")


def test_a_release_is_read_from_its_first_two_numbers() -> None:
    assert release_of("4.1.1") == (4, 1)
    with pytest.raises(ValueError, match="invalid literal"):
        release_of("trunk.1")


def test_two_claims_of_one_partition_both_stay_where_topics_differ() -> None:
    first_topic, other = BrokerTopic(id=bytes(16), partitions=2), BrokerTopic(id=bytes([1] * 16), partitions=1)
    members = (
        BrokerMember(id="m1", names=("a",), previous=((first_topic.id, (0,)),)),
        BrokerMember(id="m2", names=("a", "b"), previous=((first_topic.id, (0,)),)),
    )
    result = result_of(uniform.assign(BrokerGroup(members=members, topics={"a": first_topic, "b": other})))
    assert result is not None
    assert [sorted(result.target(name).get(first_topic.id, ())) for name in ("m1", "m2")] == [[0, 1], [0]]


def test_a_target_that_names_a_missing_partition_makes_uniform_throw() -> None:
    topic, other = BrokerTopic(id=bytes(16), partitions=2), BrokerTopic(id=bytes([1] * 16), partitions=1)
    odd = BrokerMember(id="m1", names=("a",), previous=((topic.id, (0, 7)),))
    different = BrokerGroup(members=(odd, BrokerMember(id="m2", names=("b",))), topics={"a": topic, "b": other})
    assert uniform.assign(different) == AssignorFailed("ArrayIndexOutOfBoundsException")
    equal = BrokerGroup(members=(odd, BrokerMember(id="m2", names=("a",))), topics={"a": topic})
    assert uniform.assign(equal) == AssignorFailed("PartitionAssignorException")
