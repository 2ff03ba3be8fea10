"""`plan` with the task assignor that the configuration gives an application: its answers, and its failures in place."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.calculator import FAMILIES
from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.exit_codes import BAD_INPUT, CANNOT_TELL, DONE
from tests.streaming.plug_ins.outside import OUTSIDE, SHORT_MS
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "streams"
PORTED = "rebalance_monitor.assignors.streams.public_sticky:StickyTaskAssignor"
MOST = 4
"""Cases of each family: one costs several calls of two processes."""


def cases(family: str, tag: str) -> Iterator[dict[str, Any]]:
    yield from (case for case in json_lines(VECTORS / f"{family}.jsonl.gz") if tag in case["tags"])


def planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], family: str, given: list[dict[str, Any]], **plug_in: object
) -> tuple[int, list[dict[str, Any]]]:
    """What `plan` prints where the application `app` has this plug-in."""
    file, config = tmp_path / "cases.jsonl", tmp_path / "monitor.yaml"
    file.write_text("".join(json.dumps(case) + "\n" for case in given), encoding="utf-8")
    known = {"budget_ms": 20_000, "memory_mib": 256, **plug_in}
    cluster = {"name": "own", "bootstrap_servers": "broker:9092", "streams": {"app": {"plug_in": known}}}
    config.write_text(json.dumps({"clusters": [cluster]}), encoding="utf-8")
    ended = main(["plan", "--family", family, "--config", str(config), str(file)])
    return ended, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_rounds_of_a_ported_assignor_are_those_of_kafkas_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [case for case in cases("streams-full", "sticky-924") if not _standbys(case)][:MOST]
    assert len(given) == MOST
    ended, told = planned(tmp_path, capsys, "streams-full", given, name=PORTED)
    assert ended == DONE
    assert [one["expected"] for one in told] == [FAMILIES["streams-full"](case) for case in given]


def _standbys(case: Mapping[str, Any]) -> int:
    return int(case["input"]["config"].get("num.standby.replicas", 0))


def test_one_assignment_is_that_of_kafkas_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [case for case in cases("streams-assign", "sticky_924") if not _standbys(case)]
    given = [case for case in given if not case["input"].get("mustPreserve") and "exception" not in case["expected"]]
    named = [{**case, "input": {**case["input"], "applicationId": "app"}} for case in given[:MOST]]
    assert len(named) == MOST
    ended, told = planned(tmp_path, capsys, "streams-assign", named, name=PORTED)
    assert ended == DONE
    for answer, case in zip(told, given, strict=False):
        assert answer["expected"]["clients"] == FAMILIES["streams-assign"](case)["clients"]


@pytest.mark.parametrize(
    ("name", "budget_ms", "sentence"),
    [
        ("Raises", 20_000, "task assignor misbehaving:Raises: it raised ZeroDivisionError: by nothing"),
        ("Loops", SHORT_MS, f"task assignor misbehaving:Loops: it did not answer within {SHORT_MS} ms and was killed"),
        ("Exits", 20_000, "task assignor misbehaving:Exits: its process ended with exit code 7"),
        ("Missing", 20_000, "task assignor misbehaving:Missing: module misbehaving has no Missing"),
    ],
)
def test_a_failure_is_told_in_place_as_replay_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, budget_ms: int, sentence: str
) -> None:
    given = list(cases("streams-full", "sticky-924"))[:1]
    rounds = given[0]["input"]["rounds"][:1]
    given[0]["input"]["rounds"] = rounds
    other = {**given[0], "id": "other", "input": {**given[0]["input"], "applicationId": "other"}}
    plug_in = {"name": f"misbehaving:{name}", "path": [str(OUTSIDE / "misbehaving")], "budget_ms": budget_ms}
    ended, (first, second) = planned(tmp_path, capsys, "streams-full", [given[0], other], **plug_in)
    assert first["expected"] == {"rounds": [{"error": sentence}]}
    assert "assignments" in second["expected"]["rounds"][0]
    assert ended == CANNOT_TELL


def test_what_kafka_refuses_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = list(cases("streams-full", "sticky-924"))[:1]
    plug_in = {"name": "wrong:Wrong", "path": [str(OUTSIDE / "judging")], "configs": {"error": "UNKNOWN_TASK_ID"}}
    ended, (told,) = planned(tmp_path, capsys, "streams-full", given, **plug_in)
    assert {one["error"] for one in told["expected"]["rounds"]} == {
        "task assignor wrong:Wrong: Kafka refuses its assignment with UNKNOWN_TASK_ID, and a leader that runs it ends"
    }
    assert ended == CANNOT_TELL


def test_a_family_without_plug_ins_takes_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--family", "connect-eager", "--config", str(tmp_path / "monitor.yaml"), "-"]) == BAD_INPUT
    assert "family connect-eager knows no plug-ins, so it needs no --config; streams-assign, streams-full do" in (
        capsys.readouterr().err
    )


def test_two_plug_ins_of_one_application_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clusters = [
        {"name": name, "bootstrap_servers": "b:9092", "streams": {"app": {"plug_in": {"name": f"own:{name}"}}}}
        for name in ("One", "Other")
    ]
    config = tmp_path / "monitor.yaml"
    config.write_text(json.dumps({"clusters": clusters}), encoding="utf-8")
    assert main(["plan", "--family", "streams-full", "--config", str(config), "-"]) == BAD_INPUT
    assert "application app has different plug-ins in two clusters; leave one of them" in capsys.readouterr().err
