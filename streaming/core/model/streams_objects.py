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


def streams_object(one: StreamsDetail) -> Object:
    """Processes with the tasks of their threads, sub-topologies, and what comes next. Times in ms."""
    return {
        "version": one.version,
        "processes": [_process(process) for process in one.processes],
        "subtopologies": [_subtopology(part) for part in one.subtopologies],
        "withheld": list(one.withheld),
        "next_rebalance_ms": one.next_rebalance_ms,
        "roles_known": one.roles_known,
        "balance": {"stateful": list(one.stateful), "stateless": list(one.stateless)},
        "missing_standbys": one.missing_standbys,
        "progress": None if one.progress is None else _progress(one.progress),
        "laws": dict(one.laws),
    }


def _progress(one: StreamsProgress) -> Object:
    return {
        "moves_left": one.moves_left,
        "rebalances": one.rebalances,
        "not_before_ms": one.not_before_ms,
        "next_ms": one.next_ms,
        "probed": one.probed,
        "stuck": one.stuck,
    }


def _process(one: StreamsProcess) -> Object:
    return {
        "process_id": one.process_id,
        "host": one.host,
        "end_point": one.end_point,
        "rack": one.rack,
        "tags": dict(one.tags),
        "leads": one.leads,
        "offset_sums": dict(one.offset_sums),
        "threads": [_thread(thread) for thread in one.threads],
    }


def _thread(one: ThreadTasks) -> Object:
    return {
        "member_id": one.member_id,
        "active": list(one.active),
        "standby": list(one.standby),
        "warm_up": list(one.warm_up),
        "transient": list(one.transient),
        "withheld": list(one.withheld),
        "revoked": list(one.revoked),
        "next_rebalance_ms": one.next_rebalance_ms,
    }


def _subtopology(one: SubtopologyTasks) -> Object:
    return {
        "name": one.name,
        "topics": dict(one.topics),
        "tasks": one.tasks,
        "stateful": one.stateful,
        "least": one.least,
        "most": one.most,
        "waiting": list(one.waiting),
        "missing_standbys": one.missing_standbys,
    }
