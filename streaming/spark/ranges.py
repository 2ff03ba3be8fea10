"""What one task is to read, as it travels: the source of Spark makes it, and the task that folds reads it itself.

    driver   `partitions`   ranges of a bundle, as bytes
    Spark                   one row with these bytes for each task
    task                    reads the ranges, folds, commits

So no record goes through Spark, and each record is decoded where its group is folded.
"""

import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.streaming.config.client_reference import ClientReference
from .offsets import Span

COLUMN = "ranges"
SPARK_SCHEMA = f"{COLUMN} binary"


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleRanges:
    """Ranges of the partitions of one bundle. `kinds`: of topics; `gone`: ranges that can't be read any more, and why;
    `groups`: groups with topics of their own that are read in this bundle; `tick_ms`: 0 where there is none. `channel`:
    of the query, which no other query of the machine has. `commits`: as `reading.Reading` has it."""

    cluster_id: str
    client: ClientReference
    channel: str
    timeout_ms: int
    kinds: Mapping[str, str]
    spans: Sequence[Span]
    gone: Sequence[tuple[Span, str]]
    groups: frozenset[str]
    tick_ms: int
    commits: tuple[str, ...] | None = None

    def packed(self) -> bytes:
        return pickle.dumps(self)

    @staticmethod
    def unpacked(packed: bytes) -> "BundleRanges":
        """From bytes that this job's own driver made."""
        found = pickle.loads(packed)
        assert isinstance(found, BundleRanges)
        return found


_properties: dict[str, dict[str, str]] = {}
"""By the channel of their query."""


def properties_of(client: ClientReference, channel: str) -> dict[str, str]:
    """Properties of a client in this process, credentials in clear; read once in the life of a query."""
    found = _properties.get(channel)
    if found is None:
        found = _properties[channel] = client.librdkafka(os.environ)
    return found
