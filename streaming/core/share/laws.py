"""Laws of a share group's state, as functions from its tally to what breaks them.

They hold between two moments, not in the midst of one. Several members may hold a partition, so nothing is said of
that. What is not known (a record that was compacted away, a topic without a name, a state of a later release) makes a
law silent, never broken. What a member breaks by itself is in `member_laws`.
Source: docs/protocol/coordinator-log.md, section 7.2.
"""

from collections.abc import Iterable, Iterator, Mapping

from rebalance_monitor.streaming.core.share import catalogue
from rebalance_monitor.streaming.core.share.breaches import ShareBreach
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.share.tally import ShareTally
from rebalance_monitor.streaming.core.targets.breaches import Deadline
from rebalance_monitor.streaming.core.targets.operation import Operation
from rebalance_monitor.streaming.core.targets.timing import SLACK_MS


def breaches_of(tally: ShareTally) -> list[ShareBreach]:
    """All laws that one state can break."""
    if tally.group.epoch is None:
        return []
    early = (breach for found in tally.early.values() for breach in found)
    unlike = (breach for found in tally.unlike.values() for breach in found)
    return [*group_epoch_order(tally.group), *_in_order(tally, early), *_in_order(tally, unlike)]


def overdue(tally: ShareTally, now_ms: int) -> list[ShareBreach]:
    """The laws about time, as of `now_ms` (on the clock of the records)."""
    if tally.group.epoch is None:
        return []
    members_ms = now_ms - tally.group.ahead_ms
    known = (tally.facts[name].deadline for name in tally.dues.until(members_ms))
    found = _in_order(tally, (one.late() for one in known if one is not None))
    due = no_target(tally)
    return [*found, due.late()] if due is not None and due.due_ms <= now_ms else found


def next_due_ms(tally: ShareTally, after_ms: int | None) -> int | None:
    """The first time after `after_ms`, of all times if it is None, at which a law about time is broken if nothing
    changes; None where there is none."""
    group = tally.group
    if group.epoch is None:
        return None
    member_ms = tally.dues.after(None if after_ms is None else after_ms - group.ahead_ms)
    found = [] if member_ms is None else [member_ms + group.ahead_ms]
    due = no_target(tally)
    if due is not None and (after_ms is None or due.due_ms > after_ms):
        found.append(due.due_ms)
    return min(found, default=None)


def group_epoch_order(group: ShareGroup) -> Iterator[ShareBreach]:
    """Law 1: the assignment epoch does not pass the group epoch."""
    if group.epoch is not None and group.assignment_epoch is not None and group.assignment_epoch > group.epoch:
        yield ShareBreach(rule=catalogue.EPOCHS_FALL)


def epoch_decreased(operation: Operation[ShareGroup]) -> Iterator[ShareBreach]:
    """Law 1: no epoch goes back while the group, or the member, is there."""
    if operation.epochs_fell():
        yield ShareBreach(rule=catalogue.EPOCHS_FALL)
    for name, earlier in operation.fallen():
        yield ShareBreach(rule=catalogue.EPOCHS_FALL, member=name, fell_from=earlier)


def no_target(tally: ShareTally) -> Deadline[ShareBreach] | None:
    """Law 4: a target follows a new group epoch as soon as a member asks, which each does in time or is removed. Its
    time is the group's."""
    group = tally.group
    if not group.behind or group.epoch_ms is None or len(tally.unknown) == len(tally.facts):
        return None
    return Deadline(group.epoch_ms, tally.session_ms + SLACK_MS, ShareBreach(rule=catalogue.NO_TARGET))


def without_member(tally: ShareTally, counts: Mapping[str, tuple[bytes, int]]) -> Iterator[ShareBreach]:
    """Law 5: some target holds each partition of each subscribed topic, once the target is the newest.

    `counts`: topic name to id and number of partitions, of topics that surely exist.
    """
    if tally.group.behind or not tally.facts or tally.unknown:
        return
    names = [name for name in tally.names if name in counts]
    exist = ((counts[name][0], number) for name in names for number in range(counts[name][1]))
    if missing := frozenset(one for one in exist if one not in tally.wanted):
        yield ShareBreach(rule=catalogue.WITHOUT_MEMBER, partitions=missing)


def _in_order(tally: ShareTally, found: Iterable[ShareBreach]) -> list[ShareBreach]:
    """As members came into the group."""
    listed = list(found)
    if len(listed) < 2:
        return listed
    places = tally.places()
    return sorted(listed, key=lambda breach: places[breach.member or ""])
