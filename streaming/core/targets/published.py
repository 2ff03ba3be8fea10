"""A target as it is published: members with what they have, should have and have yet to give up, and who waits."""

from collections.abc import Mapping

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import diff_of
from rebalance_monitor.streaming.core.model.details import EpochDetail, MemberProgress
from rebalance_monitor.streaming.core.model.results import Cause, Generation, MemberResult, Source, Verdict
from . import tasks
from .group import TargetGroup, waiting_for
from .kind import Kind
from .member import TargetMember
from .operation import Computed
from .shown import Reads, share_of, targets_by_name
from .topics import NameOf


def generation_of(
    kind: Kind,
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
    history = view.knowledge.topics
    reads = tasks.reads(group, history, at_ms)
    progress, streams = progress_of(kind, group), kind.detail(group, history, at_ms)
    had = {**left, **targets_by_name(target.before, name_of)}
    return Generation(
        cluster=view.settings.name,
        group=view.group,
        incarnation=view.envelope.incarnation,
        protocol_type=kind.name,
        protocol=verdict.assignor,
        generation=group.assignment_epoch or 0,
        leader=None,
        at_ms=at_ms,
        state_ms=group.assignment_ms,
        source=source,
        members=tuple(_member(kind, name, one, name_of, reads) for name, one in sorted(group.members.items())),
        diff=diff_of(had, targets_by_name(group, name_of)),
        cause=cause,
        verdict=verdict,
        detail=replace(detail_of(kind, group), progress=progress, streams=streams),
        historic=view.envelope.historic,
    )


def detail_of(kind: Kind, group: TargetGroup) -> EpochDetail:
    return EpochDetail(
        group_epoch=group.epoch, needed_ms=group.needed_ms, computed_ms=group.assignment_ms, kind=kind.name
    )


def progress_of(kind: Kind, group: TargetGroup) -> tuple[MemberProgress, ...]:
    waits = waiting_for(group)
    return tuple(
        MemberProgress(
            member_id=name,
            epoch=one.epoch,
            state=kind.words.state(one.state),
            waits_for=tuple(sorted(waits.get(name, ()))),
        )
        for name, one in sorted(group.members.items())
    )


def _member(kind: Kind, member_id: str, member: TargetMember, name_of: NameOf, reads: Reads) -> MemberResult:
    metadata, known = member.metadata, member.current is not None
    return MemberResult(
        member_id=member_id,
        client_id="" if metadata is None else metadata.client_id,
        client_host="" if metadata is None else metadata.client_host,
        instance_id=member.instance_id,
        worker=None,
        assigned=share_of(member.wanted(), name_of, reads),
        revoked=share_of(member.pending(), name_of, reads) if known and kind.exclusive else None,
        owned=share_of(member.assigned(), name_of, reads) if known else None,
    )
