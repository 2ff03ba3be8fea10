"""Connect's incremental cooperative assignor (protocols `compatible` and `sessioned`), exactly as the Java leader runs.

Theory. Members keep what they hold; an answer carries only what to start and what to stop, and nothing is started
anywhere before it was stopped elsewhere. So a job moves in two rounds: revoked in one, handed out in the next, which
the revoked worker asks for. A job is *deleted* if the leader remembers it and it is no longer configured, *lost* if it
is remembered, configured and held by nobody, *created* if it is configured and neither remembered nor held. Deleted
jobs and jobs held twice are revoked from every holder; lost ones wait (`connect_window`); created ones go to the
least loaded. Then loads are evened out by revoking, and if that was not enough the leader backs off, 40 ms to the
power of the number of rounds. What a leader remembers belongs to its process and is in no record: `LeaderMemory`.

Example: worker1 alone holds connector C and tasks C-0, C-1, C-2, all balanced; then worker2 joins.

    round 1   worker1 [C C-0 C-1 C-2]  worker2 []          revoke C-0 from worker1 (2 tasks each), worker1 re-joins
    round 2   worker1 [C C-1 C-2]      worker2 []          C-0 is created again: worker2 has the fewest tasks
    round 3   worker2 vanishes                             C-0 is lost: delay 300000 ms, C-0 waits
    round 4   worker1, worker3 (new)                       worker3 is idle, so a candidate; delay = time left
    round 5   the window is over                           C-0 goes to worker3

Orders matter: members in the order of the leader's hash map decide who keeps one job more; the order of a member's
own list (its allocation on the wire) decides which jobs it loses, the first ones; names sort as Java sorts them.
Protocol `static` (`connect_static`) is the same round with some members and jobs set apart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import TypeVar

from rebalance_monitor.assignors.java_table import copied_set, rests_on_java
from . import before_3_4
from .eras import Era
from .memory import memory_after
from .model import ConnectResult, ConnectRound, Jobs, LeaderMemory, MemberShare, TaskId
from .round import CannotAssign, open_answer
from .static import Declared, declared
from .survey import JobSet, Load, Survey, fill, survey
from .window import Window, handle_lost

J = TypeVar("J", str, TaskId)

_BACKOFF_BASE_MS = 40
_NAMED = {"sessioned": frozenset({"speaks_sessioned", "sessioned_header"}), "static": frozenset({"balances_fully"})}
"""Switches that a protocol rests on by its name alone."""


@dataclass(slots=True)
class _Revoked:
    """What one member must stop, in order of writing."""

    connectors: dict[str, None]
    tasks: dict[TaskId, None]

    def add(self, connectors: Iterable[str], tasks: Iterable[TaskId]) -> None:
        self.connectors.update(dict.fromkeys(connectors))
        self.tasks.update(dict.fromkeys(tasks))


def assign(
    memory: LeaderMemory, round_: ConnectRound, *, max_delay_ms: int, era: Era, java_version: int = 17
) -> tuple[ConnectResult, LeaderMemory]:
    """The answer of one round and what the leader's process remembers afterwards.

    `max_delay_ms` is the leader's `scheduled.rebalance.max.delay.ms`, `java_version` its Java's major release.
    """
    answer = open_answer(round_, protocol_version(round_.protocol, era))
    named = _NAMED.get(round_.protocol.lower(), frozenset())
    if answer.snapshot is None:
        return answer.mismatch(round_, named), memory
    sets = survey(memory, round_, answer.snapshot, era)
    window = Window.recall(memory, round_.now_ms, max_delay_ms)
    plan = _balance if era.balances_fully else before_3_4.balance
    shares, after = plan(memory, round_, sets, window, era, java_version)
    unsure = sets.order_unsure or window.order_unsure
    rests_on = named | sets.rests_on | window.rests_on
    return answer.result(shares, delay_ms=window.delay_ms, order_unsure=unsure, rests_on=rests_on), after


def protocol_version(protocol: str, era: Era) -> int:
    """Version in the header of the assignments of a generation."""
    match protocol.lower():
        case "compatible":
            return 1
        case "sessioned" if era.speaks_sessioned:
            return era.sessioned_header
        case "static" if era.balances_fully:
            return 3
    raise CannotAssign(f"protocol {protocol!r} is unknown to the incremental assignor of era {era.name}")


def backoff_ms(successive: int, max_delay_ms: int) -> int:
    """How long to wait after so many balancing rounds that were not enough."""
    if max_delay_ms <= 1:
        return max_delay_ms
    # Java computes in doubles too: the capped value is often one ms below the maximum.
    exponent = min(successive, log(max_delay_ms) / log(_BACKOFF_BASE_MS))
    return min(int(_BACKOFF_BASE_MS**exponent), max_delay_ms)


def _balance(
    memory: LeaderMemory, round_: ConnectRound, sets: Survey, window: Window, era: Era, java_version: int
) -> tuple[dict[str, MemberShare], LeaderMemory]:
    held = {member.id: _distinct(member.held) for member in sets.members}
    static = declared(round_.protocol, sets)
    revoked = _forced_revocations(sets, held, static, window, java_version)
    loads = [_left(member_id, jobs, revoked[member_id]) for member_id, jobs in held.items()]
    static.place(sets, loads)
    # From here on everything is about the wildcard jobs and workers: all of them, but for protocol `static`.
    open_ = static.wildcard_part(sets)
    free = [load for load in loads if load.id not in static.listers]
    calm = _calm(memory, sets)
    lopsided = before_3_4.lopsided(free)
    again = handle_lost(window, open_.lost, free, memory, held.keys(), era)
    successive = memory.successive_revocations
    if window.delay_ms:
        window.revoked_in_previous = False
    else:
        surplus = balancing_revocations(free, open_.configured)
        calm = calm and not surplus and not lopsided
        if surplus and window.revoked_in_previous:
            successive += 1
            window.delay_ms = backoff_ms(successive, window.max_delay_ms)
            window.rests_on |= {"now_ms", "max_delay_ms"}
            if window.delay_ms:
                window.scheduled_ms = window.now_ms + window.delay_ms
            else:
                _revoke(surplus, free, revoked)
        elif surplus:
            _revoke(surplus, free, revoked)
            window.revoked_in_previous = True
        elif window.revoked_in_previous:
            window.revoked_in_previous = False
            successive = 0
    if not calm:
        window.rests_on.add("balances_fully")
    waiting = sets.lost
    if free:
        fill(free, Jobs(open_.created.connectors + again.connectors, open_.created.tasks + again.tasks))
    elif again:
        # Nobody may run them and no window holds them: the next wildcard worker gets them as new.
        waiting = Jobs()
    shares = {
        load.id: MemberShare(
            _new_jobs(load, held[load.id]),
            Jobs(tuple(revoked[load.id].connectors), tuple(revoked[load.id].tasks)),
        )
        for load in loads
    }
    return shares, memory_after(
        round_,
        replace(sets, lost=waiting),
        window,
        loads,
        revoked.values(),
        can_revoke=window.delay_ms == 0,
        successive_revocations=successive,
    )


def _calm(memory: LeaderMemory, sets: Survey) -> bool:
    """Whether nothing must be revoked and no balancing goes on: then all eras differ by what they see as a surplus."""
    return sets.held_once and not (sets.deleted or memory.revoked_in_previous or memory.successive_revocations)


def _forced_revocations(
    sets: Survey, held: dict[str, Jobs], static: Declared, window: Window, java_version: int
) -> dict[str, _Revoked]:
    """Deleted jobs, jobs with several holders, jobs on a member they do not belong to: taken from all who hold them."""
    twice_connectors = _repeated(held_by.connectors for held_by in held.values())
    twice_tasks = _repeated(held_by.tasks for held_by in held.values())
    revoked = {member_id: _Revoked({}, {}) for member_id in held}
    twice = JobSet(twice_connectors, twice_tasks)
    for member_id, jobs in held.items():
        unwanted = [
            bad
            for bad in (sets.deleted, twice, static.misplaced(member_id, sets.configured))
            if not (bad.connectors.isdisjoint(jobs.connectors) and bad.tasks.isdisjoint(jobs.tasks))
        ]
        if not unwanted:
            continue
        # Java walks a hash set copied from the member's list; this shows only in the order of the bytes.
        connectors = copied_set(jobs.connectors, java_version)
        tasks = copied_set(jobs.tasks, java_version)
        window.order_unsure |= connectors.unsure or tasks.unsure
        window.rests_on |= rests_on_java((len(jobs.connectors), len(jobs.tasks)))
        walk = connectors.keys(), tasks.keys()
        for bad in unwanted:
            revoked[member_id].add(
                [name for name in walk[0] if name in bad.connectors], [task for task in walk[1] if task in bad.tasks]
            )
    return revoked


def _left(member_id: str, jobs: Jobs, revoked: _Revoked) -> Load:
    if not (revoked.connectors or revoked.tasks):
        return Load(member_id, list(jobs.connectors), list(jobs.tasks))
    return Load(
        member_id,
        [name for name in jobs.connectors if name not in revoked.connectors],
        [task for task in jobs.tasks if task not in revoked.tasks],
    )


def balancing_revocations(loads: Sequence[Load], configured: Jobs) -> dict[str, Jobs]:
    """What members must give up so that all loads end within one of each other, if everything were placed."""
    if not configured or not any(load.connectors or load.tasks for load in loads):
        return {}
    connectors = _surplus([(load.id, load.connectors) for load in loads], len(configured.connectors))
    tasks = _surplus([(load.id, load.tasks) for load in loads], len(configured.tasks))
    return {
        member_id: Jobs(tuple(connectors.get(member_id, ())), tuple(tasks.get(member_id, ())))
        for member_id in dict.fromkeys((*connectors, *tasks))
    }


def _surplus(hands: Sequence[tuple[str, list[J]]], total: int) -> dict[str, list[J]]:
    """The first jobs of each overloaded hand; the first hands may keep one more than the rest."""
    counts = surplus_counts([len(hand) for _, hand in hands], total)
    return {member_id: hand[:count] for (member_id, hand), count in zip(hands, counts, strict=True) if count}


def surplus_counts(sizes: Sequence[int], total: int) -> list[int]:
    """How many jobs each hand of this size must give up, in the leader's order, so that `total` could be even."""
    least, extra = divmod(total, len(sizes))
    if sizes.count(least + 1) == extra and sizes.count(least) == len(sizes) - extra:
        return [0] * len(sizes)
    counts: list[int] = []
    given = 0
    for size in sizes:
        keep = least
        if size > least and given < extra:
            given += 1
            keep = least + 1
        counts.append(max(size - keep, 0))
    return counts


def _revoke(surplus: dict[str, Jobs], loads: Iterable[Load], revoked: dict[str, _Revoked]) -> None:
    for load in loads:
        jobs = surplus.get(load.id)
        if jobs is not None:
            # The surplus is always the head of the list.
            del load.connectors[: len(jobs.connectors)]
            del load.tasks[: len(jobs.tasks)]
            revoked[load.id].add(jobs.connectors, jobs.tasks)


def _new_jobs(load: Load, held: Jobs) -> Jobs:
    connectors, tasks = frozenset(held.connectors), frozenset(held.tasks)
    return Jobs(
        tuple([name for name in load.connectors if name not in connectors]),
        tuple([task for task in load.tasks if task not in tasks]),
    )


def _distinct(jobs: Jobs) -> Jobs:
    return Jobs(tuple(dict.fromkeys(jobs.connectors)), tuple(dict.fromkeys(jobs.tasks)))


def _repeated(hands: Iterable[tuple[J, ...]]) -> set[J]:
    seen: set[J] = set()
    twice: set[J] = set()
    for hand in hands:
        # One intersection per member, because a job in two hands is rare.
        twice.update(seen.intersection(hand))
        seen.update(hand)
    return twice
