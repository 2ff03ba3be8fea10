"""A target as it is published: members with what they have, should have and have yet to give up, and who waits."""

from collections.abc import Mapping

from rebalance_monitor.schemas.group_values import Current
from rebalance_monitor.streaming.core.epochs.causes import named
from rebalance_monitor.streaming.core.epochs.expected import Computed
from rebalance_monitor.streaming.core.epochs.group import EpochGroup, MemberView
from rebalance_monitor.streaming.core.epochs.laws import waiting_for
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
from rebalance_monitor.streaming.core.targets.group import TopicPartition
from rebalance_monitor.streaming.core.targets.published import NameOf, share_of, shown, state_word


def generation_of(
    view: GroupView,
    target: Computed,
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
    had = {**left, **targets_by_name(target.before, name_of)}
    return Generation(
        cluster=view.settings.name,
        group=view.group,
        incarnation=view.envelope.incarnation,
        protocol_type="consumer",
        protocol=verdict.assignor,
        generation=group.assignment_epoch or 0,
        leader=None,
        at_ms=at_ms,
        state_ms=group.assignment_ms,
        source=source,
        members=tuple(_member(name, one, name_of) for name, one in sorted(group.members.items())),
        diff=diff_of(had, targets_by_name(group, name_of)),
        cause=cause,
        verdict=verdict,
        detail=detail_of(group),
        historic=view.envelope.historic,
    )


def detail_of(group: EpochGroup) -> EpochDetail:
    """How far the members are."""
    return EpochDetail(
        group_epoch=group.epoch,
        needed_ms=group.needed_ms,
        computed_ms=group.assignment_ms,
        progress=progress_of(group),
    )


def progress_of(group: EpochGroup) -> tuple[MemberProgress, ...]:
    """Each member on its way."""
    waits = waiting_for(group)
    return tuple(
        MemberProgress(
            member_id=name, epoch=one.epoch, state=state_word(one.state), waits_for=tuple(sorted(waits.get(name, ())))
        )
        for name, one in sorted(group.members.items())
    )


def targets_by_name(group: EpochGroup, name_of: NameOf) -> dict[str, tuple[str, ...]]:
    """What each member should have, as `topic-number`."""
    return {named(member_id, one): shown(one.wanted(), name_of) for member_id, one in group.members.items()}


def _member(member_id: str, one: MemberView, name_of: NameOf) -> MemberResult:
    metadata = one.metadata
    return MemberResult(
        member_id=member_id,
        client_id="" if metadata is None else metadata.client_id,
        client_host="" if metadata is None else metadata.client_host,
        instance_id=None if metadata is None else metadata.instance_id,
        worker=None,
        assigned=share_of(one.wanted(), name_of),
        revoked=_held(one.current, one.pending(), name_of),
        owned=_held(one.current, one.assigned(), name_of),
    )


def _held(current: Current | None, partitions: frozenset[TopicPartition], name_of: NameOf) -> ConsumerShare | None:
    return None if current is None else share_of(partitions, name_of)
