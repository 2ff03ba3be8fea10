"""What all JVMs of the lab share: flags that pay on two cores, and logging to standard output."""

from pathlib import Path

from lab.cluster import class_data
from lab.cluster.java import Java
from lab.process import disk_errors

FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1", "-Xss512k", "-Xshare:auto")

_LOG4J = """status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
logger.herder.name = org.apache.kafka.connect.runtime.distributed
logger.herder.level = info
logger.group.name = org.apache.kafka.coordinator.group
logger.group.level = info
"""


def write_properties(path: Path, values: dict[str, object]) -> Path:
    """A Java properties file; values must need no escaping."""
    with disk_errors():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return path


def command(java: Java, folder: Path, class_path: str, heap_mb: int, main: str, *arguments: str) -> list[str]:
    """The command line of one JVM; its log configuration is written into the folder."""
    log_settings = folder / "log4j2.properties"
    with disk_errors():
        folder.mkdir(parents=True, exist_ok=True)
        log_settings.write_text(_LOG4J)
    shared = class_data.flags(java, class_path, main)
    flags = (f"-Xmx{heap_mb}m", *FLAGS, *shared, f"-Dlog4j2.configurationFile={log_settings}")
    return [java.command, *flags, "-cp", class_path, main, *arguments]
