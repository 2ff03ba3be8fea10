"""`make oracle FAMILY=broker RELEASE=4.1.1`: our broker-side assignors against that release's own on random groups.

Targets compare as sets. Where the order of a hash table rests on details of the JVM, or where a release chooses by the
addresses of objects, our answer is marked unsure; such rounds are compared too, and counted apart.
"""

import json
import sys
import time
from collections import Counter
from random import Random
from typing import Any

from lab.cluster import java
from lab.errors import LabError
from lab.oracle.broker_groups import ROUNDS, life
from lab.oracle.broker_runner import KINDS, BrokerRunner
from lab.oracle.program import FOLDER
from lab.oracle.report import asked, show
from rebalance_monitor.assignors.broker.model import release_of
from rebalance_monitor.streaming.calculator import broker

SINCE = {"uniform": (3, 7), "range": (3, 7), "simple": (3, 9), "streams-sticky": (4, 1)}


def as_sets(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without order inside the targets and without empty topics; errors as they are."""
    if "error" in answer:
        return answer
    return {
        name: share
        and {
            role: {of: set(numbers) for of, numbers in entries if numbers}
            for role, entries in share.items()
            if role != "value"
        }
        for name, share in answer["assignment"].items()
    }


def compare(release: str, kind: str, groups: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Counts of what was compared, and where rounds with differences were kept."""
    found = java.find()
    counts: Counter[str] = Counter()
    kept: list[str] = []
    with BrokerRunner(found, release) as runner:
        for number in range(groups):
            random = Random(f"{seed}-{kind}-{number}")
            group = life(random, kind)
            for at in range(random.randint(*ROUNDS)):
                given = group.input | {"java_version": found.version}
                case = {
                    "id": f"{kind}-{release}-{seed}-{number}-{at}",
                    "kind": kind,
                    "release": release,
                    "input": given,
                }
                theirs = runner.play(kind, given).answer
                ours = broker.solve(case)
                unsure = ours.pop("order_unsure", False)
                counts["rounds"] += 1
                counts["rounds in which Kafka throws"] += "error" in theirs
                counts["rounds whose order is unsure"] += unsure
                if as_sets(ours) != as_sets(theirs):
                    counts["of those, rounds that differ"] += unsure
                    if not unsure:
                        path = FOLDER / f"differs-{case['id']}.json"
                        path.write_text(json.dumps(case | {"expected": theirs}) + "\n", encoding="utf-8")
                        kept.append(str(path))
                group.follow(theirs)
    return counts, kept


def main() -> int:
    """Compare and print the counts; 1 if anything differed that was not unsure."""
    chosen = asked(
        "make oracle FAMILY=broker",
        __doc__,
        release="of kafka-group-coordinator, as on Maven Central",
        scenarios="groups of each assignor",
    )
    differing = 0
    try:
        release = release_of(chosen.release)
        kinds = [kind for kind in KINDS if SINCE[kind] <= release]
        if not kinds:
            raise LabError(f"Kafka {chosen.release} has no assignor in the broker; the first are those of 3.7")
        for kind in kinds:
            began = time.monotonic()
            counts, kept = compare(chosen.release, kind, chosen.scenarios, chosen.seed)
            seconds = time.monotonic() - began
            print(f"{kind} of Kafka {chosen.release}, Java {java.find().version}, seed {chosen.seed}, {seconds:.0f} s")
            show(counts.items(), "rounds that differ and should not", kept)
            differing += len(kept)
    except (LabError, ValueError) as why:
        print(f"oracle: {why}", file=sys.stderr)
        return 2
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
