"""The same layouts declared with kafka-python's own field classes, decoded by the readers it compiles from them.

The caller says how bytes are handed over: as a memoryview, which is what kafka-python's `ApiMessage.decode` makes of
them, or as they are, which is faster for it.
"""

from collections.abc import Callable
from typing import Any

from kafka.protocol.data_container import DataContainer
from kafka.protocol.schemas.fields import StructField

View = Callable[[bytes], Any]


def _field(name: str, type_: str, *fields: dict[str, Any], null: bool = False) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "type": type_, "versions": "0+"}
    if fields:
        made["fields"] = list(fields)
    return made | ({"nullableVersions": "0+"} if null else {})


def _reader(name: str, *fields: dict[str, Any]) -> Callable[[Any, int], tuple[Any, int]]:
    struct = StructField({"name": name, "type": name, "versions": "0+", "fields": list(fields)})
    struct.set_data_class(type(name, (DataContainer,), {"_struct": struct}))
    compiled: Callable[[Any, int], tuple[Any, int]] = struct.compiled_decode_from(0)
    return compiled


def _by_topic(name: str, of: str) -> dict[str, Any]:
    return _field(name, f"[]{of}", _field("name", "string"), _field("numbers", "[]int32"), null=True)


_GROUP = _reader(
    "GroupMetadataValue",
    _field("version", "int16"),
    _field("protocolType", "string"),
    _field("generation", "int32"),
    _field("protocol", "string", null=True),
    _field("leader", "string", null=True),
    _field("currentStateTimestamp", "int64"),
    _field(
        "members",
        "[]Member",
        _field("memberId", "string"),
        _field("groupInstanceId", "string", null=True),
        _field("clientId", "string"),
        _field("clientHost", "string"),
        _field("rebalanceTimeout", "int32"),
        _field("sessionTimeout", "int32"),
        _field("subscription", "bytes"),
        _field("assignment", "bytes"),
    ),
)
_KEY = _reader("GroupMetadataKey", _field("type", "int16"), _field("group", "string"))
_STATE = _reader(
    "WorkerState",
    _field("version", "int16"),
    _field("url", "string"),
    _field("configOffset", "int64"),
    _field("allocation", "bytes", null=True),
)
_SHARE = _reader(
    "ConnectAssignment",
    _field("version", "int16"),
    _field("error", "int16"),
    _field("leader", "string"),
    _field("leaderUrl", "string"),
    _field("configOffset", "int64"),
    _by_topic("assigned", "Assigned"),
    _by_topic("revoked", "Revoked"),
    _field("delay", "int32"),
)
_SUBSCRIPTION = _reader(
    "Subscription",
    _field("version", "int16"),
    _field("topics", "[]string"),
    _field("userData", "bytes", null=True),
    _by_topic("owned", "Owned"),
    _field("generation", "int32"),
    _field("rack", "string", null=True),
)
_ASSIGNMENT = _reader(
    "Assignment", _field("version", "int16"), _by_topic("assigned", "Held"), _field("userData", "bytes", null=True)
)
_TASK = (_field("subtopology", "int32"), _field("partition", "int32"))
_NAME = _field("name", "[]int16")  # the topology's name, UTF-16; empty for nearly all
_STREAMS_STATE = _reader(
    "SubscriptionInfo",
    _field("version", "int32"),
    _field("latest", "int32"),
    _field("processId", "uuid"),
    _field("endPoint", "bytes"),
    _field("sums", "[]Sum", *_TASK, _field("total", "int64"), _field("name", "string", null=True)),
    _field("unique", "int8"),
    _field("error", "int32"),
    _field("tags", "[]Tag", _field("key", "bytes"), _field("value", "bytes")),
)


def _hosts(name: str) -> dict[str, Any]:
    partitions = _field(f"{name}Partitions", f"[]{name}P", _field("topic", "int32"), _field("partition", "int32"))
    return _field(name, f"[]{name}H", _field("host", "string"), _field("port", "int32"), partitions)


_STREAMS_SHARE = _reader(
    "AssignmentInfo",
    _field("version", "int32"),
    _field("common", "int32"),
    _field("active", "[]Active", *_TASK, _NAME),
    _field(
        "standby",
        "[]Standby",
        *_TASK,
        _NAME,
        _field("partitions", "[]Source", _field("topic", "string"), _field("partition", "int32")),
    ),
    _field("topics", "[]Topic", _field("number", "int32"), _field("name", "string")),
    _hosts("hosts"),
    _hosts("standbyHosts"),
    _field("error", "int32"),
    _field("next", "int64"),
)


def group(key: bytes, value: bytes, view: View) -> Any:
    """The record alone."""
    return _KEY(view(key), 0)[0], _GROUP(view(value), 0)[0]


def connect(key: bytes, value: bytes, view: View) -> Any:
    found = group(key, value, view)[1]
    blobs = []
    for member in found.members:
        state = _STATE(view(member.subscription), 0)[0]
        held = None if state.allocation is None else _SHARE(view(state.allocation), 0)[0]
        blobs.append((state, held, _SHARE(view(member.assignment), 0)[0]))
    return found, blobs


def consumers(key: bytes, value: bytes, view: View) -> Any:
    found = group(key, value, view)[1]
    return found, [
        (_SUBSCRIPTION(view(one.subscription), 0)[0], _ASSIGNMENT(view(one.assignment), 0)[0]) for one in found.members
    ]


def streams(key: bytes, value: bytes, view: View) -> Any:
    found, blobs = consumers(key, value, view)
    return found, [
        (one, two, _STREAMS_STATE(view(one.user_data), 0)[0], _STREAMS_SHARE(view(two.user_data), 0)[0])
        for one, two in blobs
    ]
