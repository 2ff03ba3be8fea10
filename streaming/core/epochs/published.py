"""A target as it is published: members with what they have, should have and have yet to give up, and who waits."""

from collections.abc import Mapping
from dataclasses import replace

from rebalance_monitor.schemas.group_values import MemberState
from rebalance_monitor.streaming.core.epochs import tasks, tasks_published, units
from rebalance_monitor.streaming.core.epochs.causes import named
from rebalance_monitor.streaming.core.epochs.chains import waiting_for
from rebalance_monitor.streaming.core.epochs.group import STREAMS, EpochGroup, MemberView
from rebalance_monitor.streaming.core.epochs.tasks_published import Reads
from rebalance_monitor.streaming.core.epochs.units import Units
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import diff_of
from rebalance_monitor.streaming.core.model.epoch_detail import EpochDetail, MemberProgress
from rebalance_monitor.streaming.core.model.results import (
    Cause,
    ConsumerShare,
    Generation,
    MemberResult,
    Source,
    Verdict,
)
from rebalance_monitor.streaming.core.targets import published as partitions
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.published import UNKNOWN, NameOf

STREAMS_WORDS: Mapping[MemberState, str] = {
    MemberState.STABLE: "STABLE",
    MemberState.UNREVOKED: "UNREVOKED_TASKS",
    MemberState.UNRELEASED: "UNRELEASED_TASKS",
}


def generation_of(
    view: GroupView,
    target: Computed[EpochGroup],
    *,
    source: Source,
    at_ms: int,
    verdict: Verdict,
    cause: tuple[Cause, ...],
    left: Mapping[str, tuple[str, ...]],
    name_of: NameOf,
) -> Generation:
    """A target. `left`: what members had, by name, that have gone since the target before."""
    group = target.after
    reads = tasks.reads(group, view.knowledge.topics, at_ms)
    detail = detail_of(group)
    if group.kind == STREAMS:
        detail = replace(detail, streams=tasks_published.detail_of(group, view.knowledge.topics, at_ms))
    had = {**left, **targets_by_name(target.before, name_of)}
    return partitions.generation_of(
        view,
        group,
        detail,
        source=source,
        at_ms=at_ms,
        members=[_member(name, one, name_of, reads) for name, one in sorted(group.members.items())],
        diff=diff_of(had, targets_by_name(group, name_of)),
        cause=cause,
        verdict=verdict,
    )


def detail_of(group: EpochGroup) -> EpochDetail:
    """How far the members are."""
    return partitions.detail_of(group, group.kind, progress_of(group))


def progress_of(group: EpochGroup) -> tuple[MemberProgress, ...]:
    """Each member on its way."""
    waits = waiting_for(group)
    return tuple(
        MemberProgress(
            member_id=name,
            epoch=one.epoch,
            state=state_word(group, one),
            waits_for=tuple(sorted(waits.get(name, ()))),
        )
        for name, one in sorted(group.members.items())
    )


def state_word(group: EpochGroup, member: MemberView) -> str:
    """The state of a member in Kafka's words."""
    if group.kind != STREAMS:
        return partitions.state_word(member.state)
    return UNKNOWN if member.state is None else STREAMS_WORDS[member.state]


def targets_by_name(group: EpochGroup, name_of: NameOf) -> dict[str, tuple[str, ...]]:
    """What each member should have, as `shown`."""
    return {named(member_id, one): shown(one.wanted(), name_of) for member_id, one in group.members.items()}


def shown(some: Units, name_of: NameOf) -> tuple[str, ...]:
    """Partitions as `topic-number` and tasks as `tasks_published.shown`, in order."""
    return (*partitions.shown(units.partitions_in(some), name_of), *tasks_published.shown(units.tasks_in(some)))


def share_of(some: Units, name_of: NameOf, reads: Reads) -> ConsumerShare:
    """Partitions by name, and those that active tasks read, in order."""
    own = partitions.share_of(units.partitions_in(some), name_of)
    return own if own.partitions else tasks_published.share_of(units.tasks_in(some), reads)


def _member(member_id: str, member: MemberView, name_of: NameOf, reads: Reads) -> MemberResult:
    metadata = member.metadata
    known = member.current is not None
    return MemberResult(
        member_id=member_id,
        client_id="" if metadata is None else metadata.client_id,
        client_host="" if metadata is None else metadata.client_host,
        instance_id=None if metadata is None else metadata.instance_id,
        worker=None,
        assigned=share_of(member.wanted(), name_of, reads),
        revoked=share_of(member.pending(), name_of, reads) if known else None,
        owned=share_of(member.assigned(), name_of, reads) if known else None,
    )
