"""Drives `ConsumerAssignors.java`: groups in, the answers of the consumer's own classes out, and how long they took.

A group is the `input` of a `consumer-assign` case, as `rebalance-monitor plan` takes it. On the wire (`program`):

    group      string assignor, int32 timed, int32 repeats, int32 count, (int32 broker, bool has_rack, [string rack])*,
               int32 count, (string topic, int32 count, (int32 count, int32 broker*)*)*,
               int32 count, (string member, bool is_static, [string instance], bytes subscription)*
    answer     int64 ns, then int32 count, (string member, int32 count, (string topic, int32 number)*, bytes blob)*
               or -1 and string exception; then int64 ns per repeat
"""

import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cluster.java import Java
from lab.oracle.program import FOLDER, Program, Timed, blob, fetched, listed, optional, string


@dataclass(frozen=True, slots=True)
class Answered:
    """`expected` as in a case; the nanoseconds of this answer and those of each repetition."""

    expected: dict[str, Any]
    first_ns: int
    repeated_ns: list[int]


def class_path(java: Java, release: str) -> str:
    """The client's classes of this release, fetched once into a folder of their own."""
    wanted = (f"kafka-clients-{release}.jar",)
    return fetched(java, FOLDER / f"clients-{release}", wanted, ("clients",), release, f"kafka-clients {release}")


class ConsumerRunner(Program):
    """One JVM with the client's classes of one release; a context manager."""

    source = Path(__file__).with_name("ConsumerAssignors.java")
    classes = staticmethod(class_path)

    def answer(
        self, assignor: str, given: Mapping[str, Any], timed: Timed = Timed.NOTHING, repeats: int = 0
    ) -> Answered:
        """The answer, then the times of `repeats` further ones."""
        self.ask(_group(assignor, given, timed, repeats))
        first_ns = self.read_number(">q", 8)
        count = self.read_number(">i", 4)
        if count < 0:
            expected: dict[str, Any] = {"error": self.read_string()}
        else:
            expected = {"assignment": {self.read_string(): self._share() for _ in range(count)}}
        return Answered(expected, first_ns, [self.read_number(">q", 8) for _ in range(repeats if timed else 0)])

    def _share(self) -> dict[str, Any]:
        partitions = [[self.read_string(), self.read_number(">i", 4)] for _ in range(self.read_number(">i", 4))]
        return {"partitions": partitions, "bytes": b64encode(self.read_bytes()).decode()}


def _group(assignor: str, given: Mapping[str, Any], timed: Timed, repeats: int) -> bytes:
    return (
        string(assignor)
        + struct.pack(">ii", timed, repeats)
        + listed(lambda one: struct.pack(">i", int(one[0])) + optional(one[1]), given["brokers"].items())
        + listed(lambda one: string(one[0]) + listed(_replicas, one[1]), given["topics"].items())
        + listed(
            lambda one: string(one["id"]) + optional(one.get("instance")) + blob(b64decode(one["subscription"])),
            given["members"],
        )
    )


def _replicas(brokers: Sequence[int]) -> bytes:
    return struct.pack(f">i{len(brokers)}i", len(brokers), *brokers)
