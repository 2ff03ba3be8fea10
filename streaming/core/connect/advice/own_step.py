"""The next step for one group, worked out by playing the steps of its rule on the group as it is now.

    Restart the leader a:8083: then 3 of the 7 tasks of b:8083 move to others, and nothing waits. Or keep b:8083 away
    for longer than 300 s: then 4 of the 7 tasks of b:8083 move to others; 7 connectors and tasks wait up to 300 s.
    A short restart of b:8083 moves nothing for good. Leaders since 3.4 balance by themselves.

Where several eras are possible, a step is named only if it helps in each of them, with the smallest number that moves.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rebalance_monitor.assignors.connect.eras import ERAS
from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.streaming.core.connect.leader.hypotheses import DEFAULT_MAX_DELAY_MS, jobs
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, job_kind
from rebalance_monitor.streaming.core.incidents.step import WorkerMove
from .cluster import Cluster, cluster_of, play
from .scenarios import lopsided

MOST_JOBS, MOST_WORKERS = 3_000, 60
"""Larger groups get the rule's general step: a play costs some rounds of the assignor for each era."""
_TRIED = (WorkerMove.RESTART_LEADER, WorkerMove.KEEP_NAMED_AWAY, WorkerMove.START_WORKER)


@dataclass(frozen=True, slots=True)
class _Tried:
    moved: int
    waiting: int
    longest_ms: int


def imbalance_step(
    holds: Mapping[str, Collection[ConnectorOrTask]],
    leader: str,
    named: str,
    configured: Collection[ConnectorOrTask],
    eras: Collection[str],
    max_delay_ms: int | None,
) -> str:
    """What to do about a worker that holds too much; empty where nothing can be said. `holds`: by worker."""
    known = tuple(name for name in ERAS if name in eras or not eras)
    if (
        not known
        or leader not in holds
        or named not in holds
        or len(configured) > MOST_JOBS
        or len(holds) > MOST_WORKERS
    ):
        return ""
    hands = tuple((name, jobs(holds[name])) for name in sorted(holds, key=lambda one: (one != leader, one)))
    counts: dict[str, int] = {job: 0 for job in configured if isinstance(job, str)}
    for job in configured:
        if not isinstance(job, str):
            counts[job[0]] = max(counts.get(job[0], 0), job[1] + 1)
    delay_ms = DEFAULT_MAX_DELAY_MS if max_delay_ms is None else max_delay_ms
    return _imbalance_step(hands, named, tuple(sorted(counts.items())), known, delay_ms)


@lru_cache(maxsize=64)
def _imbalance_step(
    hands: tuple[tuple[str, Jobs], ...],
    named: str,
    connectors: tuple[tuple[str, int], ...],
    eras: tuple[str, ...],
    max_delay_ms: int,
) -> str:
    def group(era: str) -> Cluster:
        return cluster_of(ERAS[era], max_delay_ms, dict(hands), dict(connectors))

    stays = [era for era in eras if lopsided(group(era))]
    if not stays:
        return f"The next rebalance should balance the group. Restart the leader {hands[0][0]} to cause one."
    tasks = len(dict(hands)[named].tasks)
    sentences = []
    # To keep the leader away is to change the leader, and without a delay any absence is long enough.
    pointless = WorkerMove.KEEP_NAMED_AWAY if named == hands[0][0] or not max_delay_ms else None
    for move in _TRIED:
        if move is pointless:
            continue
        outcomes = [_tried(group(era), move, named) for era in stays]
        if all(one is not None for one in outcomes):
            worst = min((one for one in outcomes if one is not None), key=lambda one: one.moved)
            sentences.append(_sentence(move, worst, hands[0][0], named, tasks, max_delay_ms))
    if not sentences:
        return ""
    useless = [_tried(group(era), WorkerMove.RESTART_NAMED, named) for era in stays]
    if not any(useless):
        sentences.append(f"A short restart of {named} moves nothing for good.")
    if len(stays) == len(eras):
        sentences.append("Leaders since 3.4 balance by themselves.")
    return " ".join(sentences)


def _tried(cluster: Cluster, move: WorkerMove, named: str) -> _Tried | None:
    """What the step does; None where it does not help."""
    before, had = lopsided(cluster), frozenset(cluster.workers[named].held.tasks)
    waiting, longest_ms = play(move, cluster, named)
    if lopsided(cluster) >= before:
        return None
    left = had.difference(job for job in cluster.workers[named].jobs if job_kind(job) == "task")
    return _Tried(len(left), waiting, longest_ms)


def _sentence(move: WorkerMove, done: _Tried, leader: str, named: str, tasks: int, max_delay_ms: int) -> str:
    moved = f"then {done.moved} of the {tasks} tasks of {named} move to others"
    waits = f"{done.waiting} connectors and tasks wait up to {done.longest_ms // 1000} s" if done.waiting else ""
    rest = f"; {waits}" if waits else ", and nothing waits"
    match move:
        case WorkerMove.RESTART_LEADER:
            return f"Restart the leader {leader}: {moved}{rest}."
        case WorkerMove.KEEP_NAMED_AWAY:
            return f"Or keep {named} away for longer than {max_delay_ms // 1000} s: {moved}{rest}."
        case _:
            return f"Or add a worker: {moved}{rest}."
