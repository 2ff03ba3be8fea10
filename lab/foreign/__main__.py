"""`make foreign`: groups that clients of other languages lead, judged.

Groups of librdkafka, kafka-python and franz-go, of each assignor, with equal, mixed and static subscriptions, go
through joins, leaves, kills and new partitions on a real broker. Then `rebalance-monitor replay` judges their records.
A line of the table is a library and an assignor: how many generations were given each grade. No generation may be
*unexplained*, and no violation may be found: these clients are right, each in its own way.
"""

import argparse
import random
import shutil
from collections import Counter
from pathlib import Path

from lab.cluster import broker, jars
from lab.errors import says_why
from lab.foreign import captured, judging
from lab.foreign.library import ASSIGNORS, require
from lab.foreign.story import Story, groups_of
from lab.paths import BUILD
from lab.process import Lab, Progress, signals_stop

FOLDER = BUILD / "foreign" / "run"
CAPTURE = BUILD / "foreign" / "capture"


@says_why("foreign")
def main() -> int:
    """Play, take the capture, judge it; 0 without a wrong verdict."""
    parser = argparse.ArgumentParser(
        prog="make foreign", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--libraries", nargs="+", default=list(ASSIGNORS), help=f"of {', '.join(ASSIGNORS)}")
    parser.add_argument("--steps", type=int, default=14, help="of each group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--capture", type=Path, default=CAPTURE, help="the folder that the capture is written to")
    asked = parser.parse_args()
    progress = Progress()
    shutil.rmtree(FOLDER, ignore_errors=True)
    with signals_stop(), Lab(FOLDER, progress) as lab:
        require(asked.libraries)
        with progress.step("starting a broker"):
            running = broker.start_anywhere(lab)
        story = Story(lab, running.address, random.Random(asked.seed))
        for groups in groups_of(asked.libraries):
            story.play(groups, asked.steps)
        about = {"capture": "foreign-clients", "broker_release": jars.kafka_release(), "libraries": asked.libraries}
        samples = [captured.sample(*one) for one in story.samples]
        progress.say(f"{captured.write(asked.capture, running.address, samples, about)} records")
    return judged(asked.capture)


def judged(capture: Path) -> int:
    """Print what `replay` says of the capture; 0 if nothing is unexplained and nothing was found."""
    lines = judging.replayed(capture)
    grades: dict[str, Counter[str]] = {}
    for group, counts in judging.grades_of(lines).items():
        library, assignor, *_ = group.split(".")
        grades.setdefault(f"{library:<14}{assignor:<22}", Counter()).update(counts)
    judging.show(grades, 36)
    found = judging.show_found(lines)
    wrong = sum(counts["unexplained"] for counts in grades.values())
    return 1 if found or wrong or not grades else 0


if __name__ == "__main__":
    raise SystemExit(main())
