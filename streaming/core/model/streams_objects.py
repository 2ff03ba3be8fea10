"""The JSON object of what a generation of a Streams group has besides what every generation has."""

from typing import Any

from rebalance_monitor.streaming.core.model.streams_detail import (
    StreamsDetail,
    StreamsProcess,
    StreamsProgress,
    SubtopologyTasks,
    ThreadTasks,
)

Object = dict[str, Any]


def streams_object(detail: StreamsDetail) -> Object:
    """Processes with the tasks of their threads, sub-topologies, and what comes next. Times in ms."""
    return {
        "version": detail.version,
        "processes": [_process(process) for process in detail.processes],
        "subtopologies": [_subtopology(part) for part in detail.subtopologies],
        "withheld": list(detail.withheld),
        "next_rebalance_ms": detail.next_rebalance_ms,
        "roles_known": detail.roles_known,
        "balance": {"stateful": list(detail.stateful), "stateless": list(detail.stateless)},
        "missing_standbys": detail.missing_standbys,
        "progress": None if detail.progress is None else _progress(detail.progress),
        "laws": dict(detail.laws),
    }


def _progress(progress: StreamsProgress) -> Object:
    return {
        "moves_left": progress.moves_left,
        "rebalances": progress.rebalances,
        "not_before_ms": progress.not_before_ms,
        "next_ms": progress.next_ms,
        "probed": progress.probed,
        "stuck": progress.stuck,
    }


def _process(process: StreamsProcess) -> Object:
    return {
        "process_id": process.process_id,
        "host": process.host,
        "end_point": process.end_point,
        "rack": process.rack,
        "tags": dict(process.tags),
        "leads": process.leads,
        "offset_sums": dict(process.offset_sums),
        **({"lags": dict(process.lags)} if process.lags else {}),
        "threads": [_thread(thread) for thread in process.threads],
    }


def _thread(thread: ThreadTasks) -> Object:
    return {
        "member_id": thread.member_id,
        "active": list(thread.active),
        "standby": list(thread.standby),
        "warm_up": list(thread.warm_up),
        "transient": list(thread.transient),
        "withheld": list(thread.withheld),
        "revoked": list(thread.revoked),
        "next_rebalance_ms": thread.next_rebalance_ms,
    }


def _subtopology(subtopology: SubtopologyTasks) -> Object:
    return {
        "name": subtopology.name,
        "topics": dict(subtopology.topics),
        "tasks": subtopology.tasks,
        "stateful": subtopology.stateful,
        "least": subtopology.least,
        "most": subtopology.most,
        "waiting": list(subtopology.waiting),
        "missing_standbys": subtopology.missing_standbys,
    }
