"""The random applications that `make oracle FAMILY=streams` plays: what they hold, and that a seed tells all of it."""

from collections import Counter
from random import Random
from typing import Any

from lab.oracle.streams_groups import RUNNING, random_application

NEWEST, OLDEST = (4, 3, 1), (2, 6, 3)


def applications(release: tuple[int, ...], count: int) -> list[dict[str, Any]]:
    return [random_application(Random(f"3-{number}"), release) for number in range(count)]


def test_an_application_depends_on_its_seed_alone() -> None:
    assert applications(NEWEST, 20) == applications(NEWEST, 20)


def test_applications_hold_what_the_rules_are_about() -> None:
    seen: Counter[str] = Counter()
    for given in applications(NEWEST, 200):
        known = {task["id"]: task.get("endOffsetSum", 0) for task in given["tasks"]}
        owners: Counter[str] = Counter()
        runners: Counter[str] = Counter()
        for client in given["clients"]:
            seen["several threads"] += len(client["consumers"]) > 1
            for consumer in client["consumers"]:
                owners.update(consumer["owned"])
                for task, total in consumer["offsetSums"].items():
                    seen["task that is gone"] += task not in known
                    seen["more than there is"] += total > known.get(task, total)
                    seen["member of an old version"] += total == -3
                    runners[task] += total == RUNNING
        seen[given["assignor"]] += 1
        seen[given["config"]["rack.aware.assignment.strategy"]] += 1
        seen["tags"] += bool(given["config"]["rack.aware.assignment.tags"])
        seen["fresh"] += not owners
        seen["one client"] += len(given["clients"]) == 1
    wanted = {"ha", "legacy_sticky", "fallback", "none", "min_traffic", "balance_subtopology", "tags", "fresh"}
    wanted |= {"several threads", "task that is gone", "more than there is", "member of an old version", "one client"}
    assert {what for what, count in seen.items() if count} == wanted


def test_old_releases_get_nothing_they_do_not_know() -> None:
    for given in applications(OLDEST, 100):
        assert given["config"]["rack.aware.assignment.tags"] == []
        assert given["config"]["rack.aware.assignment.strategy"] == "none"
        assert "racks" not in given
