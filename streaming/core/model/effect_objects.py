"""The JSON objects of what a generation did to connectors and tasks, and of these themselves."""

from typing import Any

from rebalance_monitor.streaming.core.model.effects import (
    Burst,
    ConnectDetail,
    DelayWait,
    DowntimeSum,
    JobDowntime,
    Move,
)
from rebalance_monitor.streaming.core.model.results import JobState
from rebalance_monitor.streaming.core.model.subjects import Subject

Object = dict[str, Any]


def effects_object(detail: ConnectDetail) -> Object:
    """What is known as soon as the record is judged. Times in ms; `idle_ms`: sums by cause."""
    return {
        "delay_ms": detail.delay_ms,
        "unassigned": list(detail.unassigned),
        "moves": [_move(move) for move in detail.moves],
        "stayed": detail.stayed,
        "wait": None if detail.wait is None else _wait(detail.wait),
        "idle_ms": dict(detail.idle_ms),
    }


def aftermath_object(
    downtime: tuple[DowntimeSum, ...], interrupted: tuple[JobDowntime, ...], burst: Burst | None, *, settled: bool
) -> Object:
    """What statuses and time add to it; `settled` once that is final."""
    return {
        "downtime": [
            {"kind": one.kind, "count": one.jobs, "total_ms": one.total_ms, "longest_ms": one.longest_ms}
            for one in downtime
        ],
        "interrupted": [_interrupted(one) for one in interrupted],
        "burst": None if burst is None else _burst(burst),
        "settled": settled,
    }


def job_object(task_state: JobState) -> Object:
    """One connector or task, three ways."""
    running = None
    if task_state.state is not None:
        running = {
            "state": task_state.state,
            "worker": task_state.running,
            "generation": task_state.running_generation,
            "at_ms": task_state.running_at_ms,
        }
    return {
        "kind": "connector_or_task",
        "cluster": task_state.cluster,
        "group": task_state.group,
        "subject": _subject(task_state.job),
        "incarnation": task_state.incarnation,
        "generation": task_state.generation,
        "assigned": list(task_state.assigned),
        "expected": task_state.expected,
        "judged": task_state.judged,
        "running": running,
        "since_ms": task_state.since_ms,
        "agreement": task_state.agreement,
        **({"sampled": True} if task_state.sampled else {}),
    }


def _subject(subject: Subject) -> Object:
    return {"type": subject.type, "id": subject.id}


def _move(move: Move) -> Object:
    return {"subject": _subject(move.job), "kind": move.kind, "from": move.before, "to": move.after}


def _wait(wait: DelayWait) -> Object:
    return {
        "subjects": [_subject(job) for job in wait.jobs],
        "since_ms": wait.since_ms,
        "until_ms": wait.until_ms,
        "because": list(wait.because),
        "returned": [
            {"worker": one.worker, "lost": one.lost, "by": one.by, "at_ms": one.at_ms} for one in wait.returned
        ],
        "only_delay": wait.only_delay,
        "ended_ms": wait.ended_ms,
        "other_delays": [
            {"max_delay_ms": one.max_delay_ms, "idle_ms": one.idle_ms, "moved": one.moved} for one in wait.others
        ],
    }


def _interrupted(downtime: JobDowntime) -> Object:
    return {
        "subject": _subject(downtime.job),
        "kind": downtime.kind,
        "from": downtime.before,
        "to": downtime.after,
        "until_ms": downtime.until_ms,
        "lowest_ms": downtime.lowest_ms,
        "highest_ms": downtime.highest_ms,
        "best_ms": downtime.best_ms,
    }


def _burst(burst: Burst) -> Object:
    return {
        "kind": burst.kind,
        "first_generation": burst.first_generation,
        "last_generation": burst.last_generation,
        "first_at_ms": burst.first_at_ms,
        "last_at_ms": burst.last_at_ms,
        "count": burst.count,
    }
