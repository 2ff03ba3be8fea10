"""Every way to compute a target wrongly by one partition or task, for groups whose coordinator assigns.

A target is what each member is to have: partitions, or tasks in a role (`targets.units`). The members of a Streams
group run in processes, of which each may have one copy of a task at most.

    right               a: active 0_0, active 0_1       b: active 1_0, standby 0_0
    moved               a: active 0_1                   b: active 1_0, standby 0_0, active 0_0
    roles exchanged     a: active 0_1, standby 0_0      b: active 1_0, active 0_0
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from rebalance_monitor.schemas.group_values import Partitions, TopicPartitions
from rebalance_monitor.schemas.streams_values import StreamsTarget, SubtopologyTasks, Tasks
from rebalance_monitor.streaming.core.targets.units import (
    ACTIVE,
    STANDBY,
    WARM_UP,
    HeldUnit,
    RoleTask,
    Units,
    alone,
    partitions_in,
    tasks_in,
)
from tests.profile import LONG

"""Changes every partition and task of every target, instead of one of each target."""
GivenTo: TypeAlias = Mapping[str, Units]
Mutants: TypeAlias = Iterator[tuple[str, dict[str, Units]]]
NO_NUMBER = 999
"""A partition that no topic has."""


def mutants(given: GivenTo, dice: random.Random, processes: Mapping[str, str] | None = None) -> Mutants:
    """One change at a time: its kind, and what each member is to have then. `processes`: where the members of a Streams
    group run."""
    for name, unit in _chosen(given, alone, dice):
        yield from _alone(given, dice, name, unit)
        if processes is not None and len(unit) == 3:
            yield from _beside(given, dice, processes, name, unit)
    for name, unit in _chosen(given, lambda units: units - alone(units), dice):
        if len(unit) == 3:
            yield from _copy(given, dice, name, unit)


def _chosen(given: GivenTo, part: Callable[[Units], Units], dice: random.Random) -> list[tuple[str, HeldUnit]]:
    found = [(name, unit) for name in given for unit in sorted(part(given[name]), key=repr)]
    return found if LONG else dice.sample(found, min(1, len(found)))


def _alone(given: GivenTo, dice: random.Random, name: str, unit: HeldUnit) -> Mutants:
    """What one member alone may have: taken away, to somebody else, to two, for something else, or out of nothing."""
    without = given[name] - {unit}
    yield "dropped", {**given, name: without}
    yield "invented", {**given, name: given[name] | {_with_number(unit, NO_NUMBER)}}
    others = [other for other in given if other != name and unit not in given[other]]
    if not others:
        return
    other = dice.choice(others)
    yield "moved", {**given, name: without, other: given[other] | {unit}}
    yield "doubled", {**given, other: given[other] | {unit}}
    back = sorted(alone(given[other]) - given[name], key=repr)
    if back:
        chosen = dice.choice(back)
        yield "swapped", {**given, name: without | {chosen}, other: (given[other] - {chosen}) | {unit}}


def _beside(given: GivenTo, dice: random.Random, processes: Mapping[str, str], name: str, unit: RoleTask) -> Mutants:
    """Copies of a task that runs: in its own process, one too many, or running instead of what runs."""
    _, part, number = unit
    copy = (STANDBY, part, number)
    yield "copy beside its active task", {**given, name: given[name] | {copy}}
    yield "active task as a copy", {**given, name: (given[name] - {unit}) | {copy}}
    holders = [other for other in given if copy in given[other]]
    if holders:
        holder = dice.choice(holders)
        promoted = (given[holder] - {copy}) | {unit}
        yield "roles exchanged", {**given, name: (given[name] - {unit}) | {copy}, holder: promoted}
        yield "copy promoted", {**given, name: given[name] - {unit}, holder: promoted}
    there = {processes.get(other) for other in (*holders, name)}
    free = [other for other in given if processes.get(other) not in there]
    if free:
        other = dice.choice(free)
        yield "copy too many", {**given, other: given[other] | {copy}}
        yield "warm-up too many", {**given, other: given[other] | {(WARM_UP, part, number)}}


def _copy(given: GivenTo, dice: random.Random, name: str, unit: RoleTask) -> Mutants:
    """A copy: taken away, to somebody else, for another one, in another role."""
    role, part, number = unit
    without = given[name] - {unit}
    yield "copy dropped", {**given, name: without}
    other_role = WARM_UP if role == STANDBY else STANDBY
    yield "copy in another role", {**given, name: without | {(other_role, part, number)}}
    others = [
        other
        for other in given
        if other != name and not given[other] & {(each, part, number) for each in (ACTIVE, STANDBY, WARM_UP)}
    ]
    if not others:
        return
    other = dice.choice(others)
    yield "copy moved", {**given, name: without, other: given[other] | {unit}}
    back = sorted(one for one in tasks_in(given[other]) - given[name] if one[0] == role)
    if back:
        chosen = dice.choice(back)
        yield "copies swapped", {**given, name: without | {chosen}, other: (given[other] - {chosen}) | {unit}}


def _with_number(unit: HeldUnit, number: int) -> HeldUnit:
    return (unit[0], unit[1], number) if len(unit) == 3 else (unit[0], number)


def partitions_of(units: Units) -> Partitions:
    """These partitions as a record states them."""
    found: dict[bytes, list[int]] = {}
    for topic, number in sorted(partitions_in(units)):
        found.setdefault(topic, []).append(number)
    return tuple(TopicPartitions(topic, tuple(numbers)) for topic, numbers in found.items())


def tasks_of(units: Units, before: StreamsTarget) -> StreamsTarget:
    """These tasks as a record states them."""
    return replace(before, active=_of(units, ACTIVE), standby=_of(units, STANDBY), warmup=_of(units, WARM_UP))


def _of(units: Units, role: str) -> Tasks:
    found: dict[str, list[int]] = {}
    for _, part, number in sorted(one for one in tasks_in(units) if one[0] == role):
        found.setdefault(part, []).append(number)
    return tuple(SubtopologyTasks(part, tuple(numbers)) for part, numbers in found.items())
