"""`decode` for records of a capture: those at the given coordinates, each read as its topic says."""

from collections.abc import Iterator
from pathlib import Path

from rebalance_monitor.streaming.core.connect.topic_names import CONFIG_SUFFIXES, STATUS_SUFFIXES
from rebalance_monitor.streaming.core.reading.shown import ShownObject
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC
from rebalance_monitor.streaming.core.shown import PAYLOADS, show_record
from .captures import records_of
from .decode import Coordinates
from .exit_codes import InputError


def captured(path: Path, kind: str, at: Coordinates) -> Iterator[ShownObject]:
    """The records of the capture that are asked for. Raises InputError, also if there are none."""
    if kind in PAYLOADS:
        raise InputError(f"{path} is a capture, which holds records; --topic-kind {kind} is for a bare payload")
    found = False
    for record in records_of(path):
        if at.topic not in (None, record.topic) or at.partition not in (None, record.partition):
            continue
        if at.offset not in (None, record.offset):
            continue
        found = True
        source = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        yield {"source": source, **show_record(kind_of(record.topic, kind), record.key, record.value)}
    if not found:
        raise InputError(
            f"{path}: no record with these coordinates; leave out --topic, --partition or --offset to see what is there"
            if at.given()
            else f"{path}: holds no records"
        )


def kind_of(topic: str, otherwise: str) -> str:
    """What a topic of this name holds; `otherwise` if the name does not say."""
    if topic == OFFSETS_TOPIC:
        return "offsets"
    if topic.endswith(CONFIG_SUFFIXES):
        return "connect-config"
    if topic.endswith(STATUS_SUFFIXES):
        return "connect-status"
    return otherwise
