"""`make oracle RELEASE=3.2.3`: our assignors against that release's own classes on random scenarios, byte for byte.

Where one name bucket of Java's hash tables overflows into a tree our answer is marked unsure; such scenarios are
compared too, and counted apart.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

from lab.cluster import java
from lab.errors import says_why
from lab.oracle.report import Compared, asked, keep, told
from lab.oracle.runner import Answer, Runner
from lab.oracle.scenarios import EAGER, random_scenario
from rebalance_monitor.assignors.connect.eras import era_of
from rebalance_monitor.streaming.calculator import connect


def differing_rounds(case: dict[str, Any], answers: list[Answer], counts: Counter[str]) -> Iterator[int]:
    """Rounds whose bytes, or whose failing, are not the same; compared up to the first of them."""
    ours = connect.solve(case)
    unsure = "order_unsure" in ours
    counts["scenarios with names whose order is unsure"] += unsure
    for number, (mine, theirs) in enumerate(zip(ours["rounds"], answers, strict=True)):
        counts["rounds"] += 1
        counts["rounds of protocol default"] += case["input"]["rounds"][number]["protocol"] == EAGER
        if isinstance(theirs, str):
            counts["rounds in which both refuse"] += "members" not in mine
            if "members" in mine:
                yield number
            return
        counts["assignments"] += len(theirs)
        counts["rounds with CONFIG_MISMATCH"] += mine.get("error", 0) == 1
        counts["rounds with a delay"] += mine.get("delay_ms", 0) > 0
        counts["rounds that revoke"] += any(
            one["revoked_connectors"] or one["revoked_tasks"] for one in mine.get("members", ())
        )
        if {one["id"]: one["assignment"] for one in mine.get("members", ())} != _encoded(theirs):
            counts["of those, scenarios that differ"] += unsure
            yield number
            return


def _encoded(answer: dict[str, bytes]) -> dict[str, str]:
    return {member_id: b64encode(blob).decode() for member_id, blob in answer.items()}


def compare(release: str, scenarios: int, seed: int) -> Compared:
    found = java.find()
    counts: Counter[str] = Counter()
    kept: list[str] = []
    with Runner(found, release) as runner:
        for number in range(scenarios):
            given = random_scenario(Random(f"{seed}-{number}"), release, found.version)
            case = {"id": f"{release}-{seed}-{number}", "kind": "random", "release": release, "input": given}
            answers = runner.play(given).answers
            counts["scenarios"] += 1
            for wrong in differing_rounds(case, answers, counts):
                kept.append(keep(case, f"-round-{wrong}"))
    return counts, kept


@says_why("oracle", ValueError)
def main() -> int:
    """Compare and print the counts; 1 if anything differed."""
    chosen = asked("make oracle", __doc__, release="of connect-runtime, as on Maven Central")
    what = f"Kafka {chosen.release} (era {era_of(chosen.release).name})"
    judged = partial(compare, chosen.release, chosen.scenarios, chosen.seed)
    return told(what, chosen, "scenarios that differ", judged)


if __name__ == "__main__":
    raise SystemExit(main())
