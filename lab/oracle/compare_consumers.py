"""`make oracle FAMILY=consumer RELEASE=3.2.3`: our consumer assignors against that release's own classes, on random
groups, partitions in their order and bytes.

Where one bucket of Java's hash tables overflows into a tree our answer is marked unsure; such answers are compared too,
and counted apart. Where the class of a release fails on a group, ours must fail by the same exception.
"""

import json
import sys
import time
from collections import Counter
from random import Random

from lab.cluster import java
from lab.errors import LabError
from lab.oracle.consumer_runner import ConsumerRunner
from lab.oracle.groups import cases
from lab.oracle.program import FOLDER
from lab.oracle.report import asked, show


def compare(release: str, groups: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Counts of what was compared, and where cases with differences were kept."""
    found = java.find()
    counts: Counter[str] = Counter()
    kept: list[str] = []
    with ConsumerRunner(found, release) as runner:
        for number in range(groups):
            counts["groups"] += 1
            for case in cases(Random(f"{seed}-{number}"), release, f"{release}-{seed}-{number}"):
                ours = dict(case["expected"])
                unsure = ours.pop("order_unsure", False)
                counts[f"generations, {case['kind']}"] += 1
                counts["unsure generations"] += unsure
                case["expected"] = runner.answer(case["kind"], case["input"]).expected
                counts["generations in which both fail"] += "error" in case["expected"] and ours == case["expected"]
                if ours != case["expected"]:
                    counts["unsure generations that differ"] += unsure
                    path = FOLDER / f"differs-{case['id']}.json"
                    path.write_text(json.dumps(case) + "\n", encoding="utf-8")
                    if not unsure:
                        kept.append(str(path))
                    break
    return counts, kept


def main() -> int:
    """Compare and print the counts; 1 if anything differed."""
    chosen = asked(
        "make oracle FAMILY=consumer",
        __doc__,
        release="of kafka-clients, as on Maven Central",
        scenarios="groups, each with a few generations",
    )
    began = time.monotonic()
    try:
        counts, kept = compare(chosen.release, chosen.scenarios, chosen.seed)
    except (LabError, ValueError) as why:
        print(f"oracle: {why}", file=sys.stderr)
        return 2
    seconds = time.monotonic() - began
    print(f"kafka-clients {chosen.release}, Java {java.find().version}, seed {chosen.seed}, {seconds:.0f} s")
    show(sorted(counts.items()), "generations that differ", kept)
    return 1 if kept else 0


if __name__ == "__main__":
    raise SystemExit(main())
