"""Laws that one member of a share group breaks by itself, given the epochs of its group.

Times are those of the member, to which the group's `ahead_ms` is to be added. Source: docs/protocol/coordinator-log.md,
section 7.2.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rebalance_monitor.streaming.core.share import catalogue
from rebalance_monitor.streaming.core.share.breaches import ShareBreach
from rebalance_monitor.streaming.core.share.group import ShareGroup, ShareView
from rebalance_monitor.streaming.core.targets.breaches import Deadline
from rebalance_monitor.streaming.core.targets.timing import SLACK_MS


@dataclass(frozen=True, slots=True)
class ShareTopics:
    """Names of topics, and which of their partitions have share state, by topic id."""

    names: Mapping[bytes, str]
    initialized: Mapping[bytes, frozenset[int]]


def topics_of(group: ShareGroup) -> ShareTopics:
    """What the records of a group tell of its topics."""
    return ShareTopics(group.names(), group.initialized())


def epoch_order(group: ShareGroup, name: str, member: ShareView) -> Iterator[ShareBreach]:
    """Law 1: a member's epoch does not pass the assignment epoch, nor its previous epoch its own."""
    ahead = group.assignment_epoch is not None and member.epoch is not None and member.epoch > group.assignment_epoch
    if ahead or member.previous_ahead:
        yield ShareBreach(rule=catalogue.EPOCHS_FALL, member=name)


def unlike_target(group: ShareGroup, topics: ShareTopics, name: str, member: ShareView) -> Iterator[ShareBreach]:
    """Law 2: a member at the newest target's epoch holds its target, as far as it subscribes to the topics.

    A target may keep a topic that a member no longer subscribes to. While a new target is due, less is allowed. A
    partition without share state is one of a topic that was deleted.
    """
    if not group.arrived(member) or member.untold:
        return
    held, wanted = member.assigned(), member.wanted()
    wrong = held - wanted
    if not group.behind:
        wrong |= {
            (topic, number)
            for topic, number in wanted - held
            if topics.names.get(topic) in member.names and number in topics.initialized.get(topic, ())
        }
    if wrong:
        yield ShareBreach(rule=catalogue.UNLIKE_TARGET, member=name, partitions=wrong)


def lagging(group: ShareGroup, name: str, member: ShareView, session_ms: int) -> Deadline[ShareBreach] | None:
    """Law 3: every member moves to a new epoch when it next asks, or the broker removes it."""
    since_ms = group.lags_since_ms(member)
    if since_ms is None:
        return None
    return Deadline(since_ms, session_ms + SLACK_MS, ShareBreach(rule=catalogue.LAGGING, member=name))
