"""Who waits for whom in a group with targets: chains from a member to those who hold what it is to have."""

from typing import TypeAlias

from rebalance_monitor.schemas.group_values import MemberState
from rebalance_monitor.streaming.core.targets import units
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.member import TargetMember
from rebalance_monitor.streaming.core.targets.units import HeldUnit, Units


def waiting_for(group: TargetGroup) -> dict[str, dict[str, Units]]:
    """Law 9: for each member that waits, who still holds what of its target, or another copy of it in its process; ""
    for nobody."""
    some = group.members.items()
    waiting = [(name, one) for name, one in some if one.state is MemberState.UNRELEASED and not one.away]
    holders = _holders(group) if waiting else {}
    chains: dict[str, dict[str, Units]] = {}
    for name, member in waiting:
        by_holder: dict[str, set[HeldUnit]] = {}
        free: set[HeldUnit] = set()
        for unit in member.wanted() - member.assigned():
            alone, together = holders.get(unit, ()), holders.get(_copy_of(member, unit), ())
            others = {other for other in (*alone, *together) if other != name}
            for other in others:
                by_holder.setdefault(other, set()).add(unit)
            if not others:
                free.add(unit)
        found = by_holder | ({"": free} if free else {})
        chains[name] = {other: frozenset(some) for other, some in found.items()}
    return chains


_Copy: TypeAlias = tuple[str, str, str, int] | None
"""A copy of a task in a process, whatever its role: process, "copy", subtopology id, partition; None: there is none."""


def _holders(group: TargetGroup) -> dict[HeldUnit | _Copy, list[str]]:
    """Who holds what one member alone may hold, and who holds a copy of a task in each process."""
    found: dict[HeldUnit | _Copy, list[str]] = {}
    for name, member in group.members.items():
        held = member.held()
        for unit in units.alone(held):
            found.setdefault(unit, []).append(name)
        for copy in {_copy_of(member, unit) for unit in held} - {None}:
            found.setdefault(copy, []).append(name)
    return found


def _copy_of(member: TargetMember, unit: HeldUnit) -> _Copy:
    """The place of a task in the member's process; None for a partition, or where the process is not known."""
    if member.process is None or len(unit) != 3:
        return None
    return member.process, "copy", unit[1], unit[2]
