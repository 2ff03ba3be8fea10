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


def effects_object(one: ConnectDetail) -> Object:
    """What is known as soon as the record is judged. Times in ms; `idle_ms`: sums by cause."""
    return {
        "delay_ms": one.delay_ms,
        "unassigned": list(one.unassigned),
        "moves": [_move(move) for move in one.moves],
        "stayed": one.stayed,
        "wait": None if one.wait is None else _wait(one.wait),
        "idle_ms": dict(one.idle_ms),
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


def job_object(one: JobState) -> Object:
    """One connector or task, three ways."""
    running = None
    if one.state is not None:
        running = {
            "state": one.state,
            "worker": one.running,
            "generation": one.running_generation,
            "at_ms": one.running_at_ms,
        }
    return {
        "kind": "connector_or_task",
        "cluster": one.cluster,
        "group": one.group,
        "subject": _subject(one.job),
        "incarnation": one.incarnation,
        "generation": one.generation,
        "assigned": list(one.assigned),
        "expected": one.expected,
        "judged": one.judged,
        "running": running,
        "since_ms": one.since_ms,
        "agreement": one.agreement,
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


def _interrupted(one: JobDowntime) -> Object:
    return {
        "subject": _subject(one.job),
        "kind": one.kind,
        "from": one.before,
        "to": one.after,
        "until_ms": one.until_ms,
        "lowest_ms": one.lowest_ms,
        "highest_ms": one.highest_ms,
        "best_ms": one.best_ms,
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
