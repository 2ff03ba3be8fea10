"""What is published of a group's lag: the last sample of its offsets, with who holds each partition by the records.

A sample that is older than the group's last record says nothing: others may hold its partitions now. What is not known
is not in a sum: a partition whose end no broker told, or whose end lies before the committed offset, and one that a
member holds and on which the group has never committed.
"""

from collections.abc import Iterable, Mapping, Sequence

from rebalance_monitor.schemas.frozen import maker
from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.cluster.passed_ends import CAUGHT_UP
from rebalance_monitor.streaming.core.cluster.progress import PartitionProgress, SampledGroup
from rebalance_monitor.streaming.core.model.results import GroupProgress, HeldUp, MemberLag, PartitionLag, TopicLag
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from .capabilities import Followed, Holdings
from .intake import Intake

MOST_SHOWN = 500
"""Partitions of a group that are published one by one."""
NOBODY = Holdings()


def newest_sample(fold: Intake, last: LastRecord | None) -> SampledGroup | None:
    """The sample that tells of the group as its last record shows it; None where none does."""
    sampled = fold.knowledge.progress.groups.get(fold.group)
    if sampled is None or last is None or sampled.asked_ms <= clocks.monitors_time(fold.envelope, last.at_ms):
        return None
    return sampled


def published(fold: Intake, sampled: SampledGroup, holdings: Holdings | None, held_up: HeldUp | None) -> GroupProgress:
    """The group as this sample shows it. `holdings`: who holds what; None where nobody knows."""
    held = (holdings or NOBODY).members
    holder = {name: member for member, names in held.items() for name in names}
    known = {*sampled.partitions, *sampled.without_end}
    never = holder.keys() - known
    partitions = [_partition(fold, sampled, name, holder.get(name)) for name in sorted(known | never)]
    lags = [one for one in partitions if one.lag is not None]
    lag_ms, at_least = _longest(lags)
    shown = sorted(partitions, key=_most_first)
    return GroupProgress(
        cluster=fold.settings.name,
        group=fold.group,
        generation=fold.envelope.generation or 0,
        asked_ms=sampled.asked_ms,
        answered_ms=sampled.answered_ms,
        members=tuple(_member(member, names, sampled, never) for member, names in sorted(held.items())),
        without_members=_without_members(fold, holdings),
        lag=sum(one.lag or 0 for one in lags) if lags else None,
        lag_ms=lag_ms,
        at_least=at_least,
        trend=None if sampled.trend is None else sampled.trend.value,
        unknown=len(partitions) - len(lags),
        never_committed=len(never),
        first_ms=sampled.first_ms,
        changed_ms=sampled.changed_ms,
        held_up=held_up,
        topics=tuple(_topics(partitions)),
        partitions=tuple(shown[:MOST_SHOWN]),
        more_partitions=max(len(shown) - MOST_SHOWN, 0),
    )


def _without_members(fold: Intake, holdings: Holdings | None) -> bool | None:
    if holdings is not None:
        return not holdings.members
    session = fold.sessions.get(fold.envelope.lifecycle or "")
    return not fold.envelope.member_ids if isinstance(session, Followed) else None


def _partition(fold: Intake, sampled: SampledGroup, name: str, member: str | None) -> PartitionLag:
    one = sampled.partitions.get(name)
    if one is None:
        return _made(name, None, None, None, None, False, member)
    lag = one.known_lag
    behind = None
    if lag is not None:
        now_ms = sampled.answered_ms
        behind = fold.knowledge.progress.behind(name, one.committed, now_ms) if lag else CAUGHT_UP
    return _made(
        name,
        one.committed,
        one.end if one.end_known else None,
        lag,
        None if behind is None else behind.ms,
        behind is not None and behind.at_least,
        member,
    )


_made = maker(PartitionLag)


def _most_first(one: PartitionLag) -> tuple[bool, int, str]:
    return one.lag is not None, -(one.lag or 0), one.partition


def _longest(some: Iterable[PartitionLag | TopicLag]) -> tuple[int | None, bool]:
    """The largest lag in time, and whether it is a lower bound: one of them may be the largest."""
    known = [(one.lag_ms, one.at_least) for one in some if one.lag_ms is not None]
    return max((ms for ms, _ in known), default=None), any(at_least for _, at_least in known)


def _topics(partitions: Sequence[PartitionLag]) -> Iterable[TopicLag]:
    by_topic: dict[str, list[PartitionLag]] = {}
    for one in partitions:
        by_topic.setdefault(one.partition.rpartition("-")[0], []).append(one)
    for topic, own in sorted(by_topic.items()):
        lag_ms, at_least = _longest(own)
        unknown = sum(one.lag is None for one in own)
        lag = sum(one.lag or 0 for one in own)
        yield TopicLag(topic=topic, partitions=len(own), unknown=unknown, lag=lag, lag_ms=lag_ms, at_least=at_least)


def _member(member: str, names: Sequence[str], sampled: SampledGroup, never: Iterable[str]) -> MemberLag:
    partitions: Mapping[str, PartitionProgress] = sampled.partitions
    found = (partitions.get(name) for name in names)
    own = [one for one in found if one is not None and one.known_lag is not None]
    caught_up, advancing = sum(one.caught_up for one in own), sum(one.advancing for one in own)
    return MemberLag(
        member=member,
        partitions=len(names),
        advancing=advancing,
        caught_up=caught_up,
        standing=len(own) - caught_up - advancing,
        unknown=len(names) - len(own),
        lag=sum(one.known_lag or 0 for one in own),
        never_committed=len(frozenset(never).intersection(names)),
    )
