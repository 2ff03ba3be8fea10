"""Plug-ins that lie outside the package judge a real Streams application through `replay`."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, PlugIn
from rebalance_monitor.streaming.core.replay import Replayed, replay
from rebalance_monitor.streaming.plug_ins.folding import fold_with
from rebalance_monitor.streaming.plug_ins.host import PlugInHost
from tests.streaming.plug_ins.outside import SHORT_MS, plug_in
from tests.vector_files import GROUP_CAPTURES

CAPTURE = GROUP_CAPTURES / "streams-classic-4.3.1"
APPLICATION = "app-4.3.1"
GENERATIONS = 39


def settings(own: PlugIn) -> ClusterSettings:
    """What is known of the application, but for its assignor."""
    known = settings_of(CAPTURE)
    application = replace(known.streams[APPLICATION], assignor=None, plug_in=own)
    return replace(known, streams={APPLICATION: application})


def judged(host: PlugInHost, own: PlugIn) -> Replayed:
    return replay(records_of(CAPTURE), settings(own), fold=fold_with(host))


def generations(told: Replayed) -> list[dict[str, Any]]:
    return [one for one in told.objects if one["kind"] == "generation"]


def grades(told: Replayed) -> Counter[str]:
    return Counter(one["verdict"]["grade"] for one in generations(told))


def reasons(told: Replayed) -> set[str]:
    return {one["verdict"]["reason"] for one in generations(told) if one["verdict"]["grade"] == "not_judged"}


def incidents(told: Replayed) -> list[dict[str, Any]]:
    return [one for one in told.objects if one["kind"] == "violation"]


def placement(generation: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Who has which tasks in a generation in which nothing is withheld."""
    return {
        process["process_id"]: {
            role.upper(): sorted(task for thread in process["threads"] for task in thread[role])
            for role in ("active", "standby")
        }
        for process in generation["streams"]["processes"]
    }


def test_a_static_assignment_is_the_answer_while_it_is_in_force(host: PlugInHost) -> None:
    """The last generation of the capture is stable: a leader with this plug-in gives the same."""
    last = generations(replay(records_of(CAPTURE), settings_of(CAPTURE)))[-1]
    static = plug_in("static", "installed", configs={"placement": json.dumps(placement(last))})
    told = judged(host, static)
    found = generations(told)
    assert found[-1]["verdict"]["grade"] == "match", found[-1]["verdict"]
    # Where other processes were members, Kafka would not have taken it.
    names = placement(last).keys()
    for generation in found:
        known = {process["process_id"] for process in generation["streams"]["processes"]}
        error = "UNKNOWN_PROCESS_ID" if known < names else "MISSING_PROCESS_ID" if known != names else None
        if error is None:
            assert generation["verdict"]["grade"] in {"match", "unexplained"}
        else:
            assert error in generation["verdict"]["reason"]


def test_the_identity_differs_wherever_tasks_moved(host: PlugInHost) -> None:
    told = judged(host, plug_in("keeps:Identity", "judging"))
    found = generations(told)
    assert len(found) == GENERATIONS
    assert grades(told).keys() <= {"match", "unexplained"}
    (unchanged,) = [one["generation"] for one in found if one["verdict"]["grade"] == "match"]
    moved = {process: roles["ACTIVE"] for process, roles in placement(found[unchanged - 1]).items()}
    assert moved == {process: roles["ACTIVE"] for process, roles in placement(found[unchanged - 2]).items()}
    assert incidents(told) == []


@pytest.mark.parametrize(
    "error",
    [
        "UNKNOWN_TASK_ID",
        "ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES",
        "INVALID_STANDBY_TASK",
        "MISSING_PROCESS_ID",
        "UNKNOWN_PROCESS_ID",
    ],
)
def test_what_kafka_refuses_is_told_once_and_the_callback_learns_it(
    host: PlugInHost, tmp_path: Path, error: str
) -> None:
    file = tmp_path / "told.jsonl"
    wrong = plug_in("wrong:Wrong", "judging", configs={"error": error, "told": str(file)})
    told = judged(host, wrong)
    several = [one for one in generations(told) if len(one["streams"]["processes"]) > 1]
    assert several
    for generation in several:
        assert generation["verdict"]["grade"] == "not_judged"
        assert f"Kafka refuses its assignment with {error}" in generation["verdict"]["reason"]
    assert {one["code"] for one in incidents(told)} == {"STREAMS-S32"}
    assert len({one["message"] for one in incidents(told)}) == 1
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == GENERATIONS
    nothing = error.startswith("UNKNOWN_")
    for line, generation in zip(lines, generations(told), strict=True):
        if generation in several:
            assert line["error"] == error
            assert bool(line["assigned"]) is not nothing
            assert line["members"] == sorted(member["member_id"] for member in generation["members"])
            assert line["bytes"] > 0


def test_the_callback_is_repeated_with_equal_arguments(host: PlugInHost, tmp_path: Path) -> None:
    file = tmp_path / "told.jsonl"
    wrong = plug_in("wrong:Wrong", "judging", configs={"told": str(file)})
    judged(host, wrong)
    once = file.read_text(encoding="utf-8").splitlines()
    judged(host, wrong)
    assert file.read_text(encoding="utf-8").splitlines() == once + once
    assert len(once) == GENERATIONS


@pytest.mark.parametrize(
    ("name", "budget_ms", "reason"),
    [
        ("Raises", 20_000, "it raised ZeroDivisionError: by nothing"),
        ("Loops", SHORT_MS, f"it did not answer within {SHORT_MS} ms and was killed"),
        ("Exits", 20_000, "its process ended with exit code 7"),
        ("EatsMemory", 20_000, "it needs more than 256 MiB of memory"),
        ("ReturnsNothing", 20_000, "assign returned nothing, not a TaskAssignment"),
    ],
)
def test_one_that_misbehaves_costs_one_finding_and_no_generation(
    host: PlugInHost, name: str, budget_ms: int, reason: str
) -> None:
    told = judged(host, plug_in(f"misbehaving:{name}", budget_ms=budget_ms))
    assert grades(told) == {"not_judged": GENERATIONS}
    assert all(reason in one for one in reasons(told))
    found = [one for one in incidents(told) if one["code"] == "STREAMS-S32"]
    assert len(found) == len({one["opened_at_ms"] for one in found})
    assert all(reason in one["message"] for one in found)
    assert {one["code"] for one in incidents(told)} == {"STREAMS-S32"}


def test_one_that_rests_on_the_order_of_a_set_is_not_judged(host: PlugInHost) -> None:
    told = judged(host, plug_in("misbehaving:WalksASet"))
    assert grades(told).keys() == {"not_judged"}
    assert {one["verdict"]["reason_kind"] for one in generations(told)} == {"assignor_not_deterministic"}
    assert all(one.startswith("assignor not deterministic: ") for one in reasons(told))


def test_a_callback_that_fails_costs_a_finding_and_no_verdict(host: PlugInHost) -> None:
    told = judged(host, plug_in("misbehaving:RaisesAfterwards"))
    assert grades(told) == grades(judged(host, plug_in("misbehaving:Sound")))
    (only,) = {one["message"] for one in incidents(told)}
    assert only.endswith("fails: in on_assignment_computed it raised KeyError: 'afterwards'")
