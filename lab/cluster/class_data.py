"""Class data of Kafka's programs: what Java has made of their classes, kept so that the next start need not (AppCDS).

A broker then starts with about half the work. Java checks the data itself and does without it where it does not fit.
`recording.py` makes it.
"""

import hashlib
from pathlib import Path

from lab.cluster.java import Java
from lab.paths import BUILD

FOLDER = BUILD / "class-data"


def folder(java: Java, class_path: str) -> Path:
    """Where the data of the programs of this class path (`jars/*`) lies, for this Java."""
    jars = Path(class_path).parent
    parts = [str(java.home), str(java.version), str(jars)]
    parts += sorted(f"{jar.name} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in jars.glob("*.jar"))
    return FOLDER / hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def flags(java: Java, class_path: str, main: str) -> tuple[str, ...]:
    """For the start of this program; none where nothing was recorded."""
    if java.recorded_into is not None:
        return (f"-XX:ArchiveClassesAtExit={java.recorded_into / _file(main)}", "-Xlog:cds*=off")
    found = folder(java, class_path) / _file(main)
    return (f"-XX:SharedArchiveFile={found}", "-Xlog:cds*=off") if found.is_file() else ()


def _file(main: str) -> str:
    return f"{main}.jsa"
