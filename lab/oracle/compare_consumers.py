"""`make oracle FAMILY=consumer RELEASE=3.2.3`: our consumer assignors against that release's own classes, on random
groups, partitions in their order and bytes.

Where one bucket of Java's hash tables overflows into a tree our answer is marked unsure; such answers are compared too,
and counted apart. Where the class of a release fails on a group, ours must fail by the same exception.
"""

from collections import Counter
from functools import partial
from random import Random

from lab.cluster import java
from lab.errors import says_why
from lab.oracle.consumer_runner import ConsumerRunner
from lab.oracle.groups import cases
from lab.oracle.report import Compared, asked, keep, told


def compare(release: str, groups: int, seed: int) -> Compared:
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
                    path = keep(case)
                    if not unsure:
                        kept.append(path)
                    break
    return Counter(dict(sorted(counts.items()))), kept


@says_why("oracle", ValueError)
def main() -> int:
    """Compare and print the counts; 1 if anything differed."""
    chosen = asked(
        "make oracle FAMILY=consumer",
        __doc__,
        release="of kafka-clients, as on Maven Central",
        scenarios="groups, each with a few generations",
    )
    judged = partial(compare, chosen.release, chosen.scenarios, chosen.seed)
    return told(f"kafka-clients {chosen.release}", chosen, "generations that differ", judged)


if __name__ == "__main__":
    raise SystemExit(main())
