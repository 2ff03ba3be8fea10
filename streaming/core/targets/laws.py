"""Laws of a group's state that only all members together show, as functions from its tally to what breaks them.

They hold between two operations, not in the midst of one. What is not known (a record that was compacted away, a topic
without a partition count, a state of a later release) makes a law silent, never broken. Members that are static and
away (epoch -2) count for ownership only. What members share out are units (`units`): partitions, or tasks in a role.
Which laws hold of the group, its tally says (`Terms`). What a member breaks by itself is in `member_laws`.
Source: docs/protocol/coordinator-log.md, sections 6.4, 7.1 and 7.2.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from .breaches import Breach, Deadline
from .law import Law
from .member_laws import HEARTBEAT_MS, SLACK_MS
from .operation import Operation
from .tally import Tally
from .units import ACTIVE, NONE, Units

_RANKS = {law: rank for rank, law in enumerate(Law)}


def state_findings(tally: Tally) -> list[Breach]:
    """All laws that one state can break by itself."""
    if tally.group.epoch is None:
        return []
    found = [breach for by_one in tally.broken.values() for breach in by_one]
    for law, wrong_of in _OF_ALL.items():
        wrong = wrong_of(tally) if law in tally.terms.laws else None
        if wrong is not None:
            found.append(Breach(law=law, units=wrong))
    return _in_order(tally, found)


def overdue_findings(tally: Tally, now_ms: int) -> list[Breach]:
    """The laws about time, as of `now_ms` (on the clock of the records)."""
    group = tally.group
    if group.epoch is None:
        return []
    found = [one.late() for one in _deadlines(tally, now_ms - group.ahead_ms)]
    due = no_target(tally)
    if due is not None and due.due_ms <= now_ms:
        found.append(due.late())
    return _in_order(tally, found)


def next_due_ms(tally: Tally, after_ms: int | None) -> int | None:
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


def _several_holders(tally: Tally) -> Units | None:
    """Law 1: over all members, what one alone may hold is disjoint, assigned or pending revocation."""
    return frozenset(tally.held.several) or None


def _several_targets(tally: Tally) -> Units | None:
    """Law 2, first part: targets are disjoint."""
    return frozenset(tally.wanted.several) or None


def _group_epoch_order(tally: Tally) -> Units | None:
    """Law 3: the assignment epoch does not pass the group epoch."""
    group = tally.group
    ahead = group.epoch is not None and group.assignment_epoch is not None and group.assignment_epoch > group.epoch
    return NONE if ahead else None


def _copies_together(tally: Tally) -> Units | None:
    """A process has one copy of a task at most, in whatever role. Members whose process is not known are left out."""
    return tally.copies_held.together() or None


def _target_copies_together(tally: Tally) -> Units | None:
    """The same of targets."""
    return tally.copies_wanted.together() or None


def _warm_up_alone(tally: Tally) -> Units | None:
    """A task warms up where another member is to run it until then."""
    return frozenset(task for task in tally.warming if (ACTIVE, task[1], task[2]) not in tally.wanted) or None


_OF_ALL: Mapping[Law, Callable[[Tally], Units | None]] = {
    Law.SEVERAL_HOLDERS: _several_holders,
    Law.SEVERAL_TARGETS: _several_targets,
    Law.EPOCH_ORDER: _group_epoch_order,
    Law.COPIES_TOGETHER: _copies_together,
    Law.TARGET_COPIES_TOGETHER: _target_copies_together,
    Law.WARM_UP_ALONE: _warm_up_alone,
}
"""What breaks the law; None where it is kept."""


def target_incomplete(tally: Tally, counts: Mapping[str, tuple[bytes, int]]) -> Iterator[Breach]:
    """Law 2, second part (5 of share groups): targets cover every partition of every subscribed topic, once the target
    is the newest.

    `counts`: topic name to id and number of partitions. Topics without a count are left out: subscribed names need not
    exist.
    """
    if tally.unknown:
        return
    names = [name for name in tally.names if name in counts]
    exist = frozenset((counts[name][0], number) for name in names for number in range(counts[name][1]))
    yield from _without_owner(tally, exist)


def tasks_incomplete(tally: Tally, tasks: Mapping[str, int]) -> Iterator[Breach]:
    """The same of a Streams group: every task is active with one member. `tasks`: their number by subtopology."""
    if tally.facts:
        exist = frozenset((ACTIVE, name, at) for name, of in tasks.items() for at in range(of))
        yield from _without_owner(tally, exist)


def _without_owner(tally: Tally, exist: Units) -> Iterator[Breach]:
    missing = frozenset(unit for unit in exist if unit not in tally.wanted)
    if missing and not tally.group.behind:
        yield Breach(law=Law.TARGET_INCOMPLETE, units=missing)


def epoch_decreased(operation: Operation) -> Iterator[Breach]:
    """Law 3: no epoch goes back while the group, or the member, is there."""
    if operation.epochs_fell():
        yield Breach(law=Law.EPOCH_DECREASED)
    for name, earlier in operation.fallen():
        yield Breach(law=Law.EPOCH_DECREASED, member=name, fell_from=earlier)


def waiting_patience_ms(tally: Tally) -> int | None:
    """Law 9: nobody waits for longer than the others may take to give up what they hold, or to be removed. A holder
    that was revoking for the target before gives that up first, and has its time-out twice. None where somebody's
    time-outs are not known."""
    if tally.unknown or Law.WAITING_LONG not in tally.terms.laws:
        return None
    silent_ms = max(tally.terms.session_ms, max(tally.sessions, default=0))
    longest_ms = max(tally.timeouts, default=0)
    return 2 * longest_ms + silent_ms + HEARTBEAT_MS + SLACK_MS


def no_target(tally: Tally) -> Deadline | None:
    """Law 10: a target follows a new group epoch as soon as a member asks, which one of them does in time or is
    removed. Its time is the group's."""
    group, asks_ms = tally.group, min(tally.asking, default=None)
    if not group.behind or group.epoch_ms is None or asks_ms is None:
        return None
    return Deadline(group.epoch_ms, asks_ms + tally.terms.first_target_ms + SLACK_MS, Breach(law=Law.NO_TARGET))


def _deadlines(tally: Tally, members_ms: int) -> Iterator[Deadline]:
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
        breach = Breach(law=Law.WAITING_LONG, member=name, units=facts.wanted - facts.member.assigned())
        yield Deadline(facts.waits_since_ms or 0, patience_ms, breach)


def _in_order(tally: Tally, found: Iterable[Breach]) -> list[Breach]:
    """By law, then as members came into the group, the group itself before them."""
    listed = list(found)
    if len(listed) < 2:
        return listed
    places = tally.places()
    return sorted(listed, key=lambda one: (_RANKS[one.law], -1 if one.member is None else places[one.member]))
