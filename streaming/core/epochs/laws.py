"""Laws of the state of a KIP-848 consumer group or a Streams group, as functions from its tally to what breaks them.

They hold between two operations, not in the midst of one. What is not known (a record that was compacted away, a topic
without a partition count, a state of a later release) makes a law silent, never broken. Members that are static and
away (epoch -2) count for ownership only. What members share out are units (`units`): partitions, or tasks in a role.
What a member breaks by itself is in `member_laws`; here is what only all members together show.
Source: docs/protocol/coordinator-log.md, sections 6.4 and 7.1.
"""

from collections.abc import Iterable, Iterator, Mapping

from rebalance_monitor.streaming.core.epochs.breaches import Breach, Law
from rebalance_monitor.streaming.core.epochs.group import STREAMS, EpochGroup
from rebalance_monitor.streaming.core.epochs.member_laws import HEARTBEAT_MS
from rebalance_monitor.streaming.core.epochs.tally import EpochTally
from rebalance_monitor.streaming.core.epochs.units import ACTIVE, Units
from rebalance_monitor.streaming.core.targets.breaches import Deadline
from rebalance_monitor.streaming.core.targets.operation import Operation
from rebalance_monitor.streaming.core.targets.timing import SLACK_MS

FIRST_TARGET_MS = 3_000
"""A broker's default for the time that it waits for more members of a Streams group that was empty (4.2)."""
_RANKS = {law: rank for rank, law in enumerate(Law)}


def state_findings(tally: EpochTally) -> list[Breach]:
    """All laws that one state can break by itself."""
    if tally.group.epoch is None:
        return []
    by_one = (breach for found in tally.broken.values() for breach in found)
    of_all = (several_holders, several_targets, group_epoch_order, copies_together, warm_up_alone)
    return _in_order(tally, [*by_one, *(breach for law in of_all for breach in law(tally))])


def overdue_findings(tally: EpochTally, now_ms: int) -> list[Breach]:
    """The laws about time, as of `now_ms` (on the clock of the records)."""
    group = tally.group
    if group.epoch is None:
        return []
    members_ms = now_ms - group.ahead_ms
    found = [one.late() for one in _deadlines(tally, members_ms)]
    due = no_target(tally)
    if due is not None and due.due_ms <= now_ms:
        found.append(due.late())
    return _in_order(tally, found)


def next_due_ms(tally: EpochTally, after_ms: int | None) -> int | None:
    """The first time after `after_ms`, of all times if it is None, at which a law about time is broken if nothing
    changes; None where there is none."""
    group = tally.group
    if group.epoch is None:
        return None
    members_ms = None if after_ms is None else after_ms - group.ahead_ms
    times = [tally.dues.after(members_ms)]
    patience_ms = waiting_patience_ms(tally)
    if patience_ms is not None:
        since_ms = tally.waits.after(None if members_ms is None else members_ms - patience_ms - 1)
        times.append(None if since_ms is None else since_ms + patience_ms + 1)
    found = [one + group.ahead_ms for one in times if one is not None]
    due = no_target(tally)
    if due is not None and (after_ms is None or due.due_ms > after_ms):
        found.append(due.due_ms)
    return min(found, default=None)


def several_holders(tally: EpochTally) -> Iterator[Breach]:
    """Law 1: over all members, what one alone may hold is disjoint, assigned or pending revocation."""
    if tally.held.several:
        yield Breach(law=Law.SEVERAL_HOLDERS, partitions=frozenset(tally.held.several))


def several_targets(tally: EpochTally) -> Iterator[Breach]:
    """Law 2, first part: targets are disjoint."""
    if tally.wanted.several:
        yield Breach(law=Law.SEVERAL_TARGETS, partitions=frozenset(tally.wanted.several))


def target_incomplete(tally: EpochTally, counts: Mapping[str, tuple[bytes, int]]) -> Iterator[Breach]:
    """Law 2, second part: targets cover every partition of every subscribed topic, once the target is the newest.

    `counts`: topic name to id and number of partitions. Topics without a count are left out: subscribed names need not
    exist.
    """
    if tally.group.behind or tally.unknown:
        return
    names = [name for name in tally.names if name in counts]
    wanted = frozenset((counts[name][0], number) for name in names for number in range(counts[name][1]))
    yield from _without_owner(tally, wanted)


def tasks_incomplete(tally: EpochTally, tasks: Mapping[str, int]) -> Iterator[Breach]:
    """The same of a Streams group: every task is active with one member. `tasks`: their number by subtopology."""
    if tally.group.behind or not tally.facts:
        return
    yield from _without_owner(tally, frozenset((ACTIVE, name, at) for name, of in tasks.items() for at in range(of)))


def _without_owner(tally: EpochTally, wanted: Units) -> Iterator[Breach]:
    missing = frozenset(unit for unit in wanted if unit not in tally.wanted)
    if missing:
        yield Breach(law=Law.TARGET_INCOMPLETE, partitions=missing)


def group_epoch_order(tally: EpochTally) -> Iterator[Breach]:
    """Law 3: the assignment epoch does not pass the group epoch."""
    group = tally.group
    if group.epoch is not None and group.assignment_epoch is not None and group.assignment_epoch > group.epoch:
        yield Breach(law=Law.EPOCH_ORDER)


def epoch_decreased(operation: Operation[EpochGroup]) -> Iterator[Breach]:
    """Law 3: no epoch goes back while the group, or the member, is there."""
    if operation.epochs_fell():
        yield Breach(law=Law.EPOCH_DECREASED)
    for name, earlier in operation.fallen():
        yield Breach(law=Law.EPOCH_DECREASED, member=name, fell_from=earlier)


def copies_together(tally: EpochTally) -> Iterator[Breach]:
    """A process has one copy of a task at most, in whatever role. Members whose process is not known are left out."""
    if twice := tally.copies_held.together():
        yield Breach(law=Law.COPIES_TOGETHER, partitions=twice)
    if twice := tally.copies_wanted.together():
        yield Breach(law=Law.TARGET_COPIES_TOGETHER, partitions=twice)


def warm_up_alone(tally: EpochTally) -> Iterator[Breach]:
    """A task warms up where another member is to run it until then."""
    warming = frozenset(task for task in tally.warming if (ACTIVE, task[1], task[2]) not in tally.wanted)
    if warming:
        yield Breach(law=Law.WARM_UP_ALONE, partitions=warming)


def waiting_patience_ms(tally: EpochTally) -> int | None:
    """Law 9: nobody waits for longer than the others may take to give up what they hold, or to be removed. A holder
    that was revoking for the target before gives that up first, and has its time-out twice. None where somebody's
    time-outs are not known."""
    if tally.unknown:
        return None
    silent_ms = max(tally.session_ms, max(tally.sessions, default=0))
    longest_ms = max(tally.timeouts, default=0)
    return 2 * longest_ms + silent_ms + HEARTBEAT_MS + SLACK_MS


def no_target(tally: EpochTally) -> Deadline[Breach] | None:
    """Law 10: a target follows a new group epoch as soon as a member asks, which one of them does in time or is
    removed. Its time is the group's."""
    group, asks_ms = tally.group, min(tally.asking, default=None)
    if not group.behind or group.epoch_ms is None or asks_ms is None:
        return None
    delay_ms = FIRST_TARGET_MS if group.kind == STREAMS else 0
    return Deadline(group.epoch_ms, asks_ms + delay_ms + SLACK_MS, Breach(law=Law.NO_TARGET))


def _deadlines(tally: EpochTally, members_ms: int) -> Iterator[Deadline[Breach]]:
    """What members have not kept by this time of theirs."""
    for name in tally.dues.until(members_ms):
        deadline = tally.facts[name].deadline
        if deadline is not None:
            yield deadline
    patience_ms = waiting_patience_ms(tally)
    if patience_ms is None:
        return
    for name in tally.waits.until(members_ms - patience_ms - 1):
        facts = tally.facts[name]
        missing = facts.wanted - facts.member.assigned()
        breach = Breach(law=Law.WAITING_LONG, member=name, partitions=missing)
        yield Deadline(facts.waits_since_ms or 0, patience_ms, breach)


def _in_order(tally: EpochTally, found: Iterable[Breach]) -> list[Breach]:
    """By law, then as members came into the group, the group itself before them."""
    listed = list(found)
    if len(listed) < 2:
        return listed
    places = tally.places()
    return sorted(listed, key=lambda one: (_RANKS[one.law], -1 if one.member is None else places[one.member]))
