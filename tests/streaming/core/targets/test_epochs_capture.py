"""Every operation of real KIP-848 groups keeps the laws, and the broker's assignor computes every recorded target."""

from base64 import b64decode, urlsafe_b64decode
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby

from rebalance_monitor.assignors.broker.model import NEWEST, BrokerTopic
from rebalance_monitor.schemas.group_records import GroupRecord, decode_group_record
from rebalance_monitor.schemas.group_values import Target, TopicPartitions
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.core.targets import assigning, expected
from rebalance_monitor.streaming.core.targets.expected import Comparison
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.laws import epoch_decreased
from rebalance_monitor.streaming.core.targets.moves import unlike_before
from rebalance_monitor.streaming.core.targets.operation import Computed
from tests.streaming.core.targets.judged import (
    moment_of,
    overdue_findings,
    state_findings,
    take_all,
    tally_of,
    targets_of,
)
from tests.vector_files import GROUP_CAPTURES, json_lines

CAPTURE = GROUP_CAPTURES / "kip848-a"
LEADERS_DELAY_MS = 3_000
Operation = tuple[str, int, TargetGroup, list[GroupRecord], TargetGroup]


def lines(name: str) -> Iterator[dict[str, object]]:
    yield from json_lines(CAPTURE / f"{name}.jsonl.gz")


@cache
def operations() -> list[Operation]:
    """(group, time, state before, records, state after) of every operation."""
    groups: dict[str, TargetGroup] = {}
    found: list[Operation] = []
    for (_, at_ms), rows in groupby(lines("records"), key=lambda row: (row["partition"], row["timestamp"])):
        by_group: dict[str, list[GroupRecord]] = {}
        for row in rows:
            value = None if row["value"] is None else b64decode(str(row["value"]))
            outcome = decode_group_record(b64decode(str(row["key"])), value)
            if isinstance(outcome, Decoded):
                by_group.setdefault(outcome.value.group, []).append(outcome.value)
        assert isinstance(at_ms, int)
        for name, records in by_group.items():
            before = groups.get(name, TargetGroup())
            groups[name] = take_all(before, records, at_ms)
            found.append((name, at_ms, before, records, groups[name]))
    return found


@cache
def samples() -> list[tuple[int, dict[str, BrokerTopic]]]:
    """When the topics looked how."""
    found = []
    for line in lines("metadata"):
        topics = line["topics"]
        assert isinstance(topics, dict)
        assert isinstance(line["at_ms"], int)
        described = {
            name: BrokerTopic(id=urlsafe_b64decode(one["id"] + "=="), partitions=one["partitions"])
            for name, one in topics.items()
        }
        found.append((line["at_ms"], described))
    return found


def topics_around(at_ms: int) -> list[dict[str, BrokerTopic]]:
    """The coordinator sees a change up to some seconds after the sample was taken."""
    earlier = [topics for when, topics in samples() if when <= at_ms + LEADERS_DELAY_MS]
    later = [topics for when, topics in samples() if when > at_ms - LEADERS_DELAY_MS]
    return [*earlier[-2:], *later[:1]]


def explained(at_ms: int, computed: Computed) -> bool | None:
    """Whether the newest release computes this target from the topics of any sample around it; None if that cannot be
    told."""
    (assignor,) = assigning.preferred(computed.after)
    answers = {
        expected.explained(computed, topics, assigning.run_of(assignor, NEWEST)) for topics in topics_around(at_ms)
    }
    if Comparison.SAME in answers:
        return True
    return False if answers == {Comparison.OTHER} else None


def targets() -> Iterator[tuple[int, Computed]]:
    for _, at_ms, before, records, _ in operations():
        found = targets_of(before, records, at_ms)
        yield from ((at_ms, computed) for computed in found if not assigning.converted(computed))


def test_no_law_is_broken_between_operations() -> None:
    checked = 0
    for name, at_ms, before, records, after in operations():
        if after.epoch is None:
            continue
        operation = moment_of(at_ms, records, before, after)
        back = [*epoch_decreased(operation), *unlike_before(operation)]
        found = [*state_findings(after), *back, *overdue_findings(after, at_ms)]
        assert not found, (name, at_ms, found)
        checked += 1
    assert checked > 1_000


def test_newest_targets_cover_every_subscribed_partition() -> None:
    open_ones = 0
    for _, at_ms, _, _, after in operations():
        known = [{name: (one.id, one.partitions) for name, one in topics.items()} for topics in topics_around(at_ms)]
        open_ones += all(state_findings(after, counts) for counts in known)
    # After a topic grew, the coordinator needs up to its refresh interval until it computes a new target.
    assert open_ones < len(operations()) // 50


def test_the_brokers_assignor_computes_every_recorded_target() -> None:
    answers = Counter(explained(at_ms, computed) for at_ms, computed in targets())
    assert answers[True] > 200
    assert set(answers) == {True}


def test_a_target_with_two_partitions_exchanged_is_found() -> None:
    wrong = ((at_ms, moved(computed)) for at_ms, computed in targets())
    caught = Counter(explained(at_ms, computed) for at_ms, computed in wrong if computed is not None)
    assert caught[True] == 0
    assert caught[False] > 50


def moved(computed: Computed) -> Computed | None:
    """The same with a partition of the first member in the second one's target; None where the first has but one."""
    known = {name: view.target for name, view in computed.after.members.items()}
    given = {name: one.partitions for name, one in known.items() if isinstance(one, Target) and one.partitions}
    if len(given) < 2:
        return None
    (giver, (ours, *others)), (other, theirs) = list(given.items())[:2]
    if len(ours.numbers) < 2:
        return None
    taken = TopicPartitions(ours.topic, ours.numbers[1:])
    more = (*theirs, TopicPartitions(ours.topic, ours.numbers[:1]))
    members = computed.after.members
    wrong = {
        giver: replace(members[giver], target=Target((taken, *others))),
        other: replace(members[other], target=Target(more)),
    }
    return replace(computed, after=replace(computed.after, members={**members, **wrong}))


def test_groups_end_and_converge() -> None:
    last = {name: after for name, _, _, _, after in operations()}
    assert last["k-migrate"] == TargetGroup(), "converted to a classic group"
    assert tally_of(last["k-default"]).converged
    assert last["k-uniform"].members == {}
    assert last["k-uniform"].behind, "the last member left, so nobody computes a target"
