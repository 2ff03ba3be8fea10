"""Drives `Runner.java`: scenarios in, the answers of Kafka's own classes out, and how long they took.

A scenario is the `input` of a rounds case, as `rebalance-monitor plan` takes it. On the wire, all numbers big endian:

    scenario   int32 max_delay_ms, int32 timed, int32 repeats, int32 count, rounds
    round      int64 now_ms, int32 generation, int32 last_completed, string protocol, leader, process,
               config, bool has_fresh, [config], int32 count, (string id, bytes subscription)*
    config     int64 offset, int32 count, (string connector, int32 tasks)*
    answer     per round: int64 ns, int32 count, (string id, bytes assignment)*, or -1 and string exception;
               then int64 ns per repeat
"""

import struct
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cluster import jars
from lab.cluster.java import Java
from lab.oracle.program import FOLDER, Program, Timed, blob, fetched, listed, string

Answer = dict[str, bytes] | str
"""Assignment bytes by member, or the exception that the leader's round ended with."""


@dataclass(frozen=True, slots=True)
class Played:
    """The answer of each round with the nanoseconds it took, and those of the last round in each repetition."""

    answers: list[Answer]
    first_ns: list[int]
    repeated_ns: list[int]


def class_path(java: Java, release: str) -> str:
    """Connect's classes of this release, from the demo's jars or fetched once into a folder of their own."""
    if release == jars.kafka_release():
        return jars.fetch(java)
    wanted = (f"connect-runtime-{release}.jar", f"connect-json-{release}.jar", "jackson-module-afterburner-*.jar")
    return fetched(java, FOLDER / release, wanted, ("classes",), release, f"Connect {release}")


class Runner(Program):
    """One JVM with Connect's classes of one release; a context manager."""

    source = Path(__file__).with_name("Runner.java")
    classes = staticmethod(class_path)

    def play(self, given: Mapping[str, Any], timed: Timed = Timed.NOTHING, repeats: int = 0) -> Played:
        """Play all rounds once, then `repeats` times anew with the last round timed."""
        self.ask(_scenario(given, timed, repeats))
        first = [(self.read_number(">q", 8), self._answer()) for _ in given["rounds"]]
        return Played(
            answers=[answer for _, answer in first],
            first_ns=[taken_ns for taken_ns, _ in first],
            repeated_ns=[self.read_number(">q", 8) for _ in range(repeats if timed else 0)],
        )

    def _answer(self) -> Answer:
        count = self.read_number(">i", 4)
        if count < 0:
            return self.read_string()
        return {self.read_string(): self.read_bytes() for _ in range(count)}


def _scenario(given: Mapping[str, Any], timed: Timed, repeats: int) -> bytes:
    out = bytearray(struct.pack(">iiii", given["max_delay_ms"], timed, repeats, len(given["rounds"])))
    for round_ in given["rounds"]:
        out += struct.pack(">qii", round_["now_ms"], round_["generation"], round_["last_completed_generation"])
        out += string(round_["protocol"]) + string(round_["leader"]) + string(round_["leader_process"])
        out += _config(round_["config"])
        fresh = round_.get("fresh_config")
        out += b"\x01" + _config(fresh) if fresh else b"\x00"
        out += listed(lambda one: string(one["id"]) + blob(b64decode(one["subscription"])), round_["members"])
    return bytes(out)


def _config(config: Mapping[str, Any]) -> bytes:
    jobs = listed(lambda one: string(one[0]) + struct.pack(">i", one[1]), config["connectors"].items())
    return struct.pack(">q", config["offset"]) + jobs
