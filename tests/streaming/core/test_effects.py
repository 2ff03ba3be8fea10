"""What captured rebalances cost: waits and their reasons, idle time by cause, downtime; duplicates that were real."""

from typing import Any

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.replay import replay
from tests.vector_files import CAPTURES

Object = dict[str, Any]


def objects_of(name: str) -> list[Object]:
    path = CAPTURES / name
    return replay(records_of(path), settings_of(path)).objects


def generations(name: str) -> dict[int, Object]:
    return {one["generation"]: one for one in objects_of(name) if one["kind"] == "generation"}


def test_a_worker_that_bounces_inside_the_delay_gets_its_jobs_back_after_it() -> None:
    told = generations("sessioned-4.3.1")
    lost, back, ended = told[11]["wait"], told[12]["wait"], told[13]["wait"]
    assert lost["because"] == ["127.0.0.1:19303"]
    assert not lost["only_delay"]
    assert back["only_delay"]
    assert [(one["worker"], one["by"]) for one in back["returned"]] == [("127.0.0.1:19303", "url")]
    assert ended["ended_ms"] == told[13]["at_ms"]
    other = {one["max_delay_ms"]: (one["idle_ms"], one["moved"]) for one in ended["other_delays"]}
    assert other[0] == (0, 6)
    assert other[8_000] == (6 * (told[13]["at_ms"] - told[11]["at_ms"]), 0)
    assert {one["kind"] for one in told[13]["moves"]} == {"returned"}


def test_idle_time_is_told_by_its_cause_with_the_record_that_ends_it() -> None:
    told = generations("sessioned-4.3.1")
    assert told[11]["idle_ms"] == {}
    tasks = sum(one["subject"]["type"] == "task" for one in told[11]["moves"] if one["kind"] == "lost")
    assert told[12]["idle_ms"] == {"scheduled_delay": tasks * (told[12]["at_ms"] - told[11]["at_ms"])}
    assert told[7]["idle_ms"] == {"revocation": 2 * (told[7]["at_ms"] - told[6]["at_ms"])}


def test_a_crash_has_bounds_and_a_clean_move_has_none() -> None:
    told = generations("compatible-2.8.2")
    crashed = [one for one in told[14]["interrupted"] if one["kind"] == "crash"]
    assert len(crashed) == 2
    assert all(one["lowest_ms"] <= one["best_ms"] <= one["highest_ms"] for one in crashed)
    clean = [one for one in told[7]["interrupted"] if one["kind"] == "clean"]
    assert [one["subject"]["id"] for one in clean] == ["idle-b-0"]
    assert all(one["lowest_ms"] == one["highest_ms"] for one in clean)


@pytest.mark.parametrize("name", ["compatible-2.8.2", "eager-2.8.2", "sessioned-4.3.1", "steady"])
def test_killed_and_stopped_workers_are_no_duplicates(name: str) -> None:
    twice = [one for one in objects_of(name) if one.get("code") == "CONNECT-K2"]
    assert {(one["severity"], one["certainty"]) for one in twice} <= {("info", "possible")}
    assert not [one for one in objects_of(name) if one.get("code") in ("CONNECT-K3", "CONNECT-K4")]


def test_thawed_workers_ran_their_jobs_beside_the_new_owners() -> None:
    """Three of the freezes outlast the delay: 3, 5 and 5 jobs really ran twice until both had stopped them."""
    twice = [one for one in objects_of("zombie") if one.get("code") == "CONNECT-K2"]
    assert [len(one["parts"]) for one in twice] == [3, 5, 5]
    assert [(one["severity"], one["certainty"]) for one in twice] == [("critical", "certain")] * 3
    assert {(part["severity"], part["certainty"]) for one in twice for part in one["parts"]} == {
        ("critical", "certain")
    }
    assert all(one["resolved_at_ms"] is not None for one in twice)
