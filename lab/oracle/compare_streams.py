"""`make oracle FAMILY=streams RELEASE=3.2.3`: our Streams assignors against that release's own classes, on random
applications, tasks of clients and of threads in their order.

Where one bucket of Java's hash tables overflows into a tree our answer is marked unsure; such answers are compared too,
and counted apart. Where the classes of a release fail, ours must fail by the same exception.
"""

from collections import Counter
from functools import partial
from random import Random

from lab.cluster import java
from lab.errors import LabError, says_why
from lab.oracle.report import Compared, asked, keep, told
from lab.oracle.streams_groups import random_application
from lab.oracle.streams_runner import StreamsRunner
from rebalance_monitor.assignors.streams.eras import era_of, release_of
from rebalance_monitor.assignors.streams.racks import Racks
from rebalance_monitor.streaming.calculator import streams_assign


def compare(release: str, applications: int, seed: int) -> Compared:
    counts: Counter[str] = Counter()
    kept: list[str] = []
    with StreamsRunner(java.find(), release) as runner:
        for number in range(applications):
            given = random_application(Random(f"{seed}-{number}"), release_of(release))
            case = {"id": f"streams-{release}-{seed}-{number}", "release": release, "input": given}
            ours = streams_assign.solve(case)
            unsure = ours.pop("order_unsure", False)
            read = streams_assign.application_of(given, release)
            known = Racks(read.tasks, read.clients, read.racks, read.configs, read.era).enabled
            theirs = runner.answer(given, racks_known=known).expected
            counts[f"applications, {given['assignor']}"] += 1
            counts["with racks"] += known
            counts["with tags"] += bool(given["config"]["rack.aware.assignment.tags"])
            counts["with a follow-up"] += theirs.get("followup", False)
            counts["in which both fail"] += "exception" in theirs and ours == theirs
            counts["unsure"] += unsure
            if ours != theirs:
                counts["unsure that differ"] += unsure
                path = keep({**case, "expected": theirs})
                if not unsure:
                    kept.append(path)
    return Counter(dict(sorted(counts.items()))), kept


@says_why("oracle", ValueError)
def main() -> int:
    """Compare and print the counts; 1 if anything differed."""
    chosen = asked(
        "make oracle FAMILY=streams", __doc__, release="of kafka-streams from 2.6 on", scenarios="applications"
    )
    era = era_of(release_of(chosen.release))
    if not era.high_availability:
        raise LabError(f"the classes of {chosen.release} have no common shape with later ones; take 2.6 or later")
    judged = partial(compare, chosen.release, chosen.scenarios, chosen.seed)
    return told(f"kafka-streams {chosen.release} (era {era.name})", chosen, "that differ", judged)


if __name__ == "__main__":
    raise SystemExit(main())
