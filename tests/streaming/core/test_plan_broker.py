"""`broker-assign` against answers of Kafka's own assignors; targets compare as sets."""

from base64 import b64decode
from typing import Any

import pytest

from rebalance_monitor.schemas.coordinator_records import decode_record
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.calculator import FAMILIES
from rebalance_monitor.streaming.calculator.broker import solve, topic_id
from rebalance_monitor.streaming.cli import names
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "consumer" / "broker-assign.jsonl.gz"
ROLES = ("active", "standby", "warmup")


def cases() -> list[dict[str, Any]]:
    return list(json_lines(VECTORS))


def as_sets(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer without order inside targets; a topic or subtopology without partitions counts as absent."""
    if "error" in answer:
        return answer
    return {name: share and _share(share) for name, share in answer["assignment"].items()}


def _share(share: dict[str, Any]) -> dict[str, Any]:
    listed = {"target": share["target"]} if "target" in share else {role: share[role] for role in ROLES}
    return {role: {of: set(numbers) for of, numbers in entries if numbers} for role, entries in listed.items()}


def by_addresses(case: dict[str, Any], release: str) -> bool:
    """Whether Kafka may have chosen by the addresses of objects."""
    return bool(case["kind"] == "streams-sticky" and release.startswith("4.1."))


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_equals_what_kafka_answered(case: dict[str, Any]) -> None:
    answer = solve(case)
    unsure = answer.pop("order_unsure", False)
    assert not unsure or "tree-bins" in case["tags"] or by_addresses(case, case["release"])
    if not (unsure and by_addresses(case, case["release"])):
        assert as_sets(answer) == as_sets(case["expected"])


@pytest.mark.parametrize("kind", ["uniform", "range", "simple", "streams-sticky"])
def test_releases_that_gave_one_answer_give_it_here_too(kind: str) -> None:
    asked = 0
    for case in (one for one in cases() if one["kind"] == kind):
        for release in case["eras"]:
            answer = solve({**case, "release": release})
            unsure = answer.pop("order_unsure", False)
            if not (unsure and by_addresses(case, release)):
                assert as_sets(answer) == as_sets(case["expected"]), (case["id"], release)
                asked += 1
    assert asked > 100


def copies(answer: dict[str, Any], role: str) -> list[tuple[str, int]]:
    """Every task that somebody has in this role."""
    shares = [share[role] for share in answer["assignment"].values()]
    return sorted((of, number) for share in shares for of, numbers in share for number in numbers)


def test_where_addresses_choose_every_task_still_has_one_owner() -> None:
    unsure = 0
    for case in (one for one in cases() if by_addresses(one, one["release"])):
        answer = solve(case)
        if not answer.get("order_unsure"):
            continue
        unsure += 1
        for role in ("active", "standby"):
            ours, kafkas = copies(answer, role), copies(case["expected"], role)
            assert ours == kafkas, (case["id"], role)
    assert unsure > 10


def test_target_bytes_are_those_of_the_record() -> None:
    for case in cases():
        if case["kind"] == "streams-sticky" or "error" in case["expected"]:
            continue
        type_ = 13 if case["kind"] == "simple" else 7
        key = type_.to_bytes(2, "big") + b"\0\1g\0\1m"
        release = tuple(map(int, case["release"].split(".")[:2]))
        for share in filter(None, solve(case)["assignment"].values()):
            record = decode_record(key, b64decode(share["value"]), (release[0], release[1]))
            assert isinstance(record, Decoded)
            assert record.value.fields is not None
            read = {one["topicId"]: list(one["partitions"]) for one in record.value.fields["topicPartitions"]}
            assert read == {topic_id(topic): numbers for topic, numbers in share["target"]}


def test_says_when_an_assignor_is_not_known() -> None:
    assert solve({"kind": "custom", "release": "4.3.1", "input": {}}) == {"error": "assignor not supported: custom"}


def test_the_command_knows_every_family_of_the_calculator() -> None:
    assert set(names.FAMILIES) == set(FAMILIES)
