"""Make the class data of Kafka's programs: start a broker and a Connect worker once, and end them in order."""

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lab.cluster import broker, class_data, jars, java, workers
from lab.errors import LabError
from lab.paths import BUILD
from lab.ports import free_ports
from lab.process import Lab

WRITING_S = 120.0
"""A program that ends writes its data first; a busy machine needs a while for it."""
ENDED_BY_SIGTERM = 143


def record_once() -> None:
    """Unless it was done before. Where it fails, programs start as without: that costs time only."""
    found = java.find()
    class_path = jars.fetch(found)
    target = class_data.folder(found, class_path)
    if target.exists():
        return
    with suppress(LabError, OSError), tempfile.TemporaryDirectory(prefix="recording-", dir=BUILD) as scratch:
        into = Path(scratch) / "class-data"
        into.mkdir()
        if _recorded(replace(found, recorded_into=into), class_path, Path(scratch) / "lab"):
            target.parent.mkdir(exist_ok=True)
            into.rename(target)


def _recorded(recorder: java.Java, class_path: str, scratch: Path) -> bool:
    """Whether each program has come to its end: one that was killed leaves half a file."""
    port, controller_port, rest_port = free_ports(3)
    with Lab(scratch) as lab:
        kafka = broker.start(lab, recorder, class_path, port, controller_port)
        (worker,) = workers.start(lab, recorder, class_path, kafka, group="recorded", ports=[rest_port], max_delay_ms=0)
        programs = (worker.child, kafka.child)
        for program in programs:
            program.grace_s = WRITING_S
    return all(program.process.returncode == ENDED_BY_SIGTERM for program in programs)
