"""What is published of real share groups: each target, judged, wherever batches are cut."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from rebalance_monitor.schemas.group_values import Target, TopicPartitions
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Generation, Standing
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.core.targets import verdict
from rebalance_monitor.streaming.core.targets.assigning import SHARES
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.member import TargetMember
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.operation import records_of as said_by
from rebalance_monitor.streaming.core.targets.units import partitions_in
from tests.streaming.core.targets.captured import SHARES as CAPTURE
from tests.streaming.core.targets.captured import folded, rows_by_group
from tests.streaming.core.targets.judged import take_all, targets_of

KNOWLEDGE = knowledge_of(CAPTURE)
GROUPS = ("share-equal", "share-mixed")


@cache
def targets() -> list[dict[str, Any]]:
    objects = replay(records_of(CAPTURE), settings_of(CAPTURE), knowledge=KNOWLEDGE).objects
    return [one for one in objects if one["kind"] == "generation"]


def test_topics_that_are_created_again_make_no_target_unexplained() -> None:
    """Their share state goes with them, and is initialized anew under another id."""
    path = CAPTURE.with_name("share-topics")
    objects = replay(records_of(path), settings_of(path), knowledge=knowledge_of(path)).objects
    assert Counter(one["kind"] for one in objects) == {"generation": 59, "summary": 1}
    generations = [one for one in objects if one["kind"] == "generation"]
    assert {one["verdict"]["grade"] for one in generations} == {"match"}
    causes = Counter(cause["kind"] for one in generations for cause in one["cause"])
    assert causes["topic_changed"] > 10
    assert not causes["unknown"]


def test_every_target_matches() -> None:
    assert Counter(one["verdict"]["grade"] for one in targets()) == {"match": 72}
    assert {(one["lifecycle"], one["protocol_type"], one["protocol"]) for one in targets()} == {
        ("share", "share", "simple")
    }


@pytest.mark.parametrize("group", GROUPS)
def test_the_records_alone_are_enough(group: str) -> None:
    """Since 4.1 they name every partition that may be assigned."""
    said = folded(CAPTURE, group, [rows_by_group(CAPTURE)[group]], knows=False)
    grades = [one.verdict.grade for one in said if isinstance(one, Generation)]
    assert len(grades) > 20
    assert set(grades) == {"match"}


def test_every_target_has_a_cause_and_a_last_word() -> None:
    assert all(one["settled"] for one in targets())
    kinds = Counter(cause["kind"] for one in targets() for cause in one["cause"])
    assert set(kinds) == {
        "member_joined", "member_left", "subscription_changed", "partitions_initialized", "topic_changed"
    }  # fmt: skip
    assert all((one["epoch"]["reached_ms"] is None) == (one["epoch"]["overtaken_by"] is not None) for one in targets())


def test_a_partition_may_have_several_members_and_that_is_no_violation() -> None:
    held = Counter(
        (one["group"], one["generation"], *partition)
        for one in targets()
        for member in one["members"]
        for partition in member["assigned"]["partitions"]
    )
    assert max(held.values()) > 1
    objects = replay(records_of(CAPTURE), settings_of(CAPTURE), knowledge=KNOWLEDGE).objects
    assert {one["kind"] for one in objects} == {"generation", "summary"}


@pytest.mark.parametrize("group", GROUPS)
def test_the_state_is_stable_with_members_and_empty_without(group: str) -> None:
    words = [one.state for one in folded(CAPTURE, group, [rows_by_group(CAPTURE)[group]]) if isinstance(one, Standing)]
    assert set(words) == {"Stable", "Empty"}
    assert words[-1] == "Empty", "everybody left"


@pytest.mark.parametrize("group", GROUPS)
def test_a_log_that_begins_in_the_midst_has_no_match_until_the_group_is_in_order(group: str) -> None:
    rows = rows_by_group(CAPTURE)[group]
    verdicts = [one.verdict for one in folded(CAPTURE, group, [rows[50:]]) if isinstance(one, Generation)]
    assert verdicts[0].why.startswith(("the subscription of a member was not read", "records of the group before"))
    assert verdicts[-1].grade.value == "match"
    assert {one.grade.value for one in verdicts} <= {"match", "explainable", "not_judged"}


@pytest.mark.parametrize("group", GROUPS)
def test_a_compacted_log_shows_the_group_as_it_is(group: str) -> None:
    """Of each key only the newest record is left, in the order of the log."""
    rows = rows_by_group(CAPTURE)[group]
    newest = {(row.body.record.type, row.body.record.member): row for row in rows}  # type: ignore[union-attr]
    left = folded(CAPTURE, group, [sorted(newest.values(), key=lambda row: row.offset)])
    assert [one.state for one in left if isinstance(one, Standing)][-1] == "Empty"
    assert not [one for one in left if isinstance(one, Generation) and one.verdict.expected]


def computed_ones(group: str) -> Iterable[tuple[int, Computed]]:
    before = TargetGroup()
    moments: dict[int, list[Row]] = defaultdict(list)
    for row in rows_by_group(CAPTURE)[group]:
        moments[row.timestamp_ms].append(row)
    for at_ms, rows in moments.items():
        records = said_by(rows)
        yield from ((at_ms, one) for one in targets_of(before, records, at_ms))
        before = take_all(before, records, at_ms)


def moved(computed: Computed) -> Computed | None:
    """The same with a partition that one member gives to another; None where nobody can."""
    members = computed.after.members
    for giver, member in members.items():
        for topic, number in sorted(partitions_in(member.wanted())):
            for taker, other in members.items():
                if (topic, number) not in other.wanted() and taker != giver:
                    changed = {
                        giver: _of(member, partitions_in(member.wanted()) - {(topic, number)}),
                        taker: _of(other, partitions_in(other.wanted()) | {(topic, number)}),
                    }
                    return replace(computed, after=replace(computed.after, members={**members, **changed}))
    return None


def _of(view: TargetMember, wanted: frozenset[tuple[bytes, int]]) -> TargetMember:
    return replace(view, target=Target(tuple(TopicPartitions(topic, (number,)) for topic, number in sorted(wanted))))


def test_every_target_with_a_partition_moved_is_unexplained() -> None:
    found: Counter[str] = Counter()
    for group in GROUPS:
        for at_ms, computed in computed_ones(group):
            wrong = moved(computed)
            if wrong is not None:
                judged = verdict.judge(SHARES, wrong, TopicHistory(), at_ms, lambda topic: topic.hex())
                found[judged.grade.value] += 1
    assert set(found) == {"unexplained"}
    assert found["unexplained"] > 40
