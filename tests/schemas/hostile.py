"""Inputs that mean harm, and every decoder they are thrown at: used by the fuzzing and the memory tests."""

from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from rebalance_monitor.schemas import connect_protocol, consumer_protocol
from rebalance_monitor.schemas.connect_topics import decode_config_record, decode_status_record
from rebalance_monitor.schemas.coordinator_records import decode_record
from rebalance_monitor.schemas.group_records import decode_group_record
from rebalance_monitor.schemas.offsets_topic import decode_group_metadata, decode_key
from rebalance_monitor.schemas.record_layouts import VALUES
from rebalance_monitor.schemas.sticky_user_data import decode_sticky_user_data
from rebalance_monitor.schemas.streams_assignment import decode_assignment_info
from rebalance_monitor.schemas.streams_subscription import decode_subscription_info
from rebalance_monitor.streaming.core.lifecycles import FORMATS, decode_offsets_record
from rebalance_monitor.streaming.core.reading.blobs import MemberBlobs
from tests.vector_files import VECTORS, json_lines

GROUP_KEY = b"\x00\x02\x00\x01g"
UNREMEMBERED = MemberBlobs(FORMATS, 0)

LENGTHS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00" * 4)
VARINTS_AND_TEXTS = (b"\xff" * 5, b"\x80" * 6, b"\xed\xa0\x80", b"\xc3")

Decode = Callable[[bytes], Any]


def _job(raw: bytes) -> Any:
    """As the reading task decodes a group's record, blobs included."""
    return decode_offsets_record("__consumer_offsets", 0, 0, 0, GROUP_KEY, raw, blobs=UNREMEMBERED)


def _of_type(type_: int, raw: bytes) -> Any:
    return decode_record(type_.to_bytes(2, "big") + b"\x00\x01g\x00\x01m\x00\x00\x00\x01", raw)


def _typed_of_type(type_: int, raw: bytes) -> Any:
    return decode_group_record(type_.to_bytes(2, "big") + b"\x00\x01g\x00\x01m", raw)


# Everything that takes bytes from the network, by what the bytes are.
DECODERS: dict[str, Decode] = {
    "key": decode_key,
    "group-metadata": decode_group_metadata,
    "job": _job,
    "connect-worker-state": connect_protocol.decode_worker_state,
    "connect-static-state": partial(connect_protocol.decode_worker_state, static=True),
    "connect-assignment": connect_protocol.decode_assignment,
    "connect-assignment-v0": partial(connect_protocol.decode_assignment, strict_v0=True),
    "consumer-subscription": consumer_protocol.decode_subscription,
    "consumer-assignment": consumer_protocol.decode_assignment,
    "sticky-user-data": decode_sticky_user_data,
    "cooperative-user-data": partial(decode_sticky_user_data, cooperative=True),
    "streams-subscription": decode_subscription_info,
    "streams-assignment": decode_assignment_info,
    **{f"record-{type_}": partial(_of_type, type_) for type_ in VALUES},
    **{f"group-record-{type_}": partial(_typed_of_type, type_) for type_ in VALUES if type_ > 2},
    "config-key": lambda raw: decode_config_record(raw, b'{"tasks":1}'),
    "config-connector": partial(decode_config_record, b"connector-a"),
    "config-task": partial(decode_config_record, b"task-a-0"),
    "config-commit": partial(decode_config_record, b"commit-a"),
    "config-target-state": partial(decode_config_record, b"target-state-a"),
    "status-key": lambda raw: decode_status_record(raw, b'{"state":"RUNNING","generation":1}'),
    "status-value": partial(decode_status_record, b"status-task-a-0"),
}


def real() -> dict[str, list[bytes]]:
    """Sound bytes for each decoder: what Kafka's classes and real clusters wrote."""
    found: dict[str, list[bytes]] = {name: [] for name in DECODERS}
    for case in json_lines(VECTORS / "consumer" / "coordinator-wire.jsonl.gz"):
        given = case["input"]
        if "blob" in given:
            found[f"consumer-{given['what']}"].append(b64decode(given["blob"]))
        elif given.get("key") and given.get("value"):
            _sort_in(found, b64decode(given["key"]), b64decode(given["value"]))
    for capture in (VECTORS / "captures").iterdir():
        for line in json_lines(capture / "records.jsonl.gz"):
            if line["key"] is None or line["value"] is None:
                continue
            key, value = b64decode(line["key"]), b64decode(line["value"])
            if line["topic"] == "__consumer_offsets":
                _sort_in(found, key, value)
                _blobs(found, value)
            else:
                status = key.startswith(b"status-")
                found["status-key" if status else "config-key"].append(key)
                name = "status-value" if status else f"config-{key.split(b'-')[0].decode(errors='replace')}"
                found.get(name, []).append(value)
    return found


def _sort_in(found: dict[str, list[bytes]], key: bytes, value: bytes) -> None:
    found["key"].append(key)
    type_ = int.from_bytes(key[:2], "big")
    for name in (f"record-{type_}", f"group-record-{type_}"):
        if name in found:
            found[name].append(value)
    if key[:2] == b"\x00\x02":
        found["job"].append(value)
        found["group-metadata"].append(value)


def _blobs(found: dict[str, list[bytes]], value: bytes) -> None:
    outcome = decode_group_metadata(value)
    for member in getattr(getattr(outcome, "value", None), "members", ()):
        found["connect-worker-state"].append(member.subscription)
        found["connect-assignment"].append(member.assignment)


def damaged(random: Random, raw: bytes, others: list[bytes]) -> bytes:
    """A mutation of a sound record: bytes changed, lengths made huge, parts cut, repeated, or taken from another."""
    out = bytearray(raw)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(out) + 1)
        match random.randrange(7):
            case 0:
                out[at : at + 1] = random.randbytes(1)
            case 1:
                out[at : at + 4] = random.choice(LENGTHS)
            case 2:
                del out[at:]
            case 3:
                del out[at : at + random.randint(1, 8)]
            case 4:
                out[at:at] = out[at : at + random.randint(1, 64)] * random.randint(1, 20)
            case 5:
                other = random.choice(others)
                cut = random.randrange(len(other) + 1)
                out[at:] = other[cut:]
            case _:
                out[at:at] = random.choice((*VARINTS_AND_TEXTS, bytes(random.randint(1, 40))))
    return bytes(out)


def inputs(random: Random, sound: dict[str, list[bytes]]) -> Iterator[tuple[str, bytes]]:
    """Without end: a decoder and bytes for it, a third random, the others damaged records."""
    names = list(DECODERS)
    while True:
        name = random.choice(names)
        # Half of the decoders see bytes of another kind at times: a record may be anything.
        known = sound[name] or [b"\x00\x00"]
        if random.random() < 0.33:
            version = random.choice((b"", b"\x00\x00", b"\x00\x01", b"\x00\x03", b"\x00\x04", b"\x00\x00\x00\x0b"))
            yield name, version + random.randbytes(random.choice((0, 1, 3, 10, 40, 300)))
        else:
            yield name, damaged(random, random.choice(known), known)
