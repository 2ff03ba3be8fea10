"""Kafka's jars (broker and Connect, one release), fetched by the Ivy that PySpark ships.

`conf/ivy/lock.xml` pins every jar, none of them transitive, so the result is the same everywhere. Nothing is
fetched while the folder holds them all.
"""

import importlib.util
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

from lab.cluster.java import Java
from lab.errors import LabError
from lab.paths import CONF, IVY_CACHE, KAFKA_JARS

LOCK = CONF / "ivy" / "lock.xml"
SETTINGS = CONF / "ivy" / "settings.xml"
TIMEOUT_S = 280


def locked() -> list[str]:
    """File names of the locked jars."""
    found = ElementTree.parse(LOCK).getroot().iter("dependency")
    return sorted(f"{one.attrib['name']}-{one.attrib['rev']}.jar" for one in found)


def kafka_release() -> str:
    """The Kafka release that the lock pins, e.g. "4.3.1"."""
    for dependency in ElementTree.parse(LOCK).getroot().iter("dependency"):
        if dependency.attrib["name"] == "connect-runtime":
            return dependency.attrib["rev"]
    raise LabError(f"{LOCK} pins no connect-runtime")


def missing() -> list[str]:
    """Locked jars that are not there yet."""
    return [name for name in locked() if not (KAFKA_JARS / name).is_file()]


def _ivy() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise LabError("PySpark is not installed; run `make install`")
    found = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise LabError("this PySpark brings no Ivy; run `make install` to get the locked one")
    return found[-1]


def _reason(output: str) -> str:
    """The one line of Ivy's long report that tells what went wrong."""
    for pattern in (
        r"No space left on device",
        r"Host \S+ not found",
        r"UnknownHostException\S*.*",
        r"Connection refused.*",
        r"PKIX.*",
        r"not found.*",
    ):
        if match := re.search(pattern, output):
            return match.group(0).strip()[:160]
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no output"


def retrieve(java: Java, module: Path, conf: str, folder: Path, **properties: str) -> str:
    """Put the jars of one configuration of an Ivy module into `folder`; returns what went wrong, if anything did."""
    command = [
        java.command, "-Xmx256m", *java.options, f"-Dcache.dir={IVY_CACHE}",
        *(f"-D{name.replace('_', '.')}={value}" for name, value in properties.items()),
        "-cp", str(_ivy()), "org.apache.ivy.Main",
        "-settings", str(SETTINGS), "-ivy", str(module), "-confs", conf,
        "-retrieve", str(folder / "[artifact]-[revision].[ext]"),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {TIMEOUT_S} s"
    return _reason(done.stdout + done.stderr)


def fetch(java: Java) -> str:
    """Make the folder complete; returns the class path for Kafka's programs."""
    if missing():
        reason = retrieve(java, LOCK, "kafka", KAFKA_JARS)
        if absent := missing():
            raise LabError(
                f"{len(absent)} of {len(locked())} Kafka jars could not be fetched from Maven Central "
                f"({reason}); check the network and the free disk space, then repeat"
            )
    return str(KAFKA_JARS / "*")
