"""The Spark session: small, on one machine on loopback, with no web page of its own, where the user says nothing else.

What the job sets is a default. `spark.conf` of the configuration outranks it, and what is given to `spark-submit` or in
`PYSPARK_SUBMIT_ARGS` outranks both. Variables of the environment that the user has set are left as they are.
"""

import logging
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rebalance_monitor.streaming.config.sections import SparkSection
from rebalance_monitor.streaming.config.supported import JAVA, not_tested
from .java import java_home, version_of
from .relayed_stderr import relayed, stop_relaying

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("rebalance_monitor.job")
JVM_LEAVES_S = 10.0
RETAINED = "10"
SPARK_SAYS = "spark says"
# Without both, Spark binds the outer interface. Workers on other machines have to reach the driver, though.
LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
SMALL_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Of driver and executors. Python reads and folds; compiling Java further costs more than it saves."""
EXECUTORS = {
    "spark.executor.extraJavaOptions": SMALL_JAVA,
    # A task that does not end although its query has ended would keep a core of its executor: that one is started anew.
    "spark.task.reaper.enabled": "true",
    "spark.task.reaper.killTimeout": "60s",
}
LONGEST_SOCKET_FOLDER_BYTES = 60
"""Of its path: Spark takes no longer one, as Linux takes no socket whose path has more than 107."""
SMALL_PROCESSES = {"MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""For Java and the processes that fold: memory that is free goes back, and threads share what they allocate from."""

# A query that ends is reported once, by the job, in one line. Read from a file, because set in any other way Spark
# first says so itself, in the middle of a log of JSON lines.
_LOGGING = """
rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %m%n
# Started as a shell, Spark would raise the level to that of this logger, and say so.
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = fatal
"""
_CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing"


def spark_settings(section: SparkSection, scratch: Path, sockets: Path) -> dict[str, str]:
    """Spark's settings. Each was measured; the reasons stand beside those that are not obvious."""
    return {
        "spark.master": section.master,
        "spark.app.name": "rebalance-monitor",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.python.authenticate.socketTimeout": "60s",
        "spark.driver.memory": section.driver_memory,
        # Without -Xms, Java begins with a heap of 1/64 of the machine, whatever it needs.
        "spark.driver.extraJavaOptions": f"{SMALL_JAVA} -Xss2m -Xms64m",
        "spark.python.daemon.module": "rebalance_monitor.streaming.spark.daemon",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # The checkpoint is thrown away at every start, so there is nothing to keep many versions of.
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.numRecentProgressUpdates": "4",
        # What a page would show is remembered although there is none: by default 1000 jobs, stages and statements with
        # their plans. They live long enough to be moved to the old generation, which then grew by 7 MB a minute.
        "spark.ui.retainedJobs": RETAINED,
        "spark.ui.retainedStages": RETAINED,
        "spark.ui.retainedTasks": RETAINED,
        "spark.sql.ui.retainedExecutions": RETAINED,
        # The usual manager asks Hadoop to look through symbolic links, which it does by starting `readlink`, sixteen
        # times a batch. This one renames and is done; the folder is local, private, and never read again.
        "spark.sql.streaming.checkpointFileManagerClass": f"{_CHECKPOINTING}.FileSystemBasedCheckpointFileManager",
        # Otherwise a batch without data is run after each one with data.
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.sql.streaming.pollingDelay": "20ms",
        **_of_master(section.master, sockets),
        **section.conf,
    }


def _of_master(master: str, sockets: Path) -> dict[str, str]:
    """What depends on whether tasks run on this machine."""
    return {**LOOPBACK, **_sockets(sockets)} if is_local(master) else EXECUTORS


def fits_sockets(folder: Path) -> bool:
    return len(os.fsencode(folder)) <= LONGEST_SOCKET_FOLDER_BYTES


def _sockets(folder: Path) -> dict[str, str]:
    """Java and Python talk through sockets in this folder, which is private to the job, where their paths fit.

    Otherwise they use TCP, in which small messages wait 40 ms for a confirmation (Nagle's algorithm meets delayed
    confirmations): a batch took that much longer.
    """
    if not fits_sockets(folder):
        return {}
    return {"spark.python.unix.domain.socket.enabled": "true", "spark.python.unix.domain.socket.dir": str(folder)}


def master_of(section: SparkSection) -> str:
    """The master that is asked, as the command line may say another one than the configuration."""
    from pyspark import SparkConf, SparkContext

    with suppress(Exception):  # Java may be gone
        if SparkContext._jvm is not None:
            return str(SparkConf(_jvm=SparkContext._jvm).get("spark.master", section.master))
    return section.master


def is_local(master: str) -> bool:
    """Whether driver and tasks run in one process of this machine."""
    return master.startswith("local")


def unzipped_home(scratch: Path) -> Path:
    """A SPARK_HOME that leaves out PySpark's zipped copy of itself.

    Spark puts `python/lib/pyspark.zip` in front of the path of every Python process it starts, and nothing compiled
    can be kept for modules in a zip: each process would compile PySpark anew (1.5 s). Without it they import the
    installed package.
    """
    import pyspark

    installed = Path(pyspark.__file__).parent
    home = scratch / "spark"
    home.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars"):
        link = home / name
        if not link.exists():
            link.symlink_to(installed / name, target_is_directory=True)
    return home


def logging_file(scratch: Path) -> Path:
    """What tells Spark how little it shall log."""
    scratch.mkdir(parents=True, exist_ok=True)
    file = scratch / "log4j2.properties"
    file.write_text(_LOGGING, encoding="utf-8")
    return file


def start_session(section: SparkSection, scratch: Path, sockets: Path) -> "SparkSession":
    """A running session; `sockets`: the folder for those of its processes. Raises NoJava when there is no Java."""
    home = java_home(section.java_home, os.environ, scratch)
    os.environ["JAVA_HOME"] = str(home)
    if why := not_tested("Java", str(version_of(home)), JAVA):
        log.warning("not_tested", extra={"fields": {"why": why}})
    # A worker under another Python would not find the packages of this one.
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ.setdefault(name, sys.executable)
    if is_local(section.master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for name, value in SMALL_PROCESSES.items():
        os.environ.setdefault(name, value)
    if "SPARK_HOME" not in os.environ:
        os.environ["SPARK_HOME"] = str(unzipped_home(scratch))
    settings = spark_settings(section, scratch, sockets)
    # Spark puts this folder on the class path, and it is not there: Java uses no class data kept from an earlier start
    # (AppCDS) where a folder with files is on the class path. So the log's settings have a place of their own.
    no_folder = str(scratch / "conf")
    if os.environ.setdefault("SPARK_CONF_DIR", no_folder) == no_folder:
        settings["spark.driver.extraJavaOptions"] += f' -Dlog4j2.configurationFile="{logging_file(scratch)}"'
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf().setAll(list(settings.items()))
    if SparkContext._gateway is None:
        with relayed(SPARK_SAYS) as java_says:
            SparkContext._gateway = launch_gateway(conf, {"stderr": java_says})
        SparkContext._jvm = SparkContext._gateway.jvm
    # Java knows by now what was given on the command line.
    given = dict(SparkConf(_jvm=SparkContext._jvm).getAll())
    master = given.get("spark.master", section.master)
    of_ours = _of_master(section.master, sockets)
    ours = {name: value for name, value in settings.items() if of_ours.get(name) != value}
    # Java that the job has started itself was given all of it, also what fits the configuration's master alone.
    given = {name: value for name, value in given.items() if of_ours.get(name) != value}
    conf = SparkConf(loadDefaults=False).setAll(list({**_of_master(master, sockets), **ours, **given}.items()))
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    # When Spark's Java process dies, the job says so in one sentence; this server would print a trace as well.
    spark.sparkContext._accumulatorServer.handle_error = lambda *_: None
    return spark


def stop_session(spark: "SparkSession", leaves_s: float = JVM_LEAVES_S) -> bool:
    """Stop Spark and wait until its Java process has left: nothing of the job may outlive it. Whether it left within
    this time; else it was killed."""
    stop_relaying(SPARK_SAYS)
    with suppress(Exception):  # a session whose JVM has died can't be stopped, and need not be
        spark.stop()
    if (jvm := _jvm()) is not None:
        if jvm.stdin is not None:
            with suppress(OSError):
                jvm.stdin.close()  # the gateway leaves at the end of its input
        try:
            jvm.wait(leaves_s)
        except subprocess.TimeoutExpired:
            kill_jvm()
            return False
    return True


def jvm_started() -> bool:
    """Whether the Java process can be ended already."""
    return _jvm() is not None


def jvm_ended() -> bool:
    """Whether the Java process was started and is gone; Spark itself does not notice."""
    jvm = _jvm()
    return jvm is not None and jvm.poll() is not None


def kill_jvm() -> None:
    """End the Java process without asking; its Python workers end with it."""
    if (jvm := _jvm()) is not None:
        jvm.kill()
        jvm.wait()


def _jvm() -> "subprocess.Popen[bytes] | None":
    """The Java process behind the session. PySpark keeps it beside its gateway and offers no other way to it."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    return None if gateway is None else getattr(gateway, "proc", None)
