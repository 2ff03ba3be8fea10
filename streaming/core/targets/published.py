"""What a target is published with: partitions by name, and members' states in Kafka's words."""

from collections.abc import Callable, Mapping, Sequence

from rebalance_monitor.schemas.group_values import MemberState
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.model.epoch_detail import EpochDetail, MemberProgress
from rebalance_monitor.streaming.core.model.results import (
    Cause,
    Change,
    ConsumerShare,
    Generation,
    MemberResult,
    Source,
    Verdict,
)
from rebalance_monitor.streaming.core.targets.group import TargetGroup, TopicPartition

NameOf = Callable[[bytes], str]
"""The name of a topic by its id."""

STATE_WORDS: Mapping[MemberState, str] = {
    MemberState.STABLE: "STABLE",
    MemberState.UNREVOKED: "UNREVOKED_PARTITIONS",
    MemberState.UNRELEASED: "UNRELEASED_PARTITIONS",
}
UNKNOWN = "UNKNOWN"
MOST_PARTITIONS = 50
"""Partitions that are findings of one moment, at the most."""
MOST_NAMED = 5


def state_word(state: MemberState | None) -> str:
    """The state of a member in Kafka's words."""
    return UNKNOWN if state is None else STATE_WORDS[state]


def detail_of(group: TargetGroup, kind: str, progress: Sequence[MemberProgress]) -> EpochDetail:
    """How far the members are."""
    return EpochDetail(
        group_epoch=group.epoch,
        needed_ms=group.needed_ms,
        computed_ms=group.assignment_ms,
        progress=tuple(progress),
        kind=kind,
    )


def generation_of(
    view: GroupView,
    group: TargetGroup,
    detail: EpochDetail,
    *,
    source: Source,
    at_ms: int,
    members: Sequence[MemberResult],
    diff: Mapping[str, Change],
    cause: tuple[Cause, ...],
    verdict: Verdict,
) -> Generation:
    """A target of the group."""
    return Generation(
        cluster=view.settings.name,
        group=view.group,
        incarnation=view.envelope.incarnation,
        protocol_type=detail.kind,
        protocol=verdict.assignor,
        generation=group.assignment_epoch or 0,
        leader=None,
        at_ms=at_ms,
        state_ms=group.assignment_ms,
        source=source,
        members=tuple(members),
        diff=diff,
        cause=cause,
        verdict=verdict,
        detail=detail,
        historic=view.envelope.historic,
    )


def shown(partitions: frozenset[TopicPartition], name_of: NameOf) -> tuple[str, ...]:
    """Partitions as `topic-number`, in order."""
    return tuple(f"{topic}-{number}" for topic, number in share_of(partitions, name_of).partitions)


def share_of(partitions: frozenset[TopicPartition], name_of: NameOf) -> ConsumerShare:
    """Partitions by name, in order."""
    names = {topic: name_of(topic) for topic, _ in partitions}
    return ConsumerShare(tuple(sorted((names[topic], number) for topic, number in partitions)))


def listed(names: Sequence[str]) -> str:
    """The first of these names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
