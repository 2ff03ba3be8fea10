"""What the members of a group share out: partitions, or tasks of a Streams group in a role.

    consumer    (topic id, 3)              one member alone may hold it
    share       (topic id, 3)              several members may
    streams     ("active", "0", 3)         one member alone may hold it
                ("standby", "0", 3)        any member may, in a process that has no other copy of task 0_3

Laws, progress and deadlines of all kinds of groups speak of such units.
"""

from collections.abc import Iterable
from typing import TypeAlias

from rebalance_monitor.schemas.group_values import Current, Partitions, Target
from rebalance_monitor.schemas.streams_values import StreamsCurrent, StreamsTarget, Tasks

TopicPartition: TypeAlias = tuple[bytes, int]
RoleTask: TypeAlias = tuple[str, str, int]
"""Role, subtopology id, partition."""
HeldUnit: TypeAlias = TopicPartition | RoleTask
Units: TypeAlias = frozenset[HeldUnit]

ACTIVE, STANDBY, WARM_UP = "active", "standby", "warm-up"
ROLES = (ACTIVE, STANDBY, WARM_UP)
NONE: Units = frozenset()


def flat(partitions: Partitions) -> frozenset[TopicPartition]:
    """Partitions without order."""
    if not partitions:
        return frozenset()
    return frozenset((one.topic, number) for one in partitions for number in one.numbers)


def in_roles(active: Tasks, standby: Tasks, warm_up: Tasks) -> Units:
    """Tasks without order."""
    by_role = zip(ROLES, (active, standby, warm_up), strict=True)
    return frozenset((role, one.subtopology, number) for role, of in by_role for one in of for number in one.numbers)


def assigned(current: Current | StreamsCurrent | None) -> Units:
    """What a member may use."""
    if current is None:
        return NONE
    if isinstance(current, StreamsCurrent):
        return in_roles(current.active, current.standby, current.warmup)
    return flat(current.assigned)


def pending(current: Current | StreamsCurrent | None) -> Units:
    """What a member has to give up and may still use."""
    if current is None:
        return NONE
    if isinstance(current, StreamsCurrent):
        return in_roles(
            current.active_pending_revocation, current.standby_pending_revocation, current.warmup_pending_revocation
        )
    return flat(current.pending_revocation)


def targeted(target: Target | StreamsTarget | None) -> Units:
    """What a member is to have."""
    if target is None:
        return NONE
    return (
        in_roles(target.active, target.standby, target.warmup)
        if isinstance(target, StreamsTarget)
        else flat(target.partitions)
    )


def tasks_in(units: Iterable[HeldUnit]) -> frozenset[RoleTask]:
    return frozenset(one for one in units if len(one) == 3)


def partitions_in(units: Iterable[HeldUnit]) -> frozenset[TopicPartition]:
    return frozenset(one for one in units if len(one) == 2)


def alone(units: Iterable[HeldUnit]) -> Units:
    """What one member alone may hold, where members do not share: everything but copies of tasks."""
    return frozenset(one for one in units if len(one) == 2 or one[0] == ACTIVE)
