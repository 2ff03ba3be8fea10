"""The five drills are answered in six lines; each has a golden text."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.known import GroupFacts
from rebalance_monitor.streaming.stories.six_lines import six_lines
from tests.streaming.stories.drills import ANSWERS, DRILLS, VECTORS, captured, doubled_tasks_after_a_partition, told


@pytest.mark.parametrize("drill", DRILLS, ids=lambda drill: drill.__name__)
def test_the_answer_is_the_golden_text(drill: Callable[[], GroupFacts]) -> None:
    text = told(drill)
    assert text == (ANSWERS / f"{drill.__name__}.txt").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 6
    assert all(line[11:].strip() for line in text.splitlines()), "what is not known is said so"


def test_every_golden_text_has_its_drill() -> None:
    assert {path.stem for path in ANSWERS.glob("*.txt")} == {drill.__name__ for drill in DRILLS}


def test_lag_is_told_where_brokers_were_asked() -> None:
    known = doubled_tasks_after_a_partition()
    progress = {"answered_ms": known.now_ms, "members": [{"lag": 1_200}, {"lag": 34}]}
    assert "; 1,234 records behind at 2026-11-20" in six_lines(replace(known, progress=progress)).harmed
    assert "behind" not in six_lines(known).harmed


def test_a_muted_incident_says_until_when_nobody_is_notified() -> None:
    known = doubled_tasks_after_a_partition()
    muted = [{**one, "attention": "muted", "why": "maintenance by jane: upgrade"} for one in known.incidents]
    assert "muted: maintenance by jane: upgrade" in six_lines(replace(known, incidents=muted)).what


def test_no_span_of_time_where_the_text_stays() -> None:
    for drill in DRILLS:
        answer = six_lines(replace(drill(), spans=False))
        assert not any(" ago)" in text or "(in " in text for text in (answer.since, answer.ends))


def test_what_is_over_is_not_the_answer() -> None:
    known = doubled_tasks_after_a_partition()
    over = [{**one, "attention": "over"} for one in known.incidents]
    calm = replace(known, incidents=over, group={**known.group, "state": "fine"})
    assert six_lines(calm).what.startswith("fine: ")


def test_a_group_without_members_and_with_tasks_waits_for_a_worker() -> None:
    known = doubled_tasks_after_a_partition()
    empty = {
        **known.group,
        "state": "waiting",
        "status": "Empty",
        "status_ms": known.now_ms - 20_000,
        "members": 0,
        "unassigned": 3,
        "delay_until_ms": None,
    }
    answer = six_lines(replace(known, incidents=(), group=empty))
    assert answer.what == "waiting: no worker is in the group, so nothing runs"
    assert answer.since.endswith("(20 s ago)")
    assert answer.do.startswith("start a worker of the group")
    assert (answer.since_ms, answer.ends_ms) == (known.now_ms - 20_000, None)


def test_nobody_left_is_told_with_the_last_generation_that_tables_show() -> None:
    """The record that says so has number 6, of which no table says anything."""
    answer = six_lines(captured("captures/steady", "steady", "2026-11-20T12:25:00Z"))
    assert "all_workers_gone" in answer.what
    assert answer.since == "2026-11-20 12:13:18 UTC (12 min ago), after generation 5, the last one with members"


def test_information_alone_harms_nobody() -> None:
    """Clients that write several versions break nothing, and all members were told as harmed by it."""
    known = capture_of(str(VECTORS / "captures-groups/java-releases"), 1_795_450_870_834).known(
        ("java-releases", "coop-mixdiff")
    )
    answer = six_lines(known)
    assert "mixed_clients" in answer.what
    assert answer.harmed == "nobody that the records show"


def test_a_rebalance_that_hands_out_what_was_given_up_is_no_cause_of_a_failed_task() -> None:
    known = capture_of(str(VECTORS / "captures/sessioned-4.3.1"), 1_795_176_560_594).known(
        ("sessioned-4.3.1", "connect-main")
    )
    answer = six_lines(known)
    assert "task fails-0 has FAILED" in answer.what
    assert "handed out" not in answer.caused
