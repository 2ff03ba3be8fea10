"""Targets of Streams groups: Kafka's own answers and random groups, written as records, folded, and judged."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from rebalance_monitor.assignors.broker import streams_sticky
from rebalance_monitor.assignors.broker.streams_model import (
    StreamsGroup,
    StreamsMember,
    StreamsResult,
    Subtopology,
    Task,
)
from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import (
    ConsumerShare,
    Generation,
    Grade,
    Incident,
    Result,
    Standing,
    Verdict,
)
from tests.profile import size
from tests.streaming.core.rules.builders import GROUP
from tests.streaming.core.rules.streams_groups import StreamsGroupStory, threads
from tests.streaming.folded_group import FoldedGroup
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "consumer" / "broker-assign.jsonl.gz"
Share = Mapping[str, Iterable[Task]]


@cache
def vectors() -> tuple[dict[str, Any], ...]:
    """Answers of the broker's own class; an order of tree bins is nothing that can be recomputed."""
    cases = [case for case in json_lines(VECTORS) if case["kind"] == "streams-sticky"]
    return tuple(case for case in cases if "tree-bins" not in case["tags"])


def flat(listed: Iterable[tuple[str, Iterable[int]]]) -> list[Task]:
    return [(name, number) for name, numbers in listed for number in numbers]


class Told(StreamsGroupStory):
    """A group with any topology: subtopology `n` reads topic `s-n`."""

    def __init__(self, parts: Mapping[str, tuple[int, bool]], standbys: int | None) -> None:
        super().__init__()
        self.parts, self.standbys = parts, standbys

    def known(self, *, partitions: bool = True) -> "Told":
        """Samples show the topics; without `partitions` they show none of these."""
        counts = {f"s-{name}": count for name, (count, _) in self.parts.items() if partitions}
        changelogs = {f"g-{name}-changelog": count for name, (count, state) in self.parts.items() if state}
        topics = {name: (frozenset[str](),) * count for name, count in (counts | changelogs).items()}
        self.knowledge = knowledge_of([TopicMetadata(self.now_ms - 1, topics)])
        return self

    def begin(self, processes: Mapping[str, str]) -> None:
        for name, process in processes.items():
            self.thread(name, process)
        sources = {name: [f"s-{name}"] for name in self.parts}
        self.topology(sources, [name for name, (_, state) in self.parts.items() if state])

    def computed(self, number: int, shares: Mapping[str, Share]) -> None:
        """An epoch, and its target: tasks by member and role."""
        self.epoch(number, self.standbys)
        for name, share in shares.items():
            self.given(name, share.get("active", ()), share.get("standby", ()))
        self.target(number)
        self.after()

    def verdict(self) -> Verdict:
        """On the last target."""
        return [one for one in folded(self) if isinstance(one, Generation)][-1].verdict


def folded(story: StreamsGroupStory, batches: Iterable[list[Row]] | None = None) -> list[Result]:
    """Everything that is published, whatever the cuts between batches."""
    group = FoldedGroup(story.settings, GROUP, story.knowledge)
    for rows in [story.rows] if batches is None else batches:
        group.fold(rows, rows[-1].timestamp_ms)
    group.fold(now_ms=story.now_ms + 1_000)
    return group.results


def told(case: Mapping[str, Any]) -> Told:
    """The case as records: the previous targets at epoch 1, Kafka's answer at epoch 2."""
    of = case["input"]
    parts = {name: (one["partitions"], one["stateful"]) for name, one in of["subtopologies"].items()}
    since_4_2 = not case["release"].startswith("4.1")
    standbys = int(of["configs"].get("num.standby.replicas", 0))
    story = Told(parts, standbys if since_4_2 else None).known()
    story.begin({one["id"]: one["processId"] for one in of["members"]})
    before = {one["id"]: {role: flat(one[role]) for role in ("active", "standby")} for one in of["members"]}
    story.computed(1, before)
    answer = case["expected"]["assignment"]
    story.computed(2, {name: {role: flat(share[role]) for role in share} for name, share in answer.items()})
    return story


def test_all_vectors_are_here() -> None:
    assert len(vectors()) > 70
    assert {case["release"] for case in vectors()} >= {"4.1.1", "4.3.1"}


@pytest.mark.parametrize("case", vectors(), ids=lambda case: str(case["id"]))
def test_every_answer_of_the_broker_is_recomputed(case: Mapping[str, Any]) -> None:
    verdict = told(case).verdict()
    if case["release"].startswith("4.1"):
        assert verdict.grade is not Grade.UNEXPLAINED, verdict.why
        assert verdict.grade is Grade.EXPLAINABLE or verdict.reason is not None
    else:
        assert verdict.grade is Grade.MATCH, verdict.why


def moved(case: Mapping[str, Any]) -> dict[str, Any] | None:
    """Kafka's answer with one active task in the hands of another member."""
    answer = json.loads(json.dumps(case))
    shares = answer["expected"]["assignment"]
    names = [name for name, share in shares.items() if share["active"]]
    others = [name for name in shares if name not in names[:1]]
    if not names or not others:
        return None
    name, numbers = shares[names[0]]["active"][0]
    shares[others[0]]["active"].append([name, [numbers.pop()]])
    return dict(answer)


def test_a_task_that_was_moved_is_unexplained() -> None:
    wrong = [mutant for case in vectors() if case["release"] == "4.3.1" and (mutant := moved(case)) is not None]
    grades = [told(case).verdict().grade for case in wrong[:25]]
    assert len(grades) == 25
    assert set(grades) == {Grade.UNEXPLAINED}


def life(seed: int, standbys: int, rounds: int = 4, *, stated: bool = True) -> Told:
    """A random group whose targets our own assignor computes: members join and leave. `stated`: records say how many
    standbys are configured."""
    random = Random(seed)
    parts = {str(at): (random.randint(1, 6), random.random() < 0.6) for at in range(random.randint(1, 3))}
    subtopologies = tuple(Subtopology(id=name, partitions=n, stateful=state) for name, (n, state) in parts.items())
    story = Told(parts, standbys if stated else None).known()
    story.begin({})
    members: dict[str, StreamsMember] = {}
    for number in range(1, rounds + 1):
        for _ in range(random.randint(1, 3)):
            if members and random.random() < 0.4:
                name = random.choice(list(members))
                del members[name]
                for type_ in (22, 21, 19):
                    story.write(type_, None, name)
            else:
                name = f"m{random.getrandbits(64):x}"
                members[name] = StreamsMember(id=name, process_id=f"p{random.randrange(4)}")
                story.thread(name, members[name].process_id)
        story.epoch(number, story.standbys)
        if not members:
            continue
        answer = streams_sticky.assign(
            StreamsGroup(members=tuple(members.values()), subtopologies=subtopologies, standby_replicas=standbys)
        )
        assert isinstance(answer, StreamsResult)
        for name, share in answer.shares.items():
            story.given(name, sorted(share.active), sorted(share.standby))
            members[name] = StreamsMember(
                id=name,
                process_id=members[name].process_id,
                active=tuple(sorted(share.active)),
                standby=tuple(sorted(share.standby)),
            )
        story.target(number)
        story.after()
    return story


def targets_of(results: Iterable[Result]) -> list[Generation]:
    return [one for one in results if isinstance(one, Generation)]


@profile(max_examples=size(15, 400), deadline=None)
@given(seed=st.integers(0, 2**32), standbys=st.integers(0, 2))
def test_every_target_of_random_groups_matches(seed: int, standbys: int) -> None:
    results = folded(life(seed, standbys))
    assert [(one.verdict.grade, one.verdict.why) for one in targets_of(results)] == [
        (Grade.MATCH, "") for _ in targets_of(results)
    ]
    assert not [one.message for one in results if isinstance(one, Incident)]


@profile(max_examples=size(10, 250), deadline=None)
@given(seed=st.integers(0, 2**32), cuts=st.sets(st.integers(1, 80)))
def test_cuts_between_batches_change_nothing(seed: int, cuts: set[int]) -> None:
    story = life(seed, 1)
    places = [0, *sorted(cut for cut in cuts if cut < len(story.rows)), len(story.rows)]
    batches = [story.rows[one:other] for one, other in pairwise(places)]
    assert [one for one in folded(story, batches) if isinstance(one, Generation | Incident)] == [
        one for one in folded(story) if isinstance(one, Generation | Incident)
    ]


@pytest.mark.parametrize("standbys", [0, 1, 2])
def test_standbys_that_no_record_states_are_tried(standbys: int) -> None:
    """Up to 4.1 no record states the group's configuration."""
    story = life(7, standbys, stated=False)
    assert any(state for _, state in story.parts.values())
    found = targets_of(folded(story))
    assert {one.verdict.grade for one in found} == {Grade.EXPLAINABLE}
    assert {one.verdict.reason.kind for one in found if one.verdict.reason} == {ReasonKind.UNKNOWN_SETTINGS}
    assert any(f"num.standby.replicas is not known; {standbys} " in one.verdict.why for one in found)


def test_partition_counts_that_no_sample_shows_are_taken_from_the_target() -> None:
    story = life(7, 1).known(partitions=False)
    story.knowledge = Told(story.parts, 1).knowledge
    found = targets_of(folded(story))
    assert {one.verdict.grade for one in found} == {Grade.EXPLAINABLE}
    assert {one.verdict.reason.kind for one in found if one.verdict.reason} == {ReasonKind.UNKNOWN_TOPICS}


def without_tasks(story: StreamsGroupStory, standbys: int | None, *, ready: bool = True) -> Verdict:
    """On a target that gives nobody a task."""
    story.thread("a")
    story.topology()
    story.epoch(1, standbys, ready=ready)
    story.target(1, a="")
    (only,) = targets_of(folded(story))
    return only.verdict


def test_the_record_of_the_group_tells_whether_topics_are_missing() -> None:
    """Since 4.2 it does; samples may show them a moment earlier or later than the coordinator sees them."""
    assert without_tasks(StreamsGroupStory(3), 0, ready=False).grade is Grade.MATCH
    assert without_tasks(StreamsGroupStory(3), 0).grade is Grade.UNEXPLAINED


def test_up_to_4_1_samples_tell_whether_topics_are_missing() -> None:
    assert without_tasks(StreamsGroupStory().sampled(0), None).grade is Grade.MATCH
    assert without_tasks(StreamsGroupStory(3), None).grade is Grade.UNEXPLAINED
    assert without_tasks(StreamsGroupStory(), None).grade is Grade.EXPLAINABLE


def test_what_is_published_of_a_target() -> None:
    (_, target) = targets_of(folded(threads()))
    assert (target.lifecycle, target.protocol_type, target.protocol) == ("streams", "streams", "sticky")
    assert target.streams is not None
    assert target.streams.version is None
    (a, b) = target.streams.processes
    assert [(one.active, one.standby, one.withheld) for one in (*a.threads, *b.threads)] == [
        (("0_0", "0_1"), ("0_2", "0_3"), ()),
        (("0_2", "0_3"), ("0_0", "0_1"), ("0_2", "0_3")),
    ]
    assert (a.end_point, a.tags) == ("10.0.0.1:8080", {"zone": "z"})
    (part,) = target.streams.subtopologies
    assert (part.tasks, part.stateful, part.topics, part.waiting) == (4, True, {"a": 4}, ())
    assert target.streams.missing_standbys == 0
    assert {name: change.gained for name, change in target.diff.items()} == {
        "a": ("0_2 (standby)", "0_3 (standby)"),
        "b": ("0_0 (standby)", "0_1 (standby)", "0_2", "0_3"),
    }
    given_b = {one.member_id: one.assigned for one in target.members}["b"]
    assert given_b == ConsumerShare((("a", 2), ("a", 3)))


@pytest.mark.parametrize("order", [(20, 17, 23), (23, 20, 17)])
@pytest.mark.parametrize("together", [True, False])
def test_a_deleted_group_is_dead_whatever_the_order_of_its_tombstones(
    order: tuple[int, ...], *, together: bool
) -> None:
    """A coordinator deletes the topology last."""
    story = threads()
    story.after().gone("a", "b", epoch=3)
    story.after()
    for type_ in order:
        story.write(type_, None)
        if not together:
            story.after(1)
    story.after(5_000)
    batches = [story.rows] if together else [[row] for row in story.rows]
    states = [one.state for one in folded(story, batches) if isinstance(one, Standing)]
    assert states[-2:] == ["Empty", "Dead"]


def test_a_group_without_a_topic_is_not_ready() -> None:
    story = StreamsGroupStory().sampled(0)
    story.thread("a")
    story.topology()
    story.epoch(1, ready=False)
    story.target(1, a="")
    story.holds("a", 1, "")
    story.after()
    assert [one.state for one in folded(story) if isinstance(one, Standing)] == ["NotReady"]
    story.epoch(2)
    story.target(2, a="0_0")
    story.holds("a", 2, "0_0")
    story.after()
    assert [one.state for one in folded(story) if isinstance(one, Standing)] == ["NotReady", "Stable"]
