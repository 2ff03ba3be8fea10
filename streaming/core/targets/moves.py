"""How what a member holds follows from what it held before: laws of one record beside the one before it.

Whoever is told to give something up keeps what its new target names, and gains nothing until the rest is given up.

    held {0, 1, 2}, target {0, 1}     UNREVOKED, holds {0, 1}, gives up {2}

Source: docs/protocol/coordinator-log.md, section 6.4, law 11.
"""

from collections.abc import Collection, Iterator

from rebalance_monitor.schemas.group_values import MemberState
from .breaches import Breach
from .group import TargetGroup
from .law import Law
from .member import StatedPart, TargetMember
from .operation import Operation
from .units import NONE, HeldUnit, Units


def unlike_before(operation: Operation, twice: Collection[HeldUnit] = ()) -> Iterator[Breach]:
    """Members that lost or gained what they should not, each by its record beside the one before, and by the target as
    of that record: several operations may share a moment. `twice`: what several members hold; who gained such a thing
    is told of by that."""
    parts = operation.parts
    wrote = {one.member or "" for one in operation.records if parts.get(one.type) is StatedPart.CURRENT}
    if not wrote or operation.deleted(StatedPart.EPOCH):
        return
    found: dict[str, Units] = {}
    for record, before, after in operation.steps(wrote):
        if parts.get(record.type) is not StatedPart.CURRENT or record.value is None:
            continue
        name = record.member or ""
        was = before.members.get(name)
        wrong = NONE if was is None else _wrong(after, was, after.members[name])
        if wrong and wrong.isdisjoint(twice):
            found.setdefault(name, wrong)
    for name in sorted(found):
        yield Breach(law=Law.UNLIKE_BEFORE, member=name, units=found[name])


def _wrong(group: TargetGroup, was: TargetMember, now: TargetMember) -> Units:
    if was.state is None or now.state is None or was.away or now.untold:
        return NONE
    if now.away:
        return (now.assigned() ^ was.assigned()) | now.pending()
    wanted, wrong = now.wanted(), NONE
    if now.state is MemberState.UNREVOKED:
        wrong = (now.held() - was.held()) | (now.assigned() - wanted) | (now.assigned() & now.pending())
        wrong |= was.assigned() - now.held()
    # A subscription that became smaller gives up what the target still names. Law 4 tells of who is at its target.
    if group.behind or group.unresolved(now) or group.arrived(now):
        return wrong
    return wrong | ((was.assigned() & wanted) - now.assigned())
