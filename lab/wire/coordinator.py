"""Family `coordinator-wire`: records of the coordinator's log and consumer blobs, as a release's classes read them."""

from base64 import b64decode, b64encode
from typing import Any

from rebalance_monitor.schemas.consumer_protocol import decode_assignment, decode_subscription
from rebalance_monitor.schemas.coordinator_records import NEWEST, decode_record
from rebalance_monitor.schemas.layouts import Release
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Outcome, Unreadable

WireAnswer = dict[str, Any]


def solve(case: dict[str, Any]) -> WireAnswer:
    """The `expected` object of one case. Errors keep Kafka's spelling: `result: "error"`, and `"error"` for a cut."""
    given = case["input"]
    release = _release(case.get("release", ""))
    match case["kind"]:
        case "value-cuts":
            key, whole = _bytes(given["key"]), _bytes(given["value"]) or b""
            return {"cuts": [_cut(_record(key, whole[:n], release)) for n in range(len(whole))]}
        case "key-cuts":
            whole, value = _bytes(given["key"]) or b"", _bytes(given["value"])
            return {"cuts": [_cut(_record(whole[:n], value, release)) for n in range(len(whole))]}
        case "blob":
            return _blob(given["what"], b64decode(given["blob"]))
        case "blob-cuts":
            blob = b64decode(given["blob"])
            return {"cuts": [_cut(_blob(given["what"], blob[:n])) for n in range(len(blob))]}
        case _:
            return _record(_bytes(given["key"]), _bytes(given["value"]), release)


def _release(text: str) -> Release:
    major, _, rest = text.partition(".")
    minor = rest.partition(".")[0]
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else NEWEST


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def _cut(answer: WireAnswer) -> Any:
    return "error" if answer["result"] == "error" else answer


def _error(outcome: Outcome[Any]) -> WireAnswer:
    match outcome:
        case Unreadable(reason, detail):
            return {"result": "error", "error": reason, "message": detail}
        case Ignored(what):
            return {"result": "error", "error": what}
        case _:
            return {"result": "error", "error": "unreadable"}


def _record(key: bytes | None, value: bytes | None, release: Release) -> WireAnswer:
    outcome = decode_record(key, value, release)
    if not isinstance(outcome, Decoded):
        return _error(outcome)
    record = outcome.value
    answer: WireAnswer = {
        "result": "record" if record.value is not None else "tombstone",
        "type": record.type,
        "name": record.name,
        "key": record.key,
    }
    if record.value is not None:
        answer |= {"valueVersion": record.version, "value": record.value}
    if record.unknown_tags:
        answer["unknownTags"] = [[path, tag, b64encode(raw).decode()] for path, tag, raw in record.unknown_tags]
    if record.key_remaining:
        answer["keyRemaining"] = record.key_remaining
    if record.value_remaining:
        answer["valueRemaining"] = record.value_remaining
    return answer


def _blob(what: str, blob: bytes) -> WireAnswer:
    if what == "subscription":
        subscription = decode_subscription(blob)
        if not isinstance(subscription, Decoded):
            return _error(subscription)
        value = subscription.value
        answer: WireAnswer = {
            "result": "ok",
            "version": value.version,
            "topics": list(value.topics),
            "userData": _text(value.user_data),
            "ownedPartitions": [list(p) for p in value.owned],
            "generationId": None if value.generation < 0 else value.generation,
            "rackId": value.rack or None,
        }
        return _with_remaining(answer, subscription.remaining)
    assignment = decode_assignment(blob)
    if not isinstance(assignment, Decoded):
        return _error(assignment)
    held = assignment.value
    answer = {
        "result": "ok",
        "version": held.version,
        "partitions": [list(p) for p in held.partitions],
        "userData": _text(held.user_data),
    }
    return _with_remaining(answer, assignment.remaining)


def _with_remaining(answer: WireAnswer, remaining: int) -> WireAnswer:
    return {**answer, "remaining": remaining} if remaining else answer


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else b64encode(raw).decode()
