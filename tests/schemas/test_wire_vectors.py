"""The families of bytes against what Kafka's own classes answered, truncations and damage included."""

from typing import Any

import pytest

from lab.wire import FAMILIES
from tests.vector_files import VECTORS, json_lines

FILES = {
    "connect-wire": VECTORS / "connect" / "connect-wire.jsonl.gz",
    "coordinator-wire": VECTORS / "consumer" / "coordinator-wire.jsonl.gz",
    "connect-topics-wire": VECTORS / "consumer" / "connect-topics-wire.jsonl.gz",
}


def cases(family: str) -> list[dict[str, Any]]:
    return list(json_lines(FILES[family]))


def without_error_texts(answer: Any) -> Any:
    """That there is an error counts, not its class or message: they differ between releases."""
    match answer:
        case {"result": "error"} | {"exception": _} | {"error": str()} if "value" not in answer:
            return {"error": "*"}
        case dict():
            return {name: without_error_texts(value) for name, value in answer.items()}
        case list():
            return [without_error_texts(value) for value in answer]
        case _:
            return answer


def solved(family: str, case: dict[str, Any]) -> Any:
    given = {name: case[name] for name in ("id", "kind", "release", "input")}
    return without_error_texts(FAMILIES[family](given))


@pytest.mark.parametrize("family", ["connect-wire", "coordinator-wire"])
def test_every_answer_is_kafkas(family: str) -> None:
    differing = []
    for case in cases(family):
        answer = solved(family, case)
        if isinstance(answer, dict) and answer.pop("order_unsure", False):
            continue  # Java turned a hash bucket into a tree: said to be unpredictable
        if answer != without_error_texts(case["expected"]):
            differing.append(case["id"])
    assert differing == []


def test_connect_topics_are_read_as_kafka_reads_them() -> None:
    differing = []
    for case in cases("connect-topics-wire"):
        answer, expected = solved("connect-topics-wire", case), without_error_texts(case["expected"])
        if case["kind"] == "status-write":
            # A record does not say which of the two write calls made it, nor a tombstone who wrote it.
            answer["call"].pop("call")
            expected["call"].pop("call")
            if case["input"]["records"][0]["value"] is None:
                continue
        if answer != expected:
            differing.append(case["id"])
    assert differing == []


def test_a_tombstone_names_the_destroyed_job() -> None:
    destroyed = [
        case
        for case in cases("connect-topics-wire")
        if case["kind"] == "status-write" and case["input"]["records"][0]["value"] is None
    ]
    assert destroyed
    for case in destroyed:
        answer, expected = solved("connect-topics-wire", case)["call"], case["expected"]["call"]
        what = "task" if "task" in expected else "connector"
        assert (answer[what]["id"], answer[what]["state"]) == (expected[what]["id"], "DESTROYED")
