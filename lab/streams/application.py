"""Starts processes of a Streams application of the new protocol, by Kafka's own library."""

from collections.abc import Sequence
from pathlib import Path

from lab.cluster import jars, jvm
from lab.cluster.java import Java
from lab.oracle.program import compiled
from lab.oracle.streams_runner import class_path
from lab.process import Child, Lab

SOURCE = Path(__file__).with_name("StreamsCounts.java")


def start(
    lab: Lab, java: Java, bootstrap: str, name: str, *, application: str, topics: Sequence[str], threads: int = 1
) -> Child:
    """A process that counts the records of these topics by key; `name` is its own, `application` the group's."""
    libraries = class_path(java, jars.kafka_release())
    classes = f"{compiled(java, SOURCE, libraries)}:{libraries}"
    folder = lab.folder / name
    arguments = (bootstrap, application, str(folder / "state"), str(threads), *topics)
    command = jvm.command(java, folder, classes, 128, "StreamsCounts", *arguments)
    return lab.start(name, command, environment=java.environment())
