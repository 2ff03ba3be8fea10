"""Class data of Kafka and Spark: what Java has made of their classes, kept so that the next start need not (AppCDS).

A broker, a worker and the job's Spark then start with about half the work. Java checks the data itself and does without
it where it does not fit.
`recording.py` makes it.
"""

import hashlib
import importlib.util
from pathlib import Path

from lab.cluster.java import Java
from lab.paths import BUILD

FOLDER = BUILD / "class-data"
BROKER, WORKER = "kafka.Kafka", "org.apache.kafka.connect.cli.ConnectDistributed"
SPARK = "org.apache.spark.deploy.SparkSubmit"
OPTIONS_OF_SPARK = "SPARK_SUBMIT_OPTS"
"""The environment variable from which Spark takes options of its Java."""
OPTIONS_OF_EVERY_JAVA = "JDK_JAVA_OPTIONS"
"""From this one the command `java` takes them: a worker of Spark hands it on to its executors."""


def folder(java: Java, class_path: str) -> Path:
    """Where the data of the programs of this class path (`jars/*`) lies, for this Java."""
    jars = Path(class_path).parent
    parts = [str(java.home), str(java.version), str(jars)]
    parts += sorted(f"{jar.name} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in jars.glob("*.jar"))
    return FOLDER / hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def flags(java: Java, class_path: str, main: str) -> tuple[str, ...]:
    """For the start of this program, or of one that was not recorded and has the class path of a broker; none where
    nothing was recorded."""
    if java.recorded_into is not None:
        return (f"-XX:ArchiveClassesAtExit={java.recorded_into / _file(main)}", "-Xlog:cds*=off")
    recorded = (folder(java, class_path) / _file(name) for name in (main, BROKER))
    found = next((file for file in recorded if file.is_file()), None)
    return () if found is None else (f"-XX:SharedArchiveFile={found}", "-Xlog:cds*=off")


def spark_jars() -> str:
    """The class path of Spark; empty where it is not installed."""
    spec = importlib.util.find_spec("pyspark")
    return "" if spec is None or spec.origin is None else str(Path(spec.origin).parent / "jars" / "*")


def _file(main: str) -> str:
    return f"{main}.jsa"
