"""The groups' records as a capture that `rebalance-monitor replay` reads."""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from lab.cluster.broker import OFFSETS_PARTITIONS

OFFSETS_TOPIC = "__consumer_offsets"
COMMIT_VERSIONS = (b"\0\0", b"\0\1")
"""The first two bytes of the keys of offset commits; they are left out."""
READ_S = 30.0


def write(folder: Path, bootstrap: str, samples: Sequence[object], about: object) -> int:
    """The whole log without offset commits; how many records that are. `samples`: lines that `sample` made."""
    folder.mkdir(parents=True, exist_ok=True)
    records = _records(bootstrap)
    _lines(folder / "records.jsonl.gz", records)
    _lines(folder / "metadata.jsonl.gz", samples)
    (folder / "cluster.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return len(records)


def sample(at_ms: int, counts: Mapping[str, int], ids: Mapping[str, str] | None = None) -> dict[str, object]:
    """How many partitions the topics had at a time, and their ids where they were asked for."""
    known = {} if ids is None else ids
    topics = {
        name: {**({"id": known[name]} if name in known else {}), "partitions": count, "racks": [[]] * count}
        for name, count in sorted(counts.items())
    }
    return {"at_ms": at_ms, "topics": topics}


def groups(bootstrap: str) -> set[str]:
    """The groups that the log names so far."""
    keys = (base64.b64decode(str(one["key"])) for one in _records(bootstrap))
    return {key[4 : 4 + int.from_bytes(key[2:4], "big")].decode() for key in keys}


def _lines(file: Path, values: Sequence[object]) -> None:
    with gzip.GzipFile(file, "wb", mtime=0) as packed:
        for value in values:
            packed.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")


def _records(bootstrap: str) -> list[dict[str, object]]:
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
            "enable.partition.eof": True, "log_level": 0,
        }
    )  # fmt: skip
    found = []
    with closing(reader):
        for partition in range(OFFSETS_PARTITIONS):
            reader.assign([TopicPartition(OFFSETS_TOPIC, partition, OFFSET_BEGINNING)])
            while (message := reader.poll(READ_S)) is not None and message.error() is None:
                if not message.key().startswith(COMMIT_VERSIONS):
                    found.append(_line(message))
    return found


def _line(message: Message) -> dict[str, object]:
    value = message.value()
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
        "key": base64.b64encode(message.key()).decode(),
        "value": None if value is None else base64.b64encode(value).decode(),
    }
