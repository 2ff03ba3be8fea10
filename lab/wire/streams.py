"""Family `streams-wire`: the bytes Kafka Streams' classes write for given values, and what they make of given bytes.

A case names the release whose classes are asked: each knows versions up to its own, and shows the fields it knows.
Kafka writes its sets and maps in hash order, so the encoders need that order too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rebalance_monitor.assignors.java_order import utf16_key
from rebalance_monitor.assignors.streams.tasks import HashOrders, TaskId, partition_hash
from rebalance_monitor.schemas.errors import SchemaError
from rebalance_monitor.schemas.outcomes import Decoded, Outcome, Unreadable
from rebalance_monitor.schemas.streams_assignment import Host, decode_assignment_info
from rebalance_monitor.schemas.streams_subscription import (
    SubscriptionInfo,
    decode_subscription_info,
    encode_subscription_info,
)
from rebalance_monitor.schemas.streams_tasks import (
    NO_REBALANCE_MS,
    RUNNING,
    newest_version,
    task_of,
    task_text,
    topology_of,
)
from rebalance_monitor.schemas.streams_tasks import StreamsTaskId as WireTask
from rebalance_monitor.streaming.calculator.streams_bytes import (
    MajorMinor,
    assignment_bytes,
    assignment_json,
    hash_order,
    plain,
)

_MASK = 0xFFFFFFFF
_FIRST_WITH_SUMS = 7
_FIRST_WITH_NAMES = 10
_FIRST_WITH_OWN_SETS: MajorMinor = (2, 6)


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of one case; `{"error": reason}` where Kafka's class throws."""
    given, release = case["input"], _release(case["release"])
    decode = partial(_decode, given["payload"], release)
    match given["op"]:
        case "encode":
            try:
                raw = _encode(given["payload"], given["fields"], release)
            except SchemaError as why:
                return {"error": why.reason}
            return {"hex": raw.hex(), "decoded": decode(raw)}
        case "decode":
            return {"decoded": decode(bytes.fromhex(given["hex"]))}
        case "truncate":
            raw = bytes.fromhex(given["hex"])
            return {"decodedByLength": [decode(raw[:length]) for length in range(len(raw) + 1)]}
        case op:
            return {"error": f"unknown op {op}"}


def _release(text: str) -> MajorMinor:
    major, minor, *_ = text.split(".")
    return int(major), int(minor)


# Decoding


def _decode(payload: str, release: MajorMinor, raw: bytes) -> dict[str, Any]:
    if payload == "subscription":
        return _answer(decode_subscription_info(raw, release=release), partial(_subscription_json, release))
    return _answer(decode_assignment_info(raw, release=release), partial(assignment_json, release))


def _answer(outcome: Outcome[Any], form: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    if isinstance(outcome, Decoded):
        return form(outcome.value)
    return {"error": outcome.reason if isinstance(outcome, Unreadable) else "unreadable"}


def _subscription_json(release: MajorMinor, value: SubscriptionInfo) -> dict[str, Any]:
    head: dict[str, Any] = {
        "version": value.version,
        "latestSupportedVersion": value.latest_supported,
        "processId": _uuid_text(value.process_id),
    }
    if value.version > newest_version(release):
        return head
    since: tuple[tuple[MajorMinor, str, Any], ...] = (
        ((0, 0), "userEndPoint", value.end_point or None),
        ((0, 0), "prevTasks", _task_texts(value.was_active())),
        ((0, 0), "standbyTasks", _task_texts(value.was_standby())),
        ((2, 6), "taskOffsetSums", {task_text(task): total for task, total in value.sums().items()}),
        ((2, 8), "errorCode", value.error),
        ((3, 2), "clientTags", dict(value.client_tags)),
    )
    return {**head, **{name: shown for first, name, shown in since if release >= first}}


def _uuid_text(raw: bytes) -> str:
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _task_texts(tasks: Iterable[WireTask]) -> list[str]:
    return [task_text(task) for task in sorted(tasks, key=lambda task: (utf16_key(topology_of(task) or ""), *task[:2]))]


# Encoding


def _encode(payload: str, given: dict[str, Any], release: MajorMinor) -> bytes:
    if payload == "subscription":
        return encode_subscription_info(_subscription(given, release))
    return _encode_assignment(given, release)


def _subscription(given: dict[str, Any], release: MajorMinor) -> SubscriptionInfo:
    version = given["version"]
    sums = {task_of(text): total for text, total in given["taskOffsetSums"].items()}
    active = [task for task, total in sums.items() if total == RUNNING]
    standby = [task for task in sums if task not in active]
    if _FIRST_WITH_SUMS <= version < _FIRST_WITH_NAMES:
        # One entry a subtopology, in the order of a hash map of numbers; its tasks in the order they were given.
        order = {number: at for at, number in enumerate(hash_order(lambda n: n & _MASK, [task[0] for task in sums]))}
        sums = dict(sorted(sums.items(), key=lambda item: order[item[0][0]]))
    return SubscriptionInfo(
        version=version,
        latest_supported=given["latestSupportedVersion"],
        process_id=bytes.fromhex(given["processId"].replace("-", "")),
        previous_tasks=_task_set(release, active),
        standby_tasks=_task_set(release, standby),
        end_point=given["userEndPoint"] or "",
        offset_sums=tuple((*task[:2], total, *task[2:]) for task, total in sums.items()),
        unique=given["uniqueField"],
        error=given["errorCode"],
        client_tags=tuple(given["clientTags"].items()),
    )


def _task_set(release: MajorMinor, tasks: Sequence[WireTask]) -> tuple[WireTask, ...]:
    """Up to 2.5 the class was handed two sets, later it makes hash sets of its own out of the offset sums."""
    if release < _FIRST_WITH_OWN_SETS:
        return tuple(tasks)
    return tuple(plain(task) for task in HashOrders(release).tasks(TaskId(*task) for task in tasks))


def _encode_assignment(given: dict[str, Any], release: MajorMinor) -> bytes:
    wanted_ms = given["nextRebalanceMs"]
    return assignment_bytes(
        release,
        version=given["version"],
        commonly_supported=given["commonlySupportedVersion"],
        active=[TaskId(*task_of(text)) for text in given["activeTasks"]],
        standby={
            TaskId(*task_of(text)): hash_order(partition_hash, _partitions(found))
            for text, found in given["standbyTasks"].items()
        },
        by_host=_hosts(given["partitionsByHost"]),
        standby_by_host=_hosts(given["standbyPartitionsByHost"]),
        error=given["errorCode"],
        next_rebalance_ms=NO_REBALANCE_MS if wanted_ms is None else wanted_ms,
    )


def _partitions(texts: Sequence[str]) -> list[tuple[str, int]]:
    found = []
    for text in texts:
        topic, _, number = text.rpartition("-")
        found.append((topic, int(number)))
    return found


def _hosts(given: Mapping[str, Sequence[str]]) -> dict[Host, list[tuple[str, int]]]:
    hosts: dict[Host, list[tuple[str, int]]] = {}
    for text, found in given.items():
        host, _, port = text.rpartition(":")
        hosts[host, int(port)] = _partitions(found)
    return hosts
