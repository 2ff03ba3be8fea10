"""GROUP-G4 in a group with targets: which static members went, by the records of one moment.

A static member that is closed leaves for a while: a type 8 with epoch -2. Its place is kept for the session time-out of
the broker; then it is removed. One that dies is removed at once, when its session time-out has passed. Source:
docs/protocol/coordinator-log.md, 6.2.

    type 8 of i3, epoch -2                    i3 is missed from the end of its session time-out on
    tombstones 8, 7, 5 of i3                  the same, from now on
    type 5 of another member id with i3       it is back
"""

from collections.abc import Collection, Iterator, Mapping

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.fold import missing_members
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.missing_members import NOBODY_MISSED, LastProcess, MissedMembers
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from .causes import asked_to_leave
from .group import TargetGroup
from .member import TargetMember
from .shown import shown
from .state import TargetsState
from .timing import shortest_session_ms, silent_member_ms
from .topics import NameOf


def noted(
    view: GroupView,
    before: TargetsState,
    after: TargetsState,
    changed: Collection[str],
    name_of: NameOf,
    last: LastRecord,
    *,
    sure: bool,
) -> tuple[TargetsState, tuple[Notice, ...]]:
    """The state with who is missed after a closed moment, and what goes on. `before`: the state that it began with;
    `changed`: members that may be others; `last`: the moment's last record; `sure`: no record was missing. Else a
    return may have been missed, so nobody is."""
    missed = _missed(view, before, after, changed, name_of, last) if sure else NOBODY_MISSED
    after = replace(after, missed=missed)
    if not (before.missed.members or missed.members):
        return after, ()
    return after, (missing_members.still_missing(view, missed, view.moment(last.at_ms)),)


def _missed(
    view: GroupView,
    before: TargetsState,
    after: TargetsState,
    changed: Collection[str],
    name_of: NameOf,
    last: LastRecord,
) -> MissedMembers:
    was, now = dict(_static(before.view, changed)), dict(_static(after.view, changed))
    came = len(now.keys() - was.keys() - before.missed.members.keys())
    arrivals = came + max(_others(after.view, changed) - _others(before.view, changed), 0)
    if was.keys() == now.keys() and not arrivals:
        return before.missed
    went = {name: one for name, one in was.items() if name not in now}
    return missing_members.noted(
        before.missed,
        _gone(view, before.view, went, after.view, last.at_ms, name_of),
        now,
        anybody=any(one.instance_id is not None for one in after.view.members.values()),
        arrivals=arrivals,
        at_ms=last.at_ms,
        source=last.source,
    )


def _gone(
    view: GroupView,
    before: TargetGroup,
    went: Mapping[str, tuple[str, TargetMember]],
    after: TargetGroup,
    at_ms: int,
    name_of: NameOf,
) -> dict[str, LastProcess]:
    """Those that did not ask to leave for good, as they were."""
    found, shortest_ms = {}, shortest_session_ms(view.settings, view.group)
    for instance, (name, member) in went.items():
        now, metadata = after.members.get(name), member.metadata
        for_a_while = now is not None and now.away
        if metadata is None or not (for_a_while or not asked_to_leave(member, at_ms, before.ahead_ms, shortest_ms)):
            continue
        since_ms = at_ms + silent_member_ms(view) if for_a_while else at_ms
        held = shown(member.held(), name_of)
        found[instance] = LastProcess(metadata.client_id, metadata.client_host, since_ms, held)
    return found


def _static(group: TargetGroup, names: Collection[str]) -> Iterator[tuple[str, tuple[str, TargetMember]]]:
    """Of these members the static ones that are not away, by instance id, each with its member id."""
    for name in names:
        member = group.members.get(name)
        instance = None if member is None else member.instance_id
        if member is not None and instance is not None and not member.away:
            yield instance, (name, member)


def _others(group: TargetGroup, names: Collection[str]) -> int:
    return sum(1 for name in names if name in group.members and group.members[name].instance_id is None)
