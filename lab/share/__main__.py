"""`make share`: real share groups, judged.

Two share groups, one whose members subscribe alike and one whose members do not, go through joins, leaves, kills and
new partitions on a real broker; the members are Kafka's own clients. Then `rebalance-monitor replay` judges their
records. A line of the table is a group: how many targets were given each grade. No target may be *unexplained* or not
judged, and no violation may be found.
"""

import argparse
import random
import shutil
from pathlib import Path

from lab.cluster import broker, jars, java
from lab.errors import says_why
from lab.foreign import captured, judging
from lab.paths import BUILD
from lab.ports import free_ports
from lab.process import Lab, Progress, signals_stop
from lab.share.story import BROKER, Story

FOLDER = BUILD / "share" / "run"
CAPTURE = BUILD / "share" / "capture"


@says_why("share")
def main() -> int:
    """Play, take the capture, judge it; 0 if every target is judged and right."""
    parser = argparse.ArgumentParser(
        prog="make share", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=14, help="of each group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--capture", type=Path, default=CAPTURE, help="the folder that the capture is written to")
    asked = parser.parse_args()
    progress = Progress()
    shutil.rmtree(FOLDER, ignore_errors=True)
    with signals_stop(), Lab(FOLDER, progress) as lab:
        take(lab, asked.capture, steps=asked.steps, seed=asked.seed)
    return judged(asked.capture)


def take(lab: Lab, capture: Path, *, steps: int, seed: int) -> None:
    """Play on a broker of its own, and write the capture."""
    runtime = java.find()
    with lab.progress.step("starting a broker"):
        port, controller_port = free_ports(2)
        class_path = jars.fetch(runtime)
        running = broker.start(lab, runtime, class_path, port, controller_port, BROKER)
    story = Story(lab, runtime, class_path, running.address, random.Random(seed))
    story.play(steps)
    samples = [captured.sample(*one) for one in story.samples]
    about = {"capture": "share-groups", "broker_release": jars.kafka_release()}
    lab.progress.say(f"{captured.write(capture, running.address, samples, about)} records")


def judged(capture: Path) -> int:
    """Print what `replay` says of the capture; 0 if every target is right and nothing was found."""
    lines = judging.replayed(capture)
    grades = judging.grades_of(lines)
    judging.show(grades, 24)
    found = judging.show_found(lines)
    wrong = sum(counts["unexplained"] + counts["not_judged"] for counts in grades.values())
    return 1 if found or wrong or not grades else 0


if __name__ == "__main__":
    raise SystemExit(main())
