"""`make oracle FAMILY=broker RELEASE=4.1.1`: our broker-side assignors against that release's own on random groups.

Targets compare as sets. Where the order of a hash table rests on details of the JVM, or where a release chooses by the
addresses of objects, our answer is marked unsure; such rounds are compared too, and counted apart.
"""

from collections import Counter
from functools import partial
from random import Random
from typing import Any

from lab.cluster import java
from lab.errors import LabError, says_why
from lab.oracle.broker_groups import ROUNDS, life
from lab.oracle.broker_runner import KINDS, BrokerRunner
from lab.oracle.report import Compared, asked, keep, told
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


def compare(release: str, kind: str, groups: int, seed: int) -> Compared:
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
                        kept.append(keep(case | {"expected": theirs}))
                group.follow(theirs)
    return counts, kept


@says_why("oracle", ValueError)
def main() -> int:
    """Compare and print the counts; 1 if anything differed that was not unsure."""
    chosen = asked(
        "make oracle FAMILY=broker",
        __doc__,
        release="of kafka-group-coordinator, as on Maven Central",
        scenarios="groups of each assignor",
    )
    kinds = [kind for kind in KINDS if SINCE[kind] <= release_of(chosen.release)]
    if not kinds:
        raise LabError(f"Kafka {chosen.release} has no assignor in the broker; the first are those of 3.7")
    worst = 0
    for kind in kinds:
        judged = partial(compare, chosen.release, kind, chosen.scenarios, chosen.seed)
        what = f"{kind} of Kafka {chosen.release}"
        worst = max(worst, told(what, chosen, "rounds that differ and should not", judged))
    return worst


if __name__ == "__main__":
    raise SystemExit(main())
