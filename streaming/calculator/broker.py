"""Family `broker-assign`: the targets that a coordinator of a release computes for one group.

`kind` names the assignor: `uniform` and `range` (KIP-848), `simple` (share groups), `streams-sticky` (KIP-1071). The
previous targets in the input are in record order. Answers list topics by id and partitions ascending; Java's order
inside a target is arbitrary, so targets compare as sets.
"""

from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rebalance_monitor.assignors.broker import range_assignor, simple, streams_sticky, uniform
from rebalance_monitor.assignors.broker.model import (
    JAVA,
    AssignorFailed,
    BrokerGroup,
    BrokerMember,
    BrokerResult,
    BrokerTopic,
    Outcome,
    Release,
    release_of,
)
from rebalance_monitor.assignors.broker.streams_model import (
    StreamsGroup,
    StreamsMember,
    StreamsOutcome,
    StreamsResult,
    StreamsShare,
    Subtopology,
    Task,
)
from rebalance_monitor.schemas import wire
from rebalance_monitor.schemas.layouts import as_of
from rebalance_monitor.schemas.record_layouts import VALUES
from rebalance_monitor.schemas.struct_writers import writer

_Assign = Callable[..., Outcome]
_ASSIGNORS: Mapping[str, _Assign] = {"uniform": uniform.assign, "range": range_assignor.assign, "simple": simple.assign}
# Type 13, of share groups, has the same layout.
_TARGET_RECORD = 7
_STREAMS, _STANDBYS = "streams-sticky", "num.standby.replicas"
_EARLY_ACCESS_FIELDS = {"error": 0, "metadataVersion": 0, "metadataBytes": b""}


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of one case: `{"assignment": {...}}`, or `{"error": Java's exception class}`."""
    kind, given = case["kind"], case["input"]
    release = release_of(case["release"])
    if kind not in _ASSIGNORS and kind != _STREAMS:
        return {"error": f"assignor not supported: {kind}"}
    if kind == _STREAMS and given.get("configs") and _STANDBYS not in given["configs"]:
        return {"error": "NumberFormatException"}
    match prepared(case)():
        case AssignorFailed(error):
            return {"error": error}
        case BrokerResult(shares=shares, unsure=unsure):
            assignment = {name: None if share is None else _target(share, release) for name, share in shares.items()}
            return {"assignment": assignment} | ({"order_unsure": True} if unsure else {})
        case StreamsResult(shares=streams_shares, unsure=unsure):
            roles = {name: _roles(share) for name, share in streams_shares.items()}
            return {"assignment": roles} | ({"order_unsure": True} if unsure else {})


def prepared(case: Mapping[str, Any]) -> Callable[[], Outcome | StreamsOutcome]:
    """The computation of a case alone, its input read already. The kind must be a known one."""
    kind, given = case["kind"], case["input"]
    release = release_of(case["release"])
    if kind == _STREAMS:
        return partial(streams_sticky.assign, _streams_group(given), release=release)
    java_version = given.get("java_version", JAVA)
    return partial(_ASSIGNORS[kind], _group(given), release=release, java_version=java_version)


def topic_id(text: str) -> bytes:
    """The 16 bytes of an id in Kafka's text form."""
    return urlsafe_b64decode(text + "==")


def topic_text(raw: bytes) -> str:
    """Kafka's text form of an id."""
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _group(given: Mapping[str, Any]) -> BrokerGroup:
    members = tuple(
        BrokerMember(
            id=member["id"],
            names=tuple(member["subscribed"]),
            previous=tuple((topic_id(topic), tuple(numbers)) for topic, numbers in member["previous"]),
            instance_id=member.get("instance"),
            rack=member.get("rack"),
        )
        for member in given["members"]
    )
    topics = {
        topic["name"]: BrokerTopic(
            id=topic_id(text),
            partitions=topic["partitions"],
            racks=tuple(frozenset(racks) for racks in topic.get("racks", ())),
        )
        for text, topic in given["topics"].items()
    }
    return BrokerGroup(members=members, topics=topics)


def _target(share: Mapping[bytes, Iterable[int]], release: Release) -> dict[str, Any]:
    listed = sorted((topic_text(topic), topic, sorted(numbers)) for topic, numbers in share.items())
    fields = {
        "topicPartitions": [{"topicId": raw, "partitions": numbers} for _, raw, numbers in listed],
        **_EARLY_ACCESS_FIELDS,
    }
    out = bytearray()
    wire.write_int16(out, 0)
    writer(as_of(VALUES[_TARGET_RECORD], release), 0)(out, fields)
    return {"target": [[text, numbers] for text, _, numbers in listed], "value": b64encode(out).decode()}


def _streams_group(given: Mapping[str, Any]) -> StreamsGroup:
    return StreamsGroup(
        members=tuple(
            StreamsMember(
                id=member["id"],
                process_id=member["processId"],
                active=_tasks(member["active"]),
                standby=_tasks(member["standby"]),
            )
            for member in given["members"]
        ),
        subtopologies=tuple(
            Subtopology(id=name, partitions=one["partitions"], stateful=one["stateful"])
            for name, one in given["subtopologies"].items()
        ),
        standby_replicas=int((given.get("configs") or {}).get(_STANDBYS, "0")),
    )


def _tasks(listed: Iterable[tuple[str, Sequence[int]]]) -> tuple[Task, ...]:
    return tuple((subtopology, number) for subtopology, numbers in listed for number in numbers)


def _roles(share: StreamsShare) -> dict[str, Any]:
    return {"active": _by_subtopology(share.active), "standby": _by_subtopology(share.standby), "warmup": []}


def _by_subtopology(tasks: Iterable[Task]) -> list[list[Any]]:
    numbers: dict[str, list[int]] = {}
    for subtopology, number in sorted(tasks):
        numbers.setdefault(subtopology, []).append(number)
    return [[subtopology, of] for subtopology, of in numbers.items()]
