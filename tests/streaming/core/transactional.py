"""A capture as a cluster with `exactly.once.source.support` would have left it: a marker behind each transaction.

A worker then writes a connector's configuration, its tasks, and their commit in one transaction each. The marker takes
an offset of the config topic that no reader is given, so all later offsets move, and with them every reference to them
in the group's records: in worker states, in their allocations, and in assignments.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import RawRecord, decode

Reference = Callable[[int], int]


def in_transactions(records: Iterable[RawRecord], known: ClusterSettings) -> list[RawRecord]:
    """The same records with their config offsets moved."""
    (topics,) = known.connect.values()
    taken = list(records)
    config = [one for one in taken if one.topic == topics.config_topic]
    keys = [one.key or b"" for one in config]
    ends = [
        one.offset
        for one, key, following in zip(config, keys, [*keys[1:], b""], strict=True)
        if not (key.startswith(b"task-") and following.startswith(b"task-"))
    ]

    def moved(offset: int) -> int:
        return offset + bisect_left(ends, offset)

    def reference(offset: int) -> int:
        return moved(offset - 1) + 1 if offset > 0 else offset

    found = []
    for record in taken:
        row = decode(record, known)
        if record.topic == topics.config_topic:
            found.append(replace(record, offset=moved(record.offset)))
        elif row is not None and isinstance(row.body, GroupGeneration) and record.value is not None:
            value = record.value
            end = 0
            for member in row.body.members:
                for old, new in _patched(member, reference):
                    at = value.index(old, end)
                    end = at + len(new)
                    value = value[:at] + new + value[end:]
            found.append(replace(record, value=value))
        else:
            found.append(record)
    return found


def _patched(member: MemberRow, reference: Reference) -> Iterator[tuple[bytes, bytes]]:
    """The member's blobs as they follow each other in the record, before and after; their lengths stay."""
    state = member.subscription
    assert isinstance(state, WorkerState)
    blob = _with_offset(member.subscription_bytes, 2, 1, reference)
    if state.allocation is not None:
        start = 2 + _string(blob, 2) + 8 + 4
        blob = blob[:start] + _with_offset(blob[start:], 4, 2, reference)
    yield member.subscription_bytes, blob
    if isinstance(member.assignment, ConnectAssignment):
        yield member.assignment_bytes, _with_offset(member.assignment_bytes, 4, 2, reference)


def _with_offset(blob: bytes, start: int, strings: int, reference: Reference) -> bytes:
    """The blob with the INT64 that follows so many strings from `start` on replaced."""
    at = start
    for _ in range(strings):
        at += _string(blob, at)
    offset = int.from_bytes(blob[at : at + 8], "big", signed=True)
    return blob[:at] + reference(offset).to_bytes(8, "big", signed=True) + blob[at + 8 :]


def _string(blob: bytes, at: int) -> int:
    return 2 + int.from_bytes(blob[at : at + 2], "big")
