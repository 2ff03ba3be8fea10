"""A Java program beside ours that answers on its standard output what it is asked on its standard input.

On the wire, all numbers big endian: string = bytes in UTF-8; bytes = int32 length and content. Each program's own
requests and answers are told by the module that speaks to it.
"""

import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import IO, Any, ClassVar, Self

from lab.cluster import jars
from lab.cluster.java import Java
from lab.errors import LabError
from lab.paths import BUILD, CONF

MODULE = CONF / "ivy" / "oracle.xml"
FOLDER = BUILD / "oracle"
COMPILE_TIMEOUT_S = 120


class Timed(IntEnum):
    """What is timed: nothing, the whole way from bytes to bytes, or the computation alone on what is already read."""

    NOTHING = 0
    BYTES = 1
    SETS = 2


def fetched(java: Java, folder: Path, wanted: Sequence[str], confs: Sequence[str], release: str, what: str) -> str:
    """The class path of a folder with these jars (patterns), which are fetched once. LabError says `what` they are."""

    def absent() -> bool:
        return not all(any(folder.glob(name)) for name in wanted)

    reason = ""
    if absent():
        for conf in confs:
            reason = jars.retrieve(java, MODULE, conf, folder, kafka_release=release) or reason
    if absent():
        raise LabError(f"{what} could not be fetched from Maven Central ({reason})")
    return str(folder / "*")


def compiled(java: Java, source: Path, class_path: str = "") -> Path:
    """Folder with the program's class, compiled anew when its source is newer: by a JDK, else by Eclipse's compiler.
    `class_path`: what the source imports."""
    out = FOLDER / "classes"
    target = out / f"{source.stem}.class"
    if target.is_file() and target.stat().st_mtime >= source.stat().st_mtime:
        return out
    out.mkdir(parents=True, exist_ok=True)
    javac = java.home / "bin" / "javac"
    found = str(javac) if javac.is_file() else shutil.which("javac")
    # No --release: it would hide sun.misc.Unsafe, the only way to make a group member without its network.
    command = [found, "-source", "17", "-target", "17"] if found else [*_eclipse(java), "-17"]
    imports = ["-cp", class_path] if class_path else []
    done = subprocess.run(
        [*command, *imports, "-nowarn", "-encoding", "UTF-8", "-d", str(out), str(source)],
        capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S, check=False,
    )  # fmt: skip
    if not target.is_file():
        raise LabError(f"{source.name} does not compile: {(done.stderr or done.stdout).strip()[-300:]}")
    return out


def _eclipse(java: Java) -> list[str]:
    folder = FOLDER / "compiler"
    if not list(folder.glob("ecj-*.jar")):
        reason = jars.retrieve(java, MODULE, "compiler", folder, kafka_release=jars.kafka_release())
        if not list(folder.glob("ecj-*.jar")):
            raise LabError(f"no javac here, and Eclipse's compiler could not be fetched from Maven Central ({reason})")
    return [java.command, "-jar", str(next(folder.glob("ecj-*.jar")))]


class Program:
    """One JVM that runs a program with the classes of one release, which `classes` fetches; a context manager."""

    source: ClassVar[Path]
    classes: ClassVar["staticmethod[[Java, str], str]"]
    memory: ClassVar[str] = "-Xmx512m"

    def __init__(self, java: Java, release: str) -> None:
        self.release = release
        class_path = f"{compiled(java, self.source)}:{self.classes(java, release)}"
        self._process = subprocess.Popen(
            [java.command, self.memory, "-cp", class_path, self.source.stem],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in: IO[bytes] = self._process.stdin
        self._out: IO[bytes] = self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._in.close()
        self._process.wait(timeout=30)

    def ask(self, request: bytes) -> None:
        """Send one request; its answer is read piece by piece."""
        self._in.write(request)
        self._in.flush()

    def read_bytes(self) -> bytes:
        """The next piece of the answer."""
        return self._read(self.read_number(">i", 4))

    def read_string(self) -> str:
        """The next piece of the answer."""
        return self.read_bytes().decode()

    def read_number(self, form: str, size: int) -> int:
        """The next piece of the answer, in `struct`'s words."""
        number: int = struct.unpack(form, self._read(size))[0]
        return number

    def _read(self, size: int) -> bytes:
        read = self._out.read(size)
        if len(read) < size:
            raise LabError(
                f"the Java runner of {self.release} ended early with status {self._process.wait(timeout=30)}"
            )
        return read


def string(text: str) -> bytes:
    """`text` as it stands in a request."""
    return blob(text.encode())


def blob(raw: bytes) -> bytes:
    """Bytes as they stand in a request."""
    return struct.pack(">i", len(raw)) + raw


def optional(text: str | None) -> bytes:
    """A text that may be missing."""
    return b"\x00" if text is None else b"\x01" + string(text)


def listed(encode: Callable[[Any], bytes], items: Iterable[Any]) -> bytes:
    """A list, each element by `encode`."""
    encoded = [encode(item) for item in items]
    return struct.pack(">i", len(encoded)) + b"".join(encoded)
