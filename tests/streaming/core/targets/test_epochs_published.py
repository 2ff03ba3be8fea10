"""What is published of real KIP-848 groups: each target, judged, as the clients saw it, wherever batches are cut."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

from rebalance_monitor.schemas.group_values import ConsumerMember
from rebalance_monitor.streaming.cli.captures import knowledge_of, metadata_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.topics import history_of
from rebalance_monitor.streaming.core.model.results import Aftermath, Generation, Standing
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.core.targets.assigning import CONSUMERS
from rebalance_monitor.streaming.core.targets.reasons import OTHER_TOPICS
from rebalance_monitor.streaming.core.targets.verdict import judge
from tests.streaming.core.targets.captured import CONSUMERS as CAPTURE
from tests.streaming.core.targets.captured import folded, rows_by_group
from tests.streaming.core.targets.test_epochs_capture import moved
from tests.streaming.core.targets.test_epochs_capture import targets as computed_ones
from tests.vector_files import json_lines

SETTINGS = ClusterSettings(name="k")
KNOWLEDGE = knowledge_of(CAPTURE)


@cache
def targets() -> list[dict[str, Any]]:
    objects = replay(records_of(CAPTURE), settings_of(CAPTURE), knowledge=KNOWLEDGE).objects
    return [one for one in objects if one["kind"] == "generation" and one["lifecycle"] == "consumer"]


def test_every_target_is_judged_and_nearly_all_match() -> None:
    grades = Counter(one["verdict"]["grade"] for one in targets())
    assert sum(grades.values()) == 245
    assert grades == {"match": 241, "explainable": 1, "not_judged": 3}, "conversions are not judged"
    assert all(one["verdict"]["reason_kind"] == "conversion" for one in targets() if not one["verdict"]["expected"])


def test_without_knowledge_of_topics_nothing_is_claimed() -> None:
    objects = replay(records_of(CAPTURE), SETTINGS).objects
    grades = Counter(one["verdict"]["grade"] for one in objects if one["kind"] == "generation")
    assert not grades["unexplained"]
    assert grades["explainable"] > 100, "the target itself shows the partitions where all subscribe alike"


def test_every_target_has_a_cause_and_a_last_word() -> None:
    assert all(one["settled"] for one in targets())
    assert not any(cause["kind"] == "unknown" for one in targets() for cause in one["cause"])
    ended = Counter(
        (one["epoch"]["reached_ms"] is not None, one["epoch"]["overtaken_by"] is not None) for one in targets()
    )
    assert set(ended) == {(True, False), (False, True)}


def test_clients_held_no_more_than_their_targets_and_all_of_them_once_these_were_reached() -> None:
    """A client applies a topic once it has resolved the topic's id, which may take it a while."""
    shares = {
        (one["group"], member["member_id"], one["generation"]): (one, member["assigned"]["partitions"])
        for one in targets()
        for member in one["members"]
    }
    in_order = sorted(targets(), key=lambda one: (one["group"], one["at_ms"], one["generation"]))
    next_ms = {
        (before["group"], before["generation"]): after["epoch"]["needed_ms"]
        for before, after in pairwise(in_order)
        if before["group"] == after["group"]
    }
    seen: Counter[str] = Counter()
    said = {
        (one["group"], one["member_id"], one["epoch"]): one
        for one in json_lines(CAPTURE / "truth.jsonl.gz")
        if one["kind"] == "state"
    }
    for key, last in said.items():
        if key not in shares:
            continue
        target, partitions = shares[key]
        wanted, owned = {f"{topic}-{number}" for topic, number in partitions}, set(last["owned"])
        assert owned <= wanted, key
        reached_ms, until_ms = target["epoch"]["reached_ms"], next_ms.get((key[0], key[2]), last["at_ms"] + 1)
        if reached_ms is not None and reached_ms <= last["at_ms"] < until_ms:
            missing = {one.rpartition("-")[0] for one in wanted - owned}
            held = {one.rpartition("-")[0] for one in owned}
            assert not missing & held or key[0] == "k-regex", (key, wanted - owned)
            seen["same" if owned == wanted else "topic not resolved"] += 1
    assert seen["same"] > 200
    assert seen["topic not resolved"] < 10


def test_a_topic_that_was_deleted_since_the_last_sample_makes_nothing_unexplained() -> None:
    """The coordinator knows at once; the sample that shows it comes later."""
    (first, *_) = metadata_of(CAPTURE)
    more = {**first.topics, "gone": (frozenset[str](),) * 3}
    known = history_of([replace(first, topics=more, ids={**first.ids, "gone": b"g" * 16})])
    at_ms, computed = next(one for one in computed_ones() if one[1].after.members)
    members = {
        name: replace(view, metadata=replace(view.metadata, names=(*view.metadata.names, "gone")))
        for name, view in computed.after.members.items()
        if isinstance(view.metadata, ConsumerMember)
    }
    asked = replace(computed, after=replace(computed.after, members=members))
    verdict = judge(CONSUMERS, asked, known, at_ms, lambda topic: topic.hex())
    assert (verdict.grade.value, verdict.reason) == ("explainable", OTHER_TOPICS)


def test_behind_each_target_stands_the_groups_state() -> None:
    said = folded(CAPTURE, "k-uniform", [rows_by_group(CAPTURE)["k-uniform"]])
    at = [number for number, one in enumerate(said) if isinstance(one, Generation)]
    assert len(at) > 50
    for start, end in pairwise([*at, len(said)]):
        assert isinstance(next(one for one in said[start:end] if not isinstance(one, Generation)), Standing | Aftermath)
        assert any(isinstance(one, Standing) for one in said[start:end])


def test_a_log_that_begins_in_the_midst_of_a_group_is_not_judged_until_the_group_is_in_order() -> None:
    rows = rows_by_group(CAPTURE)["k-uniform"]
    grades = [one.verdict for one in folded(CAPTURE, "k-uniform", [rows[200:]]) if isinstance(one, Generation)]
    assert grades[0].why == "records of the group before this target were not read"
    assert [one.grade.value for one in grades[-10:]] == ["match"] * 10


def test_a_compacted_log_shows_the_group_as_it_is() -> None:
    """Of each key only the newest record is left, in the order of the log."""
    rows = rows_by_group(CAPTURE)["k-default"]
    newest = {(row.body.record.type, row.body.record.member): row for row in rows}  # type: ignore[union-attr]
    left = sorted(newest.values(), key=lambda row: row.offset)
    said = folded(CAPTURE, "k-default", [left])
    states = [one.state for one in said if isinstance(one, Standing)]
    assert states[-1] == [one.state for one in folded(CAPTURE, "k-default", [rows]) if isinstance(one, Standing)][-1]
    assert not [
        one for one in folded(CAPTURE, "k-default", [left]) if isinstance(one, Generation) and one.verdict.expected
    ]


def test_every_target_with_a_partition_moved_is_unexplained() -> None:
    found: Counter[str] = Counter()
    for at_ms, computed in computed_ones():
        wrong = moved(computed)
        if wrong is not None:
            verdict = judge(CONSUMERS, wrong, KNOWLEDGE.topics, at_ms, lambda topic: topic.hex())
            found[verdict.grade.value] += 1
    assert set(found) == {"unexplained"}
    assert found["unexplained"] > 50
