"""How the incremental assignor balanced before 3.4: only towards members that hold nothing, never twice in a row.

Unlike later releases (`connect_incremental`) it does not aim at equal loads. It revokes for balance only if the leader
may (`can_revoke`), no window is open, and at least one member holds nothing while another holds something. A round that
looked may look again next time if it found nothing; a round that was not allowed to look allows the next one, unless
a window is open. What is given up, per kind and in the order of the leader's hash map:

    2.3.0 to 2.6.1, 2.7.0   members above the floor of total/members give jobs, until one floor's worth is collected
    2.6.2 to 3.3.x          every member gives what it has above the ceiling

Totals count what members report, deleted jobs included; loads leave deleted jobs out. With 7 tasks on one member and
an empty second one the floor is 3 and the ceiling 4: both rules move 3 tasks.

Further oddities, all visible in the answers: a deleted job is taken only from the last of its holders; a member that
holds jobs of others too is asked to give those back and *not* the deleted ones (one map overwrites the other); jobs to
be given up still count as load while new ones are dealt; a list may name one task twice; deleted jobs that nobody holds
are remembered as revoked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from rebalance_monitor.assignors.java_order import sorted_names, sorted_tasks
from rebalance_monitor.assignors.java_table import copied_set, grouping_order, hash_map_order, hash_order, rests_on_java
from .eras import Era
from .memory import memory_after
from .model import ConnectMember, ConnectRound, Jobs, LeaderMemory, MemberShare, TaskId
from .survey import Load, Survey, fill
from .window import Window, handle_lost

J = TypeVar("J", str, TaskId)


@dataclass(slots=True)
class _Revoked:
    """What one member must stop, in order of writing; repeats are possible."""

    connectors: list[str] = field(default_factory=list)
    tasks: list[TaskId] = field(default_factory=list)


_ByMember = dict[str | None, _Revoked]


def balance(
    memory: LeaderMemory, round_: ConnectRound, sets: Survey, window: Window, era: Era, java_version: int
) -> tuple[dict[str, MemberShare], LeaderMemory]:
    """Shares of one round and the memory after it; `window` is updated in place."""
    window.rests_on.add("balances_fully")
    revoked = _deleted(sets, window)
    if not sets.held_once:
        window.rests_on.add("revokes_duplicates")
        if era.revokes_duplicates:
            revoked.update(_duplicated(sets.members, window, java_version))
    kept = [
        Load(
            member.id,
            [name for name in member.held.connectors if name not in sets.deleted.connectors],
            [task for task in member.held.tasks if task not in sets.deleted.tasks],
        )
        for member in sets.members
    ]
    loads = [Load(load.id, list(load.connectors), list(load.tasks)) for load in kept]
    again = handle_lost(window, sets.lost, loads, memory, {load.id for load in loads}, era)
    can_revoke = window.delay_ms == 0
    if can_revoke and (memory.can_revoke or sets.revocation_ignored):
        surplus = _surplus(kept, sets, window, era)
        for member_id, jobs in surplus.items():
            mine = revoked.setdefault(member_id, _Revoked())
            mine.connectors += jobs.connectors
            mine.tasks += jobs.tasks
        can_revoke = not surplus
    fill(loads, Jobs(sets.created.connectors + again.connectors, sets.created.tasks + again.tasks))
    before = {load.id: load for load in kept}
    shares = {load.id: _share(load, before[load.id], revoked.get(load.id, _Revoked())) for load in loads}
    return shares, memory_after(round_, sets, window, loads, revoked.values(), can_revoke=can_revoke)


def _share(load: Load, before: Load, revoked: _Revoked) -> MemberShare:
    # What a round adds stands behind what a member keeps.
    return MemberShare(
        Jobs(tuple(load.connectors[len(before.connectors) :]), tuple(load.tasks[len(before.tasks) :])),
        Jobs(tuple(revoked.connectors), tuple(revoked.tasks)),
    )


def _deleted(sets: Survey, window: Window) -> _ByMember:
    """Each deleted job under its last holder; under None if nobody holds it."""
    revoked: _ByMember = {}
    if not sets.deleted:
        return revoked
    by_id = {member.id: member.held for member in sets.members}
    order = hash_map_order(by_id)
    window.order_unsure |= order.unsure
    connector_owner: dict[str, str] = {}
    task_owner: dict[TaskId, str] = {}
    for member_id in order.keys():  # noqa: SIM118 - no dict
        connector_owner.update(dict.fromkeys(by_id[member_id].connectors, member_id))
        task_owner.update(dict.fromkeys(by_id[member_id].tasks, member_id))
    for name in sorted_names(sets.deleted.connectors):
        revoked.setdefault(connector_owner.get(name), _Revoked()).connectors.append(name)
    for task in sorted_tasks(sets.deleted.tasks):
        revoked.setdefault(task_owner.get(task), _Revoked()).tasks.append(task)
    return revoked


def _duplicated(members: Sequence[ConnectMember], window: Window, java_version: int) -> _ByMember:
    """Each job that is listed twice, under everybody who lists it."""
    connectors = _listed_twice([member.held.connectors for member in members], window, java_version)
    tasks = _listed_twice([member.held.tasks for member in members], window, java_version)
    revoked: _ByMember = {}
    if connectors or tasks:
        for member in members:
            held_connectors, held_tasks = set(member.held.connectors), set(member.held.tasks)
            mine = _Revoked(
                [name for name in connectors if name in held_connectors], [task for task in tasks if task in held_tasks]
            )
            if mine.connectors or mine.tasks:
                revoked[member.id] = mine
    return revoked


def _listed_twice(lists: Sequence[tuple[J, ...]], window: Window, java_version: int) -> list[J]:
    """In the order of the hash set the leader copies for every member."""
    counts: dict[J, int] = {}
    for listed in lists:
        for job in listed:
            counts[job] = counts.get(job, 0) + 1
    if len(counts) == sum(map(len, lists)):
        return []
    # Three collections in a row: the map of counts, the set of what counts twice, the copy of that set.
    grouped, doubtful = grouping_order(job for listed in lists for job in listed)
    twice = hash_order(job for job in grouped if counts[job] > 1)
    copied = copied_set(twice.keys(), java_version)
    window.rests_on |= rests_on_java((len(twice.keys()),))
    window.order_unsure |= doubtful or twice.unsure or copied.unsure
    return copied.keys()


def lopsided(loads: Sequence[Load]) -> bool:
    """Whether somebody holds nothing while somebody else holds something."""
    loaded = sum(1 for load in loads if load.connectors or load.tasks)
    return 0 < loaded < len(loads)


def _surplus(kept: Sequence[Load], sets: Survey, window: Window, era: Era) -> dict[str, _Revoked]:
    if not lopsided(kept):
        return {}
    loaded = [load for load in kept if load.connectors or load.tasks]
    window.rests_on |= {"revokes_to_ceiling"} if sets.held_once else {"revokes_to_ceiling", "counts_every_holder"}
    if era.counts_every_holder:
        total_connectors = sum(len(member.held.connectors) for member in sets.members)
        total_tasks = sum(len(member.held.tasks) for member in sets.members)
    else:
        total_connectors, total_tasks = len(sets.active.connectors), len(sets.active.tasks)
    take = _above_ceiling if era.revokes_to_ceiling else _one_floor
    connectors = take([load.connectors for load in loaded], total_connectors, len(kept))
    tasks = take([load.tasks for load in loaded], total_tasks, len(kept))
    return {
        load.id: _Revoked(load.connectors[:some], load.tasks[:others])
        for load, some, others in zip(loaded, connectors, tasks, strict=True)
        if some or others
    }


def _above_ceiling(hands: Sequence[Sequence[J]], total: int, members: int) -> list[int]:
    ceiling = -(-total // members)
    return [max(len(hand) - ceiling, 0) for hand in hands]


def _one_floor(hands: Sequence[Sequence[J]], total: int, members: int) -> list[int]:
    floor = wanted = total // members
    taken = []
    for hand in hands:
        taken.append(min(max(len(hand) - floor, 0), wanted))
        wanted -= taken[-1]
    return taken
