"""The sets a round of the incremental assignor starts from: what is configured, held, deleted, lost, new.

`configured` lists all jobs in Java's order, so the sets taken from it need no sorting of their own.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

from rebalance_monitor.assignors.java_order import utf16_key
from rebalance_monitor.assignors.java_table import hash_map_order
from rebalance_monitor.assignors.java_tree import TREE_BUCKET
from .eras import Era
from .model import ConfigSnapshot, ConnectMember, ConnectRound, Jobs, LeaderMemory, TaskId
from .round import configured_jobs

J = TypeVar("J", str, TaskId)


@dataclass(frozen=True, slots=True)
class JobSet:
    """Connectors and tasks without an order."""

    connectors: Set[str]
    tasks: Set[TaskId]

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)


@dataclass(slots=True)
class Load:
    """A member with the jobs it will have after the round; lists grow and shrink while the round is computed."""

    id: str
    connectors: list[str]
    tasks: list[TaskId]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """One round's sets. `lost` and `created` are disjoint parts of `configured` that nobody holds."""

    members: tuple[ConnectMember, ...]
    """In the order in which the leader's hash map yields them."""
    order_unsure: bool
    configured: Jobs
    active: JobSet
    deleted: JobSet
    lost: Jobs
    created: Jobs
    revocation_ignored: bool
    """Something the last round revoked is still held: that round was not carried out."""
    rests_on: frozenset[str]
    """See `ConnectResult.rests_on`."""

    @property
    def held_once(self) -> bool:
        """Whether no job is listed twice, by one member or by two."""
        held = [member.held for member in self.members]
        return sum(len(one.connectors) for one in held) == len(self.active.connectors) and sum(
            len(one.tasks) for one in held
        ) == len(self.active.tasks)


def survey(memory: LeaderMemory, round_: ConnectRound, snapshot: ConfigSnapshot, era: Era) -> Survey:
    """Compare what the leader remembers with what members report and what is configured."""
    members, order_unsure, rests_on = in_leaders_order(round_.members, era)
    configured = configured_jobs(snapshot)
    active = JobSet(
        {name for member in members for name in member.held.connectors},
        {task for member in members for task in member.held.tasks},
    )
    revoked = memory.previous_revoked
    ignored = not (active.connectors.isdisjoint(revoked.connectors) and active.tasks.isdisjoint(revoked.tasks))
    before = active if ignored else JobSet(set(memory.previous.connectors), set(memory.previous.tasks))
    exists = JobSet(set(configured.connectors), set(configured.tasks))
    if not ignored and not _all_shown(before, active, exists):
        # Something remembered is gone: what the leader does about that depends on whether it trusts its memory.
        rests_on |= {"checks_generation"}
        if era.checks_generation:
            rests_on |= {"last_completed_generation"}
            if memory.previous_generation != round_.last_completed_generation:
                before = JobSet(frozenset(), frozenset())
    missing = Jobs(
        tuple(name for name in configured.connectors if name not in active.connectors),
        tuple(task for task in configured.tasks if task not in active.tasks),
    )
    return Survey(
        members=members,
        order_unsure=order_unsure,
        configured=configured,
        active=active,
        deleted=JobSet(
            {name for name in before.connectors if name not in exists.connectors},
            {task for task in before.tasks if task not in exists.tasks},
        ),
        lost=Jobs(
            tuple(name for name in missing.connectors if name in before.connectors),
            tuple(task for task in missing.tasks if task in before.tasks),
        ),
        created=Jobs(
            tuple(name for name in missing.connectors if name not in before.connectors),
            tuple(task for task in missing.tasks if task not in before.tasks),
        ),
        revocation_ignored=ignored,
        rests_on=rests_on,
    )


def _all_shown(before: JobSet, active: JobSet, exists: JobSet) -> bool:
    """Whether everything remembered is still held and configured."""
    return (
        before.connectors <= active.connectors
        and before.tasks <= active.tasks
        and before.connectors <= exists.connectors
        and before.tasks <= exists.tasks
    )


def in_leaders_order(
    members: Sequence[ConnectMember], era: Era
) -> tuple[tuple[ConnectMember, ...], bool, frozenset[str]]:
    """Members as the leader iterates them, whether Java's order is in doubt, and whether the era matters to it.

    The leader puts the JoinGroup members into a hash map, and since 3.3 copies that into a second one. That moves
    members only where a bucket was crowded on the way, so fewer than nine of them stay in their places.
    """
    by_id = {member.id: member for member in members}
    order = hash_map_order(by_id)
    ids, unsure = order.keys(), order.unsure
    rests_on: frozenset[str] = frozenset()
    if len(ids) >= TREE_BUCKET:
        again = hash_map_order(ids)
        if again.unsure or again.keys() != ids:
            rests_on = frozenset({"regroups_members"})
        if era.regroups_members:
            ids, unsure = again.keys(), unsure or again.unsure
    return tuple([by_id[member_id] for member_id in ids]), unsure, rests_on


def remembered(configured: Jobs, connectors: Set[str], tasks: Set[TaskId]) -> Jobs:
    """These jobs in one fixed order, so that equal memories are equal values."""
    return Jobs(_fixed(configured.connectors, connectors), _fixed(configured.tasks, tasks))


def _fixed(known: Iterable[J], jobs: Set[J]) -> tuple[J, ...]:
    inside = [job for job in known if job in jobs]
    if len(inside) < len(jobs):
        inside += sorted(jobs - set(inside))
    return tuple(inside)


def fill(loads: list[Load], jobs: Jobs) -> None:
    """Hand out jobs one by one, always to the members that have the fewest of the kind, by id among equals."""
    if jobs.connectors:
        loads.sort(key=lambda load: (len(load.connectors), utf16_key(load.id)))
        _deal([load.connectors for load in loads], jobs.connectors)
    if jobs.tasks:
        loads.sort(key=lambda load: (len(load.tasks), utf16_key(load.id)))
        _deal([load.tasks for load in loads], jobs.tasks)


def _deal(hands: Sequence[list[J]], jobs: Sequence[J]) -> None:
    for place, job in zip(turns([len(hand) for hand in hands], len(jobs)), jobs, strict=True):
        hands[place].append(job)


def turns(sizes: list[int], count: int) -> list[int]:
    """Which hand is given each of `count` jobs, one after the other; `sizes` of the hands ascend and are changed."""
    order: list[int] = []
    while len(order) < count:
        # Kafka sorts once and measures every pass against the first hand.
        level = sizes[0]
        for place, size in enumerate(sizes):
            if size > level or len(order) == count:
                break
            sizes[place] += 1
            order.append(place)
    return order
