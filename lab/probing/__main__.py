"""`make probing`: Streams applications whose copies restore slowly, or never, judged.

Two applications on a real broker. The changelog of one is written faster than its copies restore; the copies of the
other catch up, one after another, each in many probing rebalances. `rebalance-monitor replay` judges their records. The
first must open one incident `streams_probing_does_not_converge` that warns, the second none.
"""

import argparse
import gzip
import json
import shutil
from pathlib import Path

from lab.cluster import broker, java
from lab.errors import says_why
from lab.foreign import captured, judging
from lab.paths import BUILD
from lab.probing.story import NEVER, Story, about, sampled
from lab.process import Lab, Progress, signals_stop

FOLDER = BUILD / "probing" / "run"
CAPTURE = BUILD / "probing" / "capture"
SECONDS = 190.0


@says_why("probing")
def main() -> int:
    """Play, take the capture, judge it."""
    parser = argparse.ArgumentParser(
        prog="make probing", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long the second processes live")
    parser.add_argument("--capture", type=Path, default=CAPTURE, help="the folder that the capture is written to")
    asked = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    with signals_stop(), Lab(FOLDER, Progress()) as lab:
        take(lab, asked.capture, asked.seconds)
    return judged(asked.capture)


def judged(capture: Path) -> int:
    """Print what `replay` finds; 0 if that is one warning about the first application, and none about the second."""
    found = [line for line in judging.replayed(capture) if line["kind"] == "violation"]
    for violation in found:
        print(f"{violation['group']}: {violation['severity']} {violation['rule']}: {violation['message']}")
    return 0 if [one["group"] for one in found if one["severity"] != "info"] == [NEVER] else 1


def take(lab: Lab, capture: Path, seconds: float) -> None:
    """Play on a broker of its own, and write the capture."""
    with lab.progress.step("starting a broker"):
        running = broker.start_anywhere(lab)
    story = Story(lab, java.find(), running.address)
    with lab.progress.step("probing"):
        story.play(seconds)
    count = captured.write(capture, running.address, sampled(story), about(story))
    with gzip.GzipFile(capture / "ends.jsonl.gz", "wb", mtime=0) as packed:
        for end in story.ends:
            packed.write(json.dumps(end, separators=(",", ":")).encode() + b"\n")
    lab.progress.say(f"{count} records")


if __name__ == "__main__":
    raise SystemExit(main())
