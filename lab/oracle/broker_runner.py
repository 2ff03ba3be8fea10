"""Drives `BrokerAssignors.java`: groups in, the answers of the group coordinator's own assignors out.

A group is the `input` of a `broker-assign` case, as `rebalance-monitor plan` takes it. On the wire (`program`):

    request    int32 kind (0 uniform, 1 range, 2 simple, 3 Streams), int32 repeats, then the group
    group      bool homogeneous, topics, members
    topic      16 bytes id, string name, int32 partitions, racks (strings) of each
    member     string id, bool has_instance [string], bool has_rack [string], strings names, previous
    previous   int32 count, (16 bytes topic id, int32s)*
    streams    configs (string, string)*, subtopologies (string id, int32 partitions, bool stateful)*,
               members (string id, string process, tasks active, tasks standby)*; tasks = (string, int32s)*
    answer     int64 ns, int32 count, (string id, int32 maps or -1 for no entry, (string, int32s)* each)*,
               or -1 and string exception; then int64 ns per repeat

Lists have their int32 count in front.
"""

import struct
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cluster.java import Java
from lab.oracle.program import FOLDER, Program, fetched, listed, optional, string

KINDS = ("uniform", "range", "simple", "streams-sticky")
ROLES = ("active", "standby", "warmup")
_API_JAR_SINCE = (3, 8)

Answer = dict[str, Any]
"""`{"assignment": {member: None | {"target" or role: [[topic or subtopology, numbers]]}}}`, or `{"error": class}`."""


@dataclass(frozen=True, slots=True)
class Played:
    """The answer with the nanoseconds it took, and those of each repetition."""

    answer: Answer
    first_ns: int
    repeated_ns: list[int]


def class_path(java: Java, release: str) -> str:
    """The coordinator's classes of this release, fetched once into a folder of their own."""
    wanted = [f"kafka-group-coordinator-{release}.jar", f"kafka-server-common-{release}.jar"]
    confs = ["broker"]
    if tuple(map(int, release.split(".")[:2])) >= _API_JAR_SINCE:
        wanted.append(f"kafka-group-coordinator-api-{release}.jar")
        confs.append("broker-api")
    return fetched(java, FOLDER / f"broker-{release}", wanted, confs, release, f"kafka-group-coordinator {release}")


class BrokerRunner(Program):
    """One JVM with the group coordinator's classes of one release."""

    source = Path(__file__).with_name("BrokerAssignors.java")
    classes = staticmethod(class_path)

    def play(self, kind: str, given: Mapping[str, Any], repeats: int = 0) -> Played:
        """Assign once, then `repeats` times more with the time taken."""
        encode = _streams if kind == "streams-sticky" else _group
        self.ask(struct.pack(">ii", KINDS.index(kind), repeats) + encode(given))
        first_ns = self.read_number(">q", 8)
        answer = self._answer(kind)
        return Played(answer, first_ns, [self.read_number(">q", 8) for _ in range(repeats)])

    def _answer(self, kind: str) -> Answer:
        count = self._int()
        if count < 0:
            return {"error": self.read_string()}
        names = ROLES if kind == "streams-sticky" else ("target",)
        return {"assignment": {self.read_string(): self._entry(names) for _ in range(count)}}

    def _entry(self, names: Sequence[str]) -> dict[str, Any] | None:
        if self._int() < 0:
            return None
        return {name: [[self.read_string(), self._ints()] for _ in range(self._int())] for name in names}

    def _ints(self) -> list[int]:
        return [self._int() for _ in range(self._int())]

    def _int(self) -> int:
        return self.read_number(">i", 4)


def homogeneous(given: Mapping[str, Any]) -> bool:
    """Whether all members subscribe to the same names."""
    return len({frozenset(member["subscribed"]) for member in given["members"]}) <= 1


def _group(given: Mapping[str, Any]) -> bytes:
    topics = [
        _id(text) + string(one["name"]) + struct.pack(">i", one["partitions"]) + _racks(one)
        for text, one in given["topics"].items()
    ]
    members = [
        string(one["id"])
        + optional(one.get("instance"))
        + optional(one.get("rack"))
        + listed(string, one["subscribed"])
        + listed(lambda entry: _id(entry[0]) + _ints(entry[1]), one["previous"])
        for one in given["members"]
    ]
    return struct.pack(">?", homogeneous(given)) + listed(bytes, topics) + listed(bytes, members)


def _streams(given: Mapping[str, Any]) -> bytes:
    return (
        listed(lambda one: string(one[0]) + string(one[1]), (given.get("configs") or {}).items())
        + listed(
            lambda one: string(one[0]) + struct.pack(">i?", one[1]["partitions"], one[1]["stateful"]),
            given["subtopologies"].items(),
        )
        + listed(
            lambda one: string(one["id"]) + string(one["processId"]) + _tasks(one["active"]) + _tasks(one["standby"]),
            given["members"],
        )
    )


def _racks(topic: Mapping[str, Any]) -> bytes:
    racks = topic.get("racks") or [()] * topic["partitions"]
    return b"".join(listed(string, one) for one in racks)


def _tasks(tasks: Iterable[tuple[str, Sequence[int]]]) -> bytes:
    return listed(lambda one: string(one[0]) + _ints(one[1]), tasks)


def _ints(numbers: Sequence[int]) -> bytes:
    return struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)


def _id(text: str) -> bytes:
    return urlsafe_b64decode(text + "==")
