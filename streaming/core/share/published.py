"""A target of a share group as it is published: members with what they should have and what they have."""

from collections.abc import Mapping

from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import diff_of
from rebalance_monitor.streaming.core.model.epoch_detail import EpochDetail, MemberProgress
from rebalance_monitor.streaming.core.model.results import Cause, Generation, MemberResult, Source, Verdict
from rebalance_monitor.streaming.core.share.group import KIND, ShareGroup, ShareView
from rebalance_monitor.streaming.core.targets import published
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.published import NameOf, share_of, shown, state_word


def generation_of(
    view: GroupView,
    target: Computed[ShareGroup],
    *,
    source: Source,
    at_ms: int,
    verdict: Verdict,
    cause: tuple[Cause, ...],
    left: Mapping[str, tuple[str, ...]],
    name_of: NameOf,
) -> Generation:
    """A target. `left`: what members had that have gone since the target before."""
    group = target.after
    had = {**left, **targets_by_member(target.before, name_of)}
    return published.generation_of(
        view,
        group,
        detail_of(group),
        source=source,
        at_ms=at_ms,
        members=[_member(name, one, name_of) for name, one in sorted(group.members.items())],
        diff=diff_of(had, targets_by_member(group, name_of)),
        cause=cause,
        verdict=verdict,
    )


def detail_of(group: ShareGroup) -> EpochDetail:
    """How far the members are."""
    return published.detail_of(group, KIND, progress_of(group))


def progress_of(group: ShareGroup) -> tuple[MemberProgress, ...]:
    """Each member on its way; none waits for another."""
    return tuple(
        MemberProgress(member_id=name, epoch=one.epoch, state=state_word(one.state))
        for name, one in sorted(group.members.items())
    )


def targets_by_member(group: ShareGroup, name_of: NameOf) -> dict[str, tuple[str, ...]]:
    """What each member should have, as `topic-number`."""
    return {name: shown(one.wanted(), name_of) for name, one in group.members.items()}


def _member(member_id: str, member: ShareView, name_of: NameOf) -> MemberResult:
    metadata = member.metadata
    return MemberResult(
        member_id=member_id,
        client_id="" if metadata is None else metadata.client_id,
        client_host="" if metadata is None else metadata.client_host,
        instance_id=None,
        worker=None,
        assigned=share_of(member.wanted(), name_of),
        revoked=None,
        owned=None if member.current is None else share_of(member.assigned(), name_of),
    )
