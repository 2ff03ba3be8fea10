"""How many causes are told, and that none is wrong, against what was done to real groups: by brokers' logs and without.

A cause is told if it names the member and what it did. `member_gone` says that it left or was lost, and not which: it
is told, for records do not show more, and wrong for a member that did neither.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from rebalance_monitor.streaming.cli.group_sources import capture_of
from tests.streaming.core.coordinator_log.lines import LOGS
from tests.streaming.core.coordinator_log.test_capture import DONE
from tests.vector_files import VECTORS, json_lines

LAB = VECTORS / "captures-groups" / "java-classic"
STATIC = ["member_joined i-1", "member_joined i-2", "member_lost i-2"]
UUID_LETTERS = 37
LONGEST_MS = 60_000
"""From what was done to the generation: a process starts, a session time-out ends, a join phase waits."""
DID = {
    "member start": "member_joined",
    "member stop": "member_left",
    "member abandon (no leave request)": "member_lost",
    "process kill -9": "member_lost",
    "member topics": "subscription_changed",
}
ALSO = {"member_gone": ("member_left", "member_lost"), "member_replaced": ("member_joined",)}
"""`member_replaced`: a process with the instance id of another one started."""
Object = dict[str, Any]


@dataclass(frozen=True)
class Figures:
    """Of rebalances: those with a cause that is told, those with a certain cause that is wrong, and all."""

    told: int
    wrong: list[str]
    all: int


def agrees(kind: str, done: str) -> bool:
    return kind == done or done in ALSO.get(kind, ())


def of_the_scripted(logs: list[str]) -> Figures:
    """The groups of the recorded broker log, to each of whose rebalances one thing was done."""
    source = capture_of(str(LOGS / "capture"), logs=logs)
    ((cluster, _), *_) = source.names()
    told, wrong, rebalances = 0, [], 0
    for group, script in {**DONE, "static": STATIC}.items():
        first = [one for one in source.generations((cluster, group)) if not one.get("repeats")][::-1]
        for generation, (done, _, member) in zip(first, (one.partition(" ") for one in script), strict=True):
            causes = list(named(generation))
            rebalances += 1
            told += any(agrees(kind, done) and name == member for kind, name, _ in causes[:1])
            wrong += [
                f"{group} {generation['generation']}: {kind} {name}"
                for kind, name, certainty in causes
                if certainty == "certain" and not (agrees(kind, done) and name == member)
            ]
    return Figures(told, wrong, rebalances)


def named(generation: Object) -> Iterator[tuple[str, str, str]]:
    """Each cause with one of its subjects: a member without its UUID, or an instance id."""
    for cause in generation["cause"]:
        for subject in cause["subjects"]:
            name = subject["id"]
            dynamic = len(name) > UUID_LETTERS and name[-UUID_LETTERS] == "-"
            yield cause["kind"], name[:-UUID_LETTERS] if dynamic else name, cause["certainty"]


@cache
def done_in_the_lab() -> list[tuple[int, str, str]]:
    """When, to whom, and what a cause would say of it."""
    return [
        (event["at_ms"], name, DID[event["action"]])
        for event in json_lines(LAB / "events.jsonl.gz")
        if event["action"] in DID
        for name in event["detail"].get("members", [event["detail"].get("member", "")])
    ]


def of_the_lab() -> Figures:
    """Six groups of Java's consumers, whose members start, stop, are abandoned or killed at random."""
    source = capture_of(str(LAB))
    (end_ms, *_) = (
        event["at_ms"] for event in json_lines(LAB / "events.jsonl.gz") if event["action"] == "process quit"
    )
    told, wrong, rebalances = 0, [], 0
    for key in source.names():
        known = (one for one in source.generations(key) if one["at_ms"] < end_ms and not one.get("repeats"))
        for generation in known:
            causes = list(named(generation))
            rebalances += 1
            false = [cause for cause in causes if not was_done(generation["at_ms"], *cause[:2])]
            told += bool(causes) and causes[0] not in false
            wrong += [f"{key[1]} {generation['generation']}: {one}" for one in false if one[2] == "certain"]
    return Figures(told, wrong, rebalances)


def was_done(at_ms: int, kind: str, name: str) -> bool:
    """By a member of this name, or a process with this instance id, whose members have a number of their own."""
    return any(
        agrees(kind, done) and since_ms <= at_ms <= since_ms + LONGEST_MS
        for since_ms, member, done in done_in_the_lab()
        if name in (member, member.rpartition(".")[0])
    )


def test_with_brokers_logs_no_cause_is_wrong_and_95_percent_are_told() -> None:
    found = of_the_scripted([str(LOGS / "4.3.1.log")])
    assert found.wrong == []
    assert found.told * 100 >= found.all * 95 > 0


def test_without_them_no_certain_cause_is_wrong_and_60_percent_are_told() -> None:
    for found in (of_the_scripted([]), of_the_lab()):
        assert found.wrong == []
        assert found.told * 100 >= found.all * 60 > 0
