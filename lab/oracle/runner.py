"""Drives `Runner.java`: scenarios in, the answers of Kafka's own classes out, and how long they took.

A scenario is the `input` of a rounds case, as `rebalance-monitor plan` takes it. On the wire, all numbers big endian:

    scenario   int32 max_delay_ms, int32 timed, int32 repeats, int32 count, rounds
    round      int64 now_ms, int32 generation, int32 last_completed, string protocol, leader, process,
               config, bool has_fresh, [config], int32 count, (string id, bytes subscription)*
    config     int64 offset, int32 count, (string connector, int32 tasks)*
    string     bytes in UTF-8; bytes = int32 length and content
    answer     per round: int64 ns, int32 count, (string id, bytes assignment)*, or -1 and string exception;
               then int64 ns per repeat
"""

import shutil
import struct
import subprocess
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from lab import jars
from lab.errors import LabError
from lab.java import Java
from lab.paths import BUILD, CONF

SOURCE = Path(__file__).with_name("Runner.java")
MODULE = CONF / "ivy" / "oracle.xml"
FOLDER = BUILD / "oracle"
COMPILE_TIMEOUT_S = 120

Answer = dict[str, bytes] | str
"""Assignment bytes by member, or the exception that the leader's round ended with."""


class Timed(IntEnum):
    """What is timed: nothing, `performAssignment` (bytes in, bytes out), or its inner part between decoded sets."""

    NOTHING = 0
    BYTES = 1
    SETS = 2


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
    folder = FOLDER / release
    wanted = (f"connect-runtime-{release}.jar", f"connect-json-{release}.jar", "jackson-module-afterburner-*.jar")
    if not all(any(folder.glob(name)) for name in wanted):
        reason = jars.retrieve(java, MODULE, "classes", folder, kafka_release=release)
        if not all(any(folder.glob(name)) for name in wanted):
            raise LabError(f"Connect {release} could not be fetched from Maven Central ({reason})")
    return str(folder / "*")


def compiled(java: Java) -> Path:
    """Folder with the runner's class, compiled anew when its source is newer: by a JDK, else by Eclipse's compiler."""
    out = FOLDER / "classes"
    target = out / "Runner.class"
    if target.is_file() and target.stat().st_mtime >= SOURCE.stat().st_mtime:
        return out
    out.mkdir(parents=True, exist_ok=True)
    javac = java.home / "bin" / "javac"
    found = str(javac) if javac.is_file() else shutil.which("javac")
    # No --release: it would hide sun.misc.Unsafe, the only way to make a group member without its network.
    command = [found, "-source", "17", "-target", "17"] if found else [*_eclipse(java), "-17"]
    done = subprocess.run(
        [*command, "-nowarn", "-encoding", "UTF-8", "-d", str(out), str(SOURCE)],
        capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S, check=False,
    )  # fmt: skip
    if not target.is_file():
        raise LabError(f"{SOURCE.name} does not compile: {(done.stderr or done.stdout).strip()[-300:]}")
    return out


def _eclipse(java: Java) -> list[str]:
    folder = FOLDER / "compiler"
    if not list(folder.glob("ecj-*.jar")):
        reason = jars.retrieve(java, MODULE, "compiler", folder, kafka_release=jars.kafka_release())
        if not list(folder.glob("ecj-*.jar")):
            raise LabError(f"no javac here, and Eclipse's compiler could not be fetched from Maven Central ({reason})")
    return [java.command, "-jar", str(next(folder.glob("ecj-*.jar")))]


class Runner:
    """One JVM with the classes of one release; a context manager."""

    def __init__(self, java: Java, release: str, *, options: tuple[str, ...] = ("-Xmx512m",)) -> None:
        self.release = release
        self._process = subprocess.Popen(
            [java.command, *options, "-cp", f"{compiled(java)}:{class_path(java, release)}", "Runner"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in: IO[bytes] = self._process.stdin
        self._out: IO[bytes] = self._process.stdout

    def __enter__(self) -> "Runner":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._in.close()
        self._process.wait(timeout=30)

    def play(self, given: Mapping[str, Any], timed: Timed = Timed.NOTHING, repeats: int = 0) -> Played:
        """Play all rounds once, then `repeats` times anew with the last round timed."""
        self._in.write(_scenario(given, timed, repeats))
        self._in.flush()
        first = [(self._number(">q", 8), self._answer()) for _ in given["rounds"]]
        return Played(
            answers=[answer for _, answer in first],
            first_ns=[taken_ns for taken_ns, _ in first],
            repeated_ns=[self._number(">q", 8) for _ in range(repeats if timed else 0)],
        )

    def _answer(self) -> Answer:
        count = self._number(">i", 4)
        if count < 0:
            return self._bytes().decode()
        return {self._bytes().decode(): self._bytes() for _ in range(count)}

    def _bytes(self) -> bytes:
        return self._read(self._number(">i", 4))

    def _number(self, form: str, size: int) -> int:
        number: int = struct.unpack(form, self._read(size))[0]
        return number

    def _read(self, size: int) -> bytes:
        read = self._out.read(size)
        if len(read) < size:
            raise LabError(
                f"the Java runner of {self.release} ended early with status {self._process.wait(timeout=30)}"
            )
        return read


def _scenario(given: Mapping[str, Any], timed: Timed, repeats: int) -> bytes:
    out = bytearray(struct.pack(">iiii", given["max_delay_ms"], timed, repeats, len(given["rounds"])))
    for one in given["rounds"]:
        out += struct.pack(">qii", one["now_ms"], one["generation"], one["last_completed_generation"])
        out += _string(one["protocol"]) + _string(one["leader"]) + _string(one["leader_process"])
        out += _config(one["config"])
        fresh = one.get("fresh_config")
        out += b"\x01" + _config(fresh) if fresh else b"\x00"
        out += struct.pack(">i", len(one["members"]))
        for member in one["members"]:
            blob = b64decode(member["subscription"])
            out += _string(member["id"]) + struct.pack(">i", len(blob)) + blob
    return bytes(out)


def _config(config: Mapping[str, Any]) -> bytes:
    out = bytearray(struct.pack(">qi", config["offset"], len(config["connectors"])))
    for name, tasks in config["connectors"].items():
        out += _string(name) + struct.pack(">i", tasks)
    return bytes(out)


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">i", len(raw)) + raw
