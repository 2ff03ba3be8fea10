"""Make the class data of Kafka and Spark: start a broker, a Connect worker and Spark once, and end them in order."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lab.cluster import broker, class_data, jars, java, workers
from lab.errors import LabError
from lab.paths import BUILD, ROOT
from lab.ports import free_ports
from lab.process import Lab

WRITING_S = 120.0
"""A program that ends writes its data first; a busy machine needs a while for it."""
ENDED_BY_SIGTERM = 143
SESSION = """
import sys
from pathlib import Path

from rebalance_monitor.streaming.config.sections import SparkSection
from rebalance_monitor.streaming.spark.session import start_session, stop_session
from rebalance_monitor.streaming.spark.warming import warm_up

spark = start_session(SparkSection(), Path(sys.argv[1]), Path(sys.argv[1]))
spark.range(2).mapInArrow(lambda batches: batches, "id long").toArrow()
warm_up(spark, Path(sys.argv[1]))
sys.exit(0 if stop_session(spark, float(sys.argv[2])) else 1)
"""


def record_once() -> None:
    """Unless it was done before. Where it fails, programs start as without: that costs time only."""
    found = java.find()
    _once(found, class_data.spark_jars(), _spark)
    _once(found, jars.fetch(found), _kafka)


def _once(found: java.Java, class_path: str, recorded: Callable[[java.Java, str, Path], bool]) -> None:
    target = class_data.folder(found, class_path)
    if target.exists():
        return
    with suppress(LabError, OSError), tempfile.TemporaryDirectory(prefix="recording-", dir=BUILD) as scratch:
        into = Path(scratch) / "class-data"
        into.mkdir()
        if recorded(replace(found, recorded_into=into), class_path, Path(scratch) / "run"):
            target.parent.mkdir(exist_ok=True)
            into.rename(target)


def _kafka(recorder: java.Java, class_path: str, scratch: Path) -> bool:
    """Whether each program has come to its end: one that was killed leaves half a file."""
    port, controller_port, rest_port = free_ports(3)
    with Lab(scratch) as lab:
        kafka = broker.start(lab, recorder, class_path, port, controller_port)
        (worker,) = workers.start(lab, recorder, class_path, kafka, group="recorded", ports=[rest_port], max_delay_ms=0)
        programs = (worker.child, kafka.child)
        for program in programs:
            program.grace_s = WRITING_S
    return all(program.process.returncode == ENDED_BY_SIGTERM for program in programs)


def _spark(recorder: java.Java, class_path: str, scratch: Path) -> bool:
    flags = " ".join(class_data.flags(recorder, class_path, class_data.SPARK))
    # Java looks for the jars where they lay when it recorded: not in a scratch folder.
    home = str(Path(class_path).parents[1])
    environment = {**recorder.environment(), class_data.OPTIONS_OF_SPARK: flags, "SPARK_HOME": home}
    command = [sys.executable, "-c", SESSION, str(scratch), str(WRITING_S)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False).returncode == 0
