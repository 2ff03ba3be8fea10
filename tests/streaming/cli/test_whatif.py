"""`whatif` of captures: what it prints, what it cannot tell, and what it refuses."""

import json
from typing import Any

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.exit_codes import BAD_INPUT, CANNOT_TELL, DONE
from tests.vector_files import VECTORS

ZOMBIE = ["--capture", str(VECTORS / "captures" / "zombie"), "--group", "zombies", "--at", "2026-11-20T12:28:40Z"]
GROUPS = VECTORS / "captures-groups"
CHURNED = "2026-11-23T16:19:29Z"
STATIC = ["--capture", str(GROUPS / "java-classic"), "--group", "j-range", "--at", "2026-11-20T12:16:08.300Z"]
LEADING = "s11-6-none-i0-StreamThread-1-consumer on 127.0.0.1"


def asked(capsys: pytest.CaptureFixture[str], *words: str, code: int = DONE) -> Any:
    assert main(["whatif", *words, "-o", "json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_worker_that_leaves_costs_the_delay(capsys: pytest.CaptureFixture[str]) -> None:
    """Its memory is that of a leader which knows what is lost."""
    told = asked(capsys, *ZOMBIE, "--leave", "127.0.0.1:19304")
    ((course,),) = [case["courses"] for case in told["cases"]]
    first, second = course["rebalances"]
    assert (first["generation"], first["idle"], first["delay_ms"]) == (9, ["idle-a-1", "idle-a-4", "idle-b-2"], 9_000)
    assert (second["after_ms"], second["idle"]) == (9_000, [])
    assert course["idle_ms"] == 3 * 9_000
    assert {name: len(own) for name, own in course["holds"].items()} == {
        "127.0.0.1:19302": 6,
        "127.0.0.1:19303": 5,
        "127.0.0.1:19305": 4,
    }


def test_who_comes_back_within_the_delay_waits_for_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(capsys, *ZOMBIE, "--bounce", "127.0.0.1:19304", "--away", "5s")
    ((course,),) = [case["courses"] for case in told["cases"]]
    assert [one["after_ms"] for one in course["rebalances"]] == [0, 5_000, 9_000]
    assert course["rebalances"][2]["gets"] == {"127.0.0.1:19304": ["idle-a-1", "idle-a-4", "idle-b-2"]}


def test_a_leader_that_leaves_takes_its_memory_along(capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(capsys, *ZOMBIE, "--leave", "127.0.0.1:19303")
    assert all(not one["idle_ms"] for case in told["cases"] for one in case["courses"])


def test_ids_that_kafka_makes_up_make_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", *ZOMBIE, "--join", "2"]) == DONE
    printed = capsys.readouterr().out
    assert "new member 1 gets 2." in printed
    assert "new member 1 has " in printed, "and not: new member 1 2"
    assert "depends on the ids that Kafka makes up" in printed


def test_nobody_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    everybody = [word for port in range(19302, 19306) for word in ("--leave", f"127.0.0.1:{port}")]
    assert main(["whatif", *ZOMBIE, *everybody]) == DONE
    assert "Nobody is left in the group" in capsys.readouterr().out


def test_a_delay_that_nothing_shows_is_presumed_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    early = [*ZOMBIE[:-1], "2026-11-20T12:28:20Z", "--leave", "127.0.0.1:19304"]
    assert "presumed to be Kafka's default, 5 min" in str(asked(capsys, *early)["presumed"])
    told = asked(capsys, *early, "--max-delay", "1m")
    assert told["cases"][0]["courses"][0]["idle_ms"] == 3 * 60_000
    assert "presumed to be" not in str(told["presumed"])


@pytest.mark.parametrize("away_s", [4, 30])
def test_a_static_consumer_is_taken_out_when_its_session_time_out_is_over(
    capsys: pytest.CaptureFixture[str], away_s: int
) -> None:
    told = asked(capsys, *STATIC, "--bounce", "j-range-i1", "--away", f"{away_s}s")
    ((course,),) = [case["courses"] for case in told["cases"]]
    assert [(one["after_ms"], one["why"]) for one in course["rebalances"]] == [
        (4_000, "the session time-out of j-range-i1 is over"), (away_s * 1_000, "j-range-i1 is back"),
    ]  # fmt: skip
    assert course["rebalances"][1]["gets"]["j-range-i1"] == ["t0-0", "t1-0", "t2-0", "t2-1"], "its instance id sorts it"
    assert "the session time-out of j-range-i1, 4.0 s, begins then" in str(told["presumed"])


def test_a_static_consumer_that_is_back_before_brings_no_rebalance(capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(capsys, *STATIC, "--bounce", "j-range-i1", "--away", "3s")
    ((course,),) = [case["courses"] for case in told["cases"]]
    assert (course["rebalances"], len(course["holds"]["j-range-i1"])) == ([], 4)


def test_a_rebalance_would_wait_for_a_static_consumer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", *STATIC, "--bounce", "j-range-i1", "--join", "1"]) == BAD_INPUT
    assert "ask about its bounce and about the rest apart" in capsys.readouterr().err


def test_of_a_streams_application_what_holds_anyway_and_a_range_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    capture = ["--capture", str(GROUPS / "streams-churn"), "--group", "s11-6-none"]
    told = asked(capsys, *capture, "--at", CHURNED, "--leave", LEADING, "--join", "1")
    assert (
        told["known"][0]
        == f"{LEADING} has 3 tasks (0_1, 2_1, 2_3): the next rebalance gives them to other threads at once."
    )
    assert "6 active tasks on 3 threads are 2 each where they are even." in told["known"]
    assert "depends on how far copies lag" in told["unknown"][0]
    assert (told["cases"], told["ranges"]["moved"]) == ([], {"least": 3, "most": 4})


@pytest.mark.parametrize(
    ("capture", "group", "why"),
    [
        ("kip848-a", "k-range", "The coordinator assigns this group by itself"),
        ("kafkajs", "kjs-equal", "The assignor RoundRobinAssigner is none that whatif computes"),
    ],
)
def test_what_cannot_be_predicted_says_why(
    capsys: pytest.CaptureFixture[str], capture: str, group: str, why: str
) -> None:
    told = asked(capsys, "--capture", str(GROUPS / capture), "--group", group, "--join", "1", code=CANNOT_TELL)
    assert (told["cases"], len(told["unknown"])) == ([], 1)
    assert why in told["unknown"][0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "say what changes"),
        (["--leave", "w9"], "no member w9 is in the group; it has 127.0.0.1:19302, "),
        (["--leave", "127.0.0.1:19304", "--bounce", "127.0.0.1:19304"], "a member is named twice"),
        (["--scale", "idle-a"], "write --scale orders=12"),
        (["--scale", "other=3"], "no connector other is held in the group; it has idle-a, idle-b"),
        (["--scale", "idle-a=8"], "connector idle-a has 8 tasks already"),
        (["--scale", "idle-a=3", "--scale", "idle-a=5"], "--scale names a connector twice; name each once"),
        (["--join", "-1"], "--join -1: write 1 to 100"),
        (["--join", "1", "--away", "soon"], "--away 'soon' is no time"),
    ],
)
def test_a_change_that_does_not_fit_is_one_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main(["whatif", *ZOMBIE, *words]) == BAD_INPUT
    assert sentence in capsys.readouterr().err


def test_a_host_stands_for_all_members_on_it_in_each_group(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the groups that had nobody then, it cannot be told; those that never had anybody there are left out."""
    capture, at = STATIC[:2], STATIC[4:]
    assert main(["whatif", *capture, *at, "--all-groups", "--leave", "127.0.0.1", "-o", "json"]) == DONE
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len({one["group"] for one in told}) == len(told) > 3
    range_ = next(one for one in told if one["group"] == "j-range")
    assert not any(course["holds"] for case in range_["cases"] for course in case["courses"]), "nobody is left"
    one = asked(capsys, *STATIC, "--leave", "127.0.0.1")
    assert one == range_


def test_all_groups_are_only_those_that_a_change_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["whatif", *STATIC[:2], *STATIC[4:], "--all-groups", "-o", "json"]
    assert main([*words, "--leave", "j-range-i1"]) == DONE
    (told,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (told["group"], told["change"]) == ("j-range", "j-range-i1 leaves")
    assert main([*words, "--leave", "10.9.9.9"]) == BAD_INPUT
    assert "no group has these members or connectors (10.9.9.9 leaves)" in capsys.readouterr().err
