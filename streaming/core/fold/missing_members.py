"""GROUP-G4: static members that went, did not come back, and for whom nobody came instead.

Theory. A process with a `group.instance.id` that stops keeps its place in the group until its session time-out has
passed: a restart changes nothing. Only then the group goes on without it (coordinator-log.md 5.7, 6.2). Nothing stands
still, since others have its partitions, but a host may be lost. So the instance id is remembered with its last process.

    10:00:00  generation 7: i1, i2, i3
    10:01:30  generation 8: i1, i2            i3 is missed: its session time-out has passed
    10:11:30  no generation with i3 since     static_member_missing opens
    10:20:00  generation 9: i1, i2, i3        it ends

Who scales a group down does the same on purpose, and no record tells the two apart. What speaks for a purpose is no
finding: a member that asked to leave; a group that has no static member any more; a member that came instead, up to
ten minutes before or at any time after, as where each start of a process makes a new instance id. What is open ends a
day later at the latest.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.incidents.damping import patience_ms
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.of_every_group import STATIC_MEMBER_MISSING
from rebalance_monitor.streaming.core.incidents.rule import MINUTE_MS
from rebalance_monitor.streaming.core.incidents.transitions import Moment
from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Source, Subject
from .lifecycle import GroupView
from .static_members import Sightings

PATIENCE_MS = 10 * MINUTE_MS
"""How long a member may be missed beyond its session time-out, unless the configuration says otherwise (`for_ms`)."""
TOLD_MS = 24 * 60 * MINUTE_MS
"""What is open ends so long after the patience: the group is run without the member."""
INSTEAD_MS = 10 * MINUTE_MS
"""A member that came up to so long before another one went may have come instead of it."""
MOST_MISSED = 50
"""Members of one group that are missed at a time; arrivals that are remembered."""
MOST_HELD, MOST_LETTERS = 5, 100
"""Names that a message has of what a member held, and letters of each name."""
CODES = frozenset({STATIC_MEMBER_MISSING.code})


@dataclass(frozen=True, slots=True)
class LastProcess:
    """A static member that went, as it was seen last: client id, host, when its session time-out had passed (ms), and
    what it held, by name."""

    client_id: str
    host: str
    since_ms: int
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedMember:
    """A static member that went. `held`: the first names of what it held, of `held_count`; `since_ms`: when its session
    time-out had passed; `source`: the record without it; `several`: others of other hosts went with it. `told`: its
    patience has ended, the incident is open."""

    client_id: str
    host: str
    held: tuple[str, ...]
    held_count: int
    since_ms: int
    source: Source
    several: bool = False
    told: bool = False


@dataclass(frozen=True, slots=True)
class MissedMembers:
    """`members`: by instance id. `came_ms`: when members came that may have come instead of one that goes later."""

    members: Mapping[str, MissedMember] = field(default_factory=dict)
    came_ms: tuple[int, ...] = ()

    def moved(self, by_ms: int) -> "MissedMembers":
        """The same by a clock that is so far ahead."""
        if not by_ms or not (self.members or self.came_ms):
            return self
        members = {name: replace(one, since_ms=one.since_ms + by_ms) for name, one in self.members.items()}
        return MissedMembers(members, tuple(at_ms + by_ms for at_ms in self.came_ms))

    def due_ms(self, view: GroupView) -> int | None:
        """When the next patience ends, or the next member counts as given up."""
        waits_ms = _patience_ms(view)
        times = [one.since_ms + waits_ms + (TOLD_MS if one.told else 0) for one in self.members.values()]
        return min(times, default=None)


NOBODY_MISSED = MissedMembers()


def noted(
    before: MissedMembers,
    gone: Mapping[str, LastProcess],
    there: Collection[str],
    *,
    anybody: bool,
    arrivals: int,
    at_ms: int,
    source: Source,
) -> MissedMembers:
    """Who is missed after a record of time `at_ms`. `gone`: static members that are not in the group any more and did
    not ask to leave; `there`: instance ids that are in it, of those that may have been missed all; `anybody`: it has
    static members; `arrivals`: how many members it has that it did not have, beside those that were missed."""
    if not anybody:
        return NOBODY_MISSED
    if not (gone or before.members or before.came_ms or arrivals):
        return before
    came_ms = [one for one in before.came_ms if at_ms - one <= INSTEAD_MS] + [at_ms] * min(arrivals, MOST_MISSED)
    members = {name: one for name, one in before.members.items() if name not in there}
    several = len({one.host for one in gone.values()}) > 1
    for name, process in sorted(gone.items()):
        if name not in there and len(members) < MOST_MISSED:
            members[name] = MissedMember(
                client_id=process.client_id[:MOST_LETTERS],
                host=process.host[:MOST_LETTERS],
                held=tuple(one[:MOST_LETTERS] for one in process.held[:MOST_HELD]),
                held_count=len(process.held),
                since_ms=process.since_ms,
                source=source,
                several=several,
            )
    longest = sorted(members, key=lambda name: (members[name].since_ms, name))
    replaced = min(len(longest), len(came_ms))
    left = {name: members[name] for name in longest[replaced:]}
    return MissedMembers(left, tuple(came_ms[replaced:][-MOST_MISSED:]))


def after_record(
    before: MissedMembers,
    view: GroupView,
    body: GroupGeneration,
    was: Sightings,
    holds: Mapping[str, tuple[str, ...]],
    *,
    asked: Certainty | None,
    at_ms: int,
    source: Source,
) -> MissedMembers:
    """Who is missed after a classic group's record. `was`: the static members of the record before, `holds`: what
    everybody held then; `asked`: how sure it is that who went asked to leave."""
    there = {one.instance_id for one in body.members if one.instance_id is not None}
    if not was and not before.members:
        return NOBODY_MISSED
    gone = {} if asked is not None else {name: was[name][-1] for name in was.keys() - there}
    others = len(body.members) - len(there)
    others_before = len(view.envelope.member_ids) - len(was)
    arrivals = len(there - was.keys() - before.members.keys()) + max(others - others_before, 0)
    processes = {name: LastProcess(one.client_id, one.host, at_ms, holds.get(name, ())) for name, one in gone.items()}
    return noted(before, processes, there, anybody=bool(there), arrivals=arrivals, at_ms=at_ms, source=source)


def still_missing(view: GroupView, missed: MissedMembers, moment: Moment) -> Notice:
    """What goes on after a record: the members whose patience had ended before it."""
    return Notice(moment=moment, found=_findings(view, missed), evaluated=CODES)


def fired(
    view: GroupView, missed: MissedMembers, at_ms: int, *, historic: bool
) -> tuple[MissedMembers, tuple[Notice, ...]]:
    """The members whose patience ends by then, and those that are given up; nothing where there are none."""
    due_ms, waits_ms = missed.due_ms(view), _patience_ms(view)
    if due_ms is None or due_ms > at_ms:
        return missed, ()
    left = {
        name: replace(one, told=one.since_ms + waits_ms <= at_ms)
        for name, one in missed.members.items()
        if at_ms < one.since_ms + waits_ms + TOLD_MS
    }
    missed = replace(missed, members=left)
    return missed, (still_missing(view, missed, view.moment(at_ms, historic=historic)),)


def _patience_ms(view: GroupView) -> int:
    configured_ms = patience_ms(view.settings, view.group, STATIC_MEMBER_MISSING)
    return PATIENCE_MS if configured_ms is None else configured_ms


def _findings(view: GroupView, missed: MissedMembers) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            rule=STATIC_MEMBER_MISSING,
            severity=STATIC_MEMBER_MISSING.severity,
            certainty=Certainty.POSSIBLE if one.several else Certainty.LIKELY,
            subjects=(Subject("member", name),),
            message=f"{name[:MOST_LETTERS]} (client {one.client_id} on {one.host.lstrip('/')}) has been away since "
            f"{utc(one.since_ms)}, when its session time-out had passed; it held {_held(one)}",
            evidence=(Evidence(source=one.source),),
        )
        for name, one in sorted(missed.members.items())
        if one.told
    )


def _held(one: MissedMember) -> str:
    more = one.held_count - len(one.held)
    return ", ".join(one.held) + (f" and {more} more" if more else "") if one.held else "nothing"
