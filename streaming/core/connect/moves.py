"""Who moved where in a round, by worker and not by member id (coordinator-log.md 10.4).

started              nobody had it before
stopped              deleted: nobody has it any more
moved_in_two_steps   revoked in an earlier round, handed to another worker now
moved_at_once        taken or lost, and with another worker now
returned             back with the worker that had it last
revoked, lost        in nobody's hands after this round: taken away by it, or its worker is gone
duplicated           in several hands
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rebalance_monitor.streaming.core.connect.observed import Observed, job_key, of_jobs
from rebalance_monitor.streaming.core.connect.statuses.facts import JobKey
from rebalance_monitor.streaming.core.connect.statuses.round_change import seats
from rebalance_monitor.streaming.core.model.effects import Move
from rebalance_monitor.streaming.core.model.subjects import subject_of


@dataclass(frozen=True, slots=True)
class IdleJob:
    """A configured job in nobody's hands: whose it was last ("" nobody's), since which record, taken away or lost."""

    worker: str
    generation: int
    since_ms: int
    revoked: bool = False


def holders(observed: Observed | None) -> Mapping[JobKey, tuple[str, ...]]:
    """Workers per job after a round."""
    return {} if observed is None else _holders(observed)


@of_jobs
def _holders(observed: Observed) -> Mapping[JobKey, tuple[str, ...]]:
    found: dict[JobKey, tuple[str, ...]] = {}
    for worker, view in sorted(seats(observed).items()):
        alone = (worker,)
        for job in map(job_key, view.holds):
            found[job] = (*found[job], worker) if job in found else alone
    return found


def moves_of(
    before: Mapping[JobKey, tuple[str, ...]],
    after: Mapping[JobKey, tuple[str, ...]],
    idle_before: Mapping[JobKey, IdleJob],
    idle_after: Mapping[JobKey, IdleJob],
) -> tuple[tuple[Move, ...], int]:
    """Every job that did not simply stay where it was, and how many stayed."""
    stays = {job for job, has in after.items() if len(has) == 1 and before.get(job) == has}
    moves = []
    for job in sorted(({*before, *after}) - stays):
        had, has = before.get(job, ()), after.get(job, ())
        former = had[0] if had else idle_before[job].worker if job in idle_before else ""
        kind = _kind(had, has, former, idle_before.get(job), idle_after.get(job))
        moves.append(Move(job=subject_of(job), kind=kind, before=former or None, after=has[0] if has else None))
    return tuple(moves), len(stays)


def _kind(
    had: Collection[str], has: Collection[str], former: str, was_idle: IdleJob | None, is_idle: IdleJob | None
) -> str:
    if len(has) > 1:
        return "duplicated"
    if not has:
        return "stopped" if is_idle is None else "revoked" if is_idle.revoked else "lost"
    if not former:
        return "started"
    if former in has:
        return "returned"
    return "moved_in_two_steps" if not had and was_idle is not None and was_idle.revoked else "moved_at_once"
