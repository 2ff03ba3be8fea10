"""Laws of a share group's state, as functions from states to what breaks them.

They hold between two moments, not in the midst of one. Several members may hold a partition, so nothing is said of
that. What is not known (a record that was compacted away, a topic without a name, a state of a later release) makes a
law silent, never broken. Source: docs/protocol/coordinator-log.md, section 7.2.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rebalance_monitor.schemas.group_values import MemberState
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.share import catalogue
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.targets.group import TopicPartition
from rebalance_monitor.streaming.core.targets.timing import SESSION_MS, SLACK_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareBreach:
    """A law that is broken. `member` where one is concerned; `partitions` where some are."""

    rule: Rule
    member: str | None = None
    partitions: frozenset[TopicPartition] = frozenset()
    waited_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ShareDeadline:
    """A law about time that something may break: since when it lasts (ms), and how long it may."""

    since_ms: int
    patience_ms: int
    breach: ShareBreach

    @property
    def due_ms(self) -> int:
        """The first moment at which the law is broken."""
        return self.since_ms + self.patience_ms + 1


def breaches_of(group: ShareGroup) -> list[ShareBreach]:
    """All laws that one state can break."""
    return [] if group.epoch is None else [*epoch_order(group), *unlike_target(group)]


def deadlines(group: ShareGroup, session_ms: int = SESSION_MS) -> Iterator[ShareDeadline]:
    """Everything that breaks a law if it lasts."""
    if group.epoch is None:
        return
    yield from lagging(group, session_ms)
    yield from no_target(group, session_ms)


def overdue(group: ShareGroup, now_ms: int, session_ms: int = SESSION_MS) -> list[ShareBreach]:
    """The laws about time, as of `now_ms` (on the clock of the records)."""
    due = (one for one in deadlines(group, session_ms) if one.due_ms <= now_ms)
    return [replace(one.breach, waited_ms=now_ms - one.since_ms) for one in due]


def epoch_order(group: ShareGroup) -> Iterator[ShareBreach]:
    """Law 1: member epochs, assignment epoch and group epoch never pass one another."""
    if group.epoch is None or group.assignment_epoch is None:
        return
    if group.assignment_epoch > group.epoch:
        yield ShareBreach(rule=catalogue.EPOCHS_FALL)
    for name, member in group.members.items():
        if member.epoch is not None and member.epoch > group.assignment_epoch:
            yield ShareBreach(rule=catalogue.EPOCHS_FALL, member=name)


def epoch_decreased(before: ShareGroup, after: ShareGroup) -> Iterator[ShareBreach]:
    """Law 1: no epoch goes back while the group, or the member, is there."""
    for earlier, later in ((before.epoch, after.epoch), (before.assignment_epoch, after.assignment_epoch)):
        if earlier is not None and later is not None and later < earlier:
            yield ShareBreach(rule=catalogue.EPOCHS_FALL)
    for name in before.members.keys() & after.members.keys():
        was, now = before.members[name].epoch, after.members[name].epoch
        if was is not None and now is not None and now < was:
            yield ShareBreach(rule=catalogue.EPOCHS_FALL, member=name)


def unlike_target(group: ShareGroup) -> Iterator[ShareBreach]:
    """Law 2: a member at the newest target's epoch holds its target, as far as it subscribes to the topics.

    A target may keep a topic that a member no longer subscribes to. While a new target is due, less is allowed.
    """
    names = group.names()
    for name, member in group.members.items():
        if member.state is not MemberState.STABLE or member.epoch != group.assignment_epoch:
            continue
        held, wanted = member.assigned(), member.wanted()
        missing = (one for one in wanted - held if names.get(one[0]) in member.names and _stays(group, one))
        wrong = (held - wanted) | (frozenset() if group.behind else frozenset(missing))
        if wrong:
            yield ShareBreach(rule=catalogue.UNLIKE_TARGET, member=name, partitions=wrong)


def _stays(group: ShareGroup, partition: TopicPartition) -> bool:
    """Whether the partition has share state: one whose topic was deleted has none any more."""
    return partition[1] in group.initialized().get(partition[0], ())


def lagging(group: ShareGroup, session_ms: int) -> Iterator[ShareDeadline]:
    """Law 3: every member moves to a new epoch when it next asks, or the broker removes it."""
    for name, member in group.members.items():
        if member.state is None or member.epoch is None or member.heard_ms is None:
            continue
        if group.assignment_epoch is None or group.assignment_ms is None or member.epoch >= group.assignment_epoch:
            continue
        since_ms = max(member.heard_ms, group.assignment_ms)
        yield ShareDeadline(since_ms, session_ms + SLACK_MS, ShareBreach(rule=catalogue.LAGGING, member=name))


def no_target(group: ShareGroup, session_ms: int) -> Iterator[ShareDeadline]:
    """Law 4: a target follows a new group epoch as soon as a member asks, which each does in time or is removed."""
    if group.behind and group.epoch_ms is not None and any(one.metadata for one in group.members.values()):
        yield ShareDeadline(group.epoch_ms, session_ms + SLACK_MS, ShareBreach(rule=catalogue.NO_TARGET))


def without_member(group: ShareGroup, counts: Mapping[str, tuple[bytes, int]]) -> Iterator[ShareBreach]:
    """Law 5: some target holds each partition of each subscribed topic, once the target is the newest.

    `counts`: topic name to id and number of partitions, of topics that surely exist.
    """
    if group.behind or not group.members or any(member.metadata is None for member in group.members.values()):
        return
    names = set(group.subscribed)
    exist = {(counts[name][0], number) for name in names & counts.keys() for number in range(counts[name][1])}
    if missing := frozenset(exist - group.wanted):
        yield ShareBreach(rule=catalogue.WITHOUT_MEMBER, partitions=missing)
