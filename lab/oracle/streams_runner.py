"""Drives `StreamsAssignors.java`: applications in, answers of Kafka Streams' own classes out, and how long they took.

An application is the `input` of a `streams-assign` case, as `rebalance-monitor plan` takes it, for the assignors that
Kafka keeps inside. Whether racks are known well enough is told, not found out. On the wire (`program`):

    request       int32 repeats, application
    application   string class, int64 lag, int32 warm-ups, int32 standbys, int64 interval, strings tags, cost, cost,
                  string strategy, int32 count, task*, int32 count, client*, bool racks known,
                  int32 count, (string partition, strings racks)*
    task          string id, int32 subtopology, int32 partition, bool stateful, int64 end, strings sources,
                  strings changelogs
    client        string process id, int32 count, (string tag, string value)*, int32 count, (string id, bool has_rack,
                  [string rack], strings owned, int32 count, (string task, int64 sum)*)*
    strings       int32 count, string*; cost = bool, [int32]
    answer        int32 count, bool followup, (string process id, tasks active, tasks standby, int32 count,
                  (string thread, tasks active, tasks standby)*)*, or -1 and string exception; then int64 ns per repeat
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cluster.java import Java
from lab.oracle.program import FOLDER, Program, fetched, listed, optional, string

CLASSES = {
    "ha": "HighAvailabilityTaskAssignor",
    "legacy_sticky": "LegacyStickyTaskAssignor",
    "fallback": "FallbackPriorTaskAssignor",
}


@dataclass(frozen=True, slots=True)
class Answered:
    """`expected` as in a case, and the nanoseconds that `assign` alone took in each repetition."""

    expected: dict[str, Any]
    repeated_ns: list[int]


def class_path(java: Java, release: str) -> str:
    """Kafka Streams' classes of this release, fetched once into a folder of their own."""
    wanted = (f"kafka-streams-{release}.jar",)
    return fetched(java, FOLDER / f"streams-{release}", wanted, ("streams",), release, f"kafka-streams {release}")


class StreamsRunner(Program):
    """One JVM with Kafka Streams' classes of one release; a context manager."""

    source = Path(__file__).with_name("StreamsAssignors.java")
    classes = staticmethod(class_path)
    memory = "-Xmx1g"

    def answer(self, given: Mapping[str, Any], *, racks_known: bool, repeats: int = 0) -> Answered:
        """The answer, then the times of `repeats` further ones."""
        self.ask(struct.pack(">i", repeats) + _application(given, racks_known=racks_known))
        count = self.read_number(">i", 4)
        if count < 0:
            expected: dict[str, Any] = {"exception": self.read_string()}
        else:
            followup = bool(self.read_number(">b", 1))
            expected = {"followup": followup, "clients": dict(self._client() for _ in range(count))}
        return Answered(expected, [self.read_number(">q", 8) for _ in range(repeats)])

    def _client(self) -> tuple[str, dict[str, Any]]:
        process_id = self.read_string()
        share: dict[str, Any] = {"active": self._tasks(), "standby": self._tasks()}
        share["threads"] = {
            self.read_string(): {"active": self._tasks(), "standby": self._tasks()}
            for _ in range(self.read_number(">i", 4))
        }
        return process_id, share

    def _tasks(self) -> list[str]:
        return [self.read_string() for _ in range(self.read_number(">i", 4))]


def _application(given: Mapping[str, Any], *, racks_known: bool) -> bytes:
    config = given["config"]
    out = bytearray(string(CLASSES[given["assignor"]]))
    out += struct.pack(
        ">qiiq",
        config["acceptable.recovery.lag"],
        config["max.warmup.replicas"],
        config["num.standby.replicas"],
        config["probing.rebalance.interval.ms"],
    )
    out += _strings(config["rack.aware.assignment.tags"])
    for name in ("traffic_cost", "non_overlap_cost"):
        cost = config[f"rack.aware.assignment.{name}"]
        out += b"\x00" if cost is None else struct.pack(">?i", True, cost)
    out += string(config["rack.aware.assignment.strategy"]) + struct.pack(">i", len(given["tasks"]))
    for task in given["tasks"]:
        subtopology, partition = (int(part) for part in task["id"].split("_"))
        out += string(task["id"])
        out += struct.pack(">ii?q", subtopology, partition, task["stateful"], task.get("endOffsetSum") or 0)
        out += _strings(task["partitions"]) + _strings(task["changelogs"])
    out += listed(_client, given["clients"]) + struct.pack(">?", racks_known)
    racks = given.get("racks") or {} if racks_known else {}
    return bytes(out) + listed(
        lambda one: string(one[0]) + _strings(rack for rack in one[1] if rack is not None), racks.items()
    )


def _client(client: Mapping[str, Any]) -> bytes:
    tags = listed(lambda one: string(one[0]) + string(one[1]), client["tags"].items())
    return string(client["processId"]) + tags + listed(_consumer, client["consumers"])


def _consumer(consumer: Mapping[str, Any]) -> bytes:
    sums = listed(lambda one: string(one[0]) + struct.pack(">q", one[1]), consumer["offsetSums"].items())
    return string(consumer["id"]) + optional(consumer["rack"]) + _strings(consumer["owned"]) + sums


def _strings(texts: Iterable[str]) -> bytes:
    return listed(string, texts)
