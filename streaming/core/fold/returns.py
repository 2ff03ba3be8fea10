"""Who comes back to a group again and again: what tells a crash loop from deployments and from autoscaling.

A member that is restarted joins under another member id. What stays is its `group.instance.id`, its client id, its
host, or the last two together. So members that come are remembered by these names for a while, and each that comes
later under the same name, beyond as many as were there at once, came back.

    10:00:00  c1-a on h1 comes         the name is remembered; nothing came back
    10:02:00  c1-b on h1 comes         c1-a is gone: once
    10:10:00  c1-f on h1 comes         for the fifth time within 15 minutes: a crash loop

A name may stand for several members (one client id for all, many processes behind one address). If `most` of them were
there at once, and members came back more than `most` times four times, then one of them came back five times at least.
Fewer prove nothing: each may have been restarted once, by a deployment.

The consumer of a sink task is no program of its own: a worker of Connect starts and stops it whenever its group moves
the task. Whether workers or tasks come and go too often, the Connect group and its statuses say.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.results import ConsumerShare, MemberResult
from . import departures

MOST_NAMES = 96
"""Names that are remembered of one group. The first ones are kept, so that members who all loop are counted."""
MOST_LETTERS = 100
SINK_TASK = "connector-consumer-"
"""What the client id of a sink task's consumer begins with; the name of the task follows."""
LASTS_MS = 300_000
"""Returns must go on for so long, as most findings must last before people are told: a process that only fails to start
a few times stays by then."""
STEP_MS = 30_000
"""What comes back within this time is kept as one value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Returner:
    """One name under which members came. `members`: those of the newest generation that had any, with how many
    partitions each was given; `most`: how many were there at once; `times`: when (ms) members came back, and how many;
    `came_ms`: when one came last; `stopped_ms`: how long what they held had no reader, by estimate, in partitions times
    ms. `looping`: they came back too often, which stays for one window after the last that came."""

    members: Mapping[str, int] = field(default_factory=dict)
    most: int = 0
    times: tuple[tuple[int, int], ...] = ()
    came_ms: int
    stopped_ms: int = 0
    looping: bool = False

    def back(self) -> int:
        """How often members came back, of what is remembered."""
        return sum(count for _, count in self.times)


Returners = Mapping[str, Returner]
"""By name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """The members of one generation. `came` and `gone`: member ids against the generation before; `silent_ms`: how long
    a member is silent before it is removed, `passed_ms`: the time since the generation before; `alone`: the group may
    have been empty in between, and its members are of one host: one program that runs anew."""

    at_ms: int
    members: Sequence[MemberResult]
    came: Set[str]
    gone: Set[str]
    silent_ms: int
    passed_ms: int
    alone: bool


def names_of(member: MemberResult) -> tuple[str, ...]:
    """What stays when the member is restarted, the most telling name first; nothing of the consumer of a sink task."""
    if member.client_id.startswith(SINK_TASK):
        return ()
    instance, client = (member.instance_id or "")[:MOST_LETTERS], member.client_id[:MOST_LETTERS]
    host = member.client_host.lstrip("/")[:MOST_LETTERS]
    names = (
        instance and f"instance {instance}",
        client and host and f"client {client} on {host}",
        client and f"client {client}",
        host and f"host {host}",
    )
    return tuple(name for name in names if name)


def after(before: Returners, now: Present, *, times: int, window_ms: int) -> Returners:
    """Who is remembered after a generation. Members came back too often if they did so `times` times within
    `window_ms`."""
    if not (before or now.came):
        return before
    members = _by_name(now.members, before, now.came)
    unread_ms = _without_reader_ms(now) if now.gone else 0
    left = {}
    for name, one in outlived(before, now.at_ms, window_ms=window_ms).items():
        # In a storm nearly all names are of members that neither this generation nor the one before had.
        concerned = name in members or not now.gone.isdisjoint(one.members)
        left[name] = _seen(one, now, unread_ms, members.get(name, ()), times) if concerned else one
    for name, some in members.items():
        if name not in left and len(left) < MOST_NAMES and _arrived(some, now):
            left[name] = Returner(members=_counts(some), most=len(some), came_ms=now.at_ms)
    return left


def outlived(known: Returners, at_ms: int, *, window_ms: int) -> Returners:
    """What is still remembered at this time."""
    return {name: _recent(one, at_ms - window_ms) for name, one in known.items() if one.came_ms > at_ms - window_ms}


def _recent(known: Returner, after_ms: int) -> Returner:
    """Without what came back at this time or earlier."""
    if not known.times or known.times[0][0] > after_ms:
        return known
    return replace(known, times=tuple(one for one in known.times if one[0] > after_ms))


def _loops(recent: Sequence[tuple[int, int]], most: int, times: int) -> bool:
    """Whether one of so many members has come back so often, and for some time already. No time that passes makes it
    true."""
    often = sum(count for _, count in recent) > (times - 1) * most
    return often and recent[-1][0] - recent[0][0] >= LASTS_MS


def looping(known: Returners) -> dict[str, Returner]:
    """Those that came back too often: of several names for the same members, the one that stands for most of them, and
    of equal ones the most telling."""
    chosen: dict[str, Returner] = {}
    covered = set[str]()
    some = [(name, one) for name, one in known.items() if one.looping]
    for name, one in sorted(some, key=lambda item: (-item[1].most, _place(item[0]), item[0])):
        if not covered.issuperset(one.members):
            chosen[name] = one
            covered.update(one.members)
    return chosen


def _place(name: str) -> int:
    """Where `names_of` has names of this kind."""
    if name.startswith("client ") and " on " in name:
        return 1
    return ("instance", "", "client", "host").index(name.partition(" ")[0])


def _by_name(members: Iterable[MemberResult], known: Returners, came: Set[str]) -> dict[str, list[MemberResult]]:
    """The members of each name that is remembered, or that one of those who came has."""
    named = [(one, names_of(one)) for one in members]
    wanted = {*known, *(name for one, names in named if one.member_id in came for name in names)}
    found: dict[str, list[MemberResult]] = {}
    for one, names in named:
        for name in names:
            if name in wanted:
                found.setdefault(name, []).append(one)
    return found


def _seen(before: Returner, now: Present, unread_ms: int, members: Sequence[MemberResult], times: int) -> Returner:
    """The name in a generation that has these members of it. `unread_ms`: how long what others held had no reader."""
    lost = sum(count for member, count in before.members.items() if member in now.gone)
    stopped_ms, counts = before.stopped_ms + lost * unread_ms, _counts(members) or before.members
    arrived, there = _arrived(members, now), len(members)
    if not arrived:
        return replace(before, members=counts, stopped_ms=stopped_ms)
    back = 0 if now.alone else arrived - max(there - before.most, 0)
    recent, most = before.times, max(before.most, there)
    if back > 0 and recent and now.at_ms < recent[-1][0] + STEP_MS:
        recent = (*recent[:-1], (recent[-1][0], recent[-1][1] + back))
    elif back > 0:
        recent = (*recent, (now.at_ms, back))
    return Returner(
        members=counts,
        most=most,
        times=recent,
        came_ms=now.at_ms,
        stopped_ms=stopped_ms,
        looping=before.looping or (bool(recent) and _loops(recent, most, times)),
    )


def _arrived(members: Iterable[MemberResult], now: Present) -> int:
    """How many of them came with this generation."""
    return sum(1 for one in members if one.member_id in now.came)


def _without_reader_ms(now: Present) -> int:
    """How long what a member held had no reader when it is gone: until its session time-out, unless the generation
    before was so short a time ago that it must have asked to leave."""
    if departures.left(1, 1 + now.passed_ms, now.silent_ms) is not None:
        return 0
    return min(now.silent_ms, now.passed_ms)


def _counts(members: Iterable[MemberResult]) -> dict[str, int]:
    return {
        one.member_id: len(one.assigned.partitions) if isinstance(one.assigned, ConsumerShare) else 0 for one in members
    }
