"""Writes `tests/vectors/connect/status-reads.jsonl.gz`: what Connect's status store shows after random logs.

    python -m lab.oracle.statuses

The answers are those of Kafka's own class `KafkaStatusBackingStore` (`StatusReader.java`), of each release in RELEASES.
From 3.6 on a task's late UNASSIGNED does not hide a RUNNING of the same or a newer generation; a connector's does.
"""

import base64
import gzip
import json
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

from lab.cluster import java
from lab.errors import LabError
from lab.oracle.runner import class_path
from lab.paths import KAFKA_JARS, ROOT

SOURCE = Path(__file__).with_name("StatusReader.java")
TARGET = ROOT / "tests" / "vectors" / "connect" / "status-reads.jsonl.gz"
RELEASES = ("3.5.2", "3.9.1", "4.3.1")
LOGS, SEED = 200, 36
STATES = ("RUNNING", "RUNNING", "UNASSIGNED", "UNASSIGNED", "PAUSED", "FAILED", "RESTARTING")
WORKERS = ("a:8083", "b:8083")


def main() -> None:
    """Make the logs, ask every release, write one case a line."""
    found = java.find()
    dice = random.Random(SEED)
    logs = [log(dice) for _ in range(LOGS)]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        compiled(Path(folder))
        for release in RELEASES:
            # Connect's JSON converter needs Jackson, which every release takes in the locked version.
            path = f"{folder}:{class_path(found, release)}:{KAFKA_JARS}/*"
            said = subprocess.run(
                [found.command, "-cp", path, "StatusReader"],
                input="\n".join(" ".join(f"{key}={value}" for key, value in one) for one in logs),
                text=True, capture_output=True, check=True,
            ).stdout.splitlines()  # fmt: skip
            for number, (records, shown) in enumerate(zip(logs, said, strict=True)):
                connector, task = shown.split(", ")
                case = {
                    "id": f"sr-{release}-{number:03}",
                    "release": release,
                    "log": [[key, None if value == "-" else value] for key, value in records],
                    "connector": connector,
                    "task": task,
                }
                lines.append(json.dumps(case, separators=(",", ":")))
    TARGET.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
    print(f"{TARGET}: {len(lines)} cases")


def log(dice: random.Random) -> list[tuple[str, str]]:
    """Some statuses of connector `c` and task `c-0`: (key, value in base64, `-` for a tombstone)."""
    records = []
    for _ in range(dice.randint(2, 6)):
        key = dice.choice(("status-connector-c", "status-task-c-0"))
        status = {"state": dice.choice(STATES), "worker_id": dice.choice(WORKERS), "generation": dice.randint(1, 4)}
        value = base64.b64encode(json.dumps(status).encode()).decode()
        records.append((key, "-" if dice.random() < 0.05 else value))
    return records


def compiled(folder: Path) -> None:
    """The reader's class, by the JDK on PATH."""
    javac = shutil.which("javac")
    if javac is None:
        raise LabError("javac is not on PATH; install a JDK")
    command = [javac, "-cp", f"{KAFKA_JARS}/*", "-d", str(folder), str(SOURCE)]
    subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()
