"""The last config record below a generation's offset: a leader may not have applied it yet, but not for ever."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.connect.reasons import CONFIG_BEHIND
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Severity
from rebalance_monitor.streaming.core.replay import decode
from tests.streaming.core.mutant_kinds import handed_out, with_jobs
from tests.streaming.core.rules.builders import REBALANCE_MS, SESSION_MS, Story, generations, incidents
from tests.streaming.core.rules.edits import both, drop, give
from tests.vector_files import CAPTURES

TIMEOUTS_MS = SESSION_MS + REBALANCE_MS
STEADY = CAPTURES / "steady"


def created(protocol: str = "sessioned") -> Story:
    """Two workers with one connector; a second one is created, and its commit is the topic's last record."""
    story = Story(protocol)
    story.configure("c1", 2)
    story.join("w1", "w2")
    story.rebalance()
    story.configure("c2", 4)
    return story


def above_info(story: Story) -> list[tuple[str, int]]:
    """Code and time after the last record, in ms, of every incident that opened above info."""
    end_ms = max(row.timestamp_ms for row in story.rows)
    found = [one for one in incidents(story.fold()) if one.severity is not Severity.INFO]
    return [(one.code, one.opened_at_ms - end_ms) for one in found if one.transition == "opened"]


def test_a_task_that_is_left_out_is_found_at_once() -> None:
    story = created()
    story.rebalance(drop("w1", "c2-0"))
    assert above_info(story) == [("CONNECT-I4", 0)]


def test_new_tasks_that_all_go_to_one_worker_are_found_at_once() -> None:
    story = created()
    story.rebalance(both(drop("w2", "c2-1", "c2-3"), give("w1", "c2-1", "c2-3")))
    assert above_info(story) == [("CONNECT-I8", 0)]


def test_a_static_task_on_a_wildcard_worker_is_found_at_once() -> None:
    story = Story("static")
    story.configure("c1", 2)
    story.join("w1", "w2")
    story.join("w3", static=("c2-0",))
    story.rebalance()
    story.configure("c2", 2)
    story.rebalance(both(drop("w3", "c2-0"), give("w1", "c2-0")))
    assert above_info(story) == [("CONNECT-S1", 0)]


@pytest.mark.parametrize("protocol", ["sessioned", "default"])
def test_what_is_left_out_altogether_is_found_when_no_rebalance_follows(protocol: str) -> None:
    """A leader without the commit leaves all its tasks out, and asks for a rebalance once it has read the record."""
    story = created(protocol)
    story.rebalance(behind=True)
    assert generations(story.fold())[-1].verdict.reason == CONFIG_BEHIND
    assert above_info(story.until(TIMEOUTS_MS - 1)) == []
    assert above_info(story.until(TIMEOUTS_MS)) == [("CONNECT-I4", TIMEOUTS_MS)]


def test_what_is_withheld_is_kept_from_batch_to_batch() -> None:
    story = created()
    story.rebalance(behind=True)
    group = story.followed()
    for row in story.rows:
        group.fold([row])
    outcome = group.fold(now_ms=story.now_ms + TIMEOUTS_MS - 1)
    assert not incidents(outcome.results)
    assert outcome.due_ms == story.now_ms + TIMEOUTS_MS
    (incident,) = incidents(group.fold(now_ms=story.now_ms + TIMEOUTS_MS).results)
    assert (incident.code, incident.severity) == ("CONNECT-I4", Severity.HIGH)
    assert f"would have asked for a rebalance within {TIMEOUTS_MS} ms" in incident.message


@pytest.mark.parametrize("protocol", ["sessioned", "default"])
@pytest.mark.parametrize("after_ms", [5, TIMEOUTS_MS - 1])
def test_a_leader_that_reads_the_record_and_rebalances_is_right(protocol: str, after_ms: int) -> None:
    story = created(protocol)
    story.rebalance(behind=True)
    story.rebalance(after_ms=after_ms)
    assert above_info(story.until(10 * TIMEOUTS_MS)) == []
    assert generations(story.fold())[-1].verdict.grade is Grade.MATCH


def test_a_deleted_connector_may_stay_for_as_long() -> None:
    story = created()
    story.rebalance()
    story.delete("c1")
    story.rebalance(behind=True)
    assert above_info(story) == []
    assert set(above_info(story.until(TIMEOUTS_MS))) == {("CONNECT-I5", TIMEOUTS_MS)}


def steady() -> tuple[list[Row], list[Row], str]:
    known = settings_of(STEADY)
    (group,) = known.connect
    rows = [row for record in records_of(STEADY) if (row := decode(record, known)) is not None]
    own = [row for row in route(rows, known)[group] if row.topic == "__consumer_offsets"]
    rest = [row for row in route(rows, known)[group] if row.topic != "__consumer_offsets"]
    return own, rest, group


def test_the_last_generation_of_a_real_cluster_is_no_exception() -> None:
    """Its leader had stated the offset of the last commit for the first time, and three quiet minutes follow."""
    own, rest, group = steady()
    known = settings_of(STEADY)
    state = fold_group(known, group, None, rest, Tick(0)).state
    last = [one for one in own if isinstance(one.body, GroupGeneration) and one.body.members][-1]
    for row in own[: own.index(last)]:
        state = fold_group(known, group, state, [row], Tick(0)).state
    assert isinstance(last.body, GroupGeneration)
    members = last.body.members
    tasks = sorted(job for member in members for job in handed_out(member) if not isinstance(job, str))
    place = next(number for number, member in enumerate(members) if tasks[0] in handed_out(member))
    dropped = list(members)
    dropped[place] = with_jobs(members[place], [job for job in handed_out(members[place]) if job != tasks[0]])
    together = [with_jobs(one, [job for job in handed_out(one) if isinstance(job, str)]) for one in members]
    together[0] = with_jobs(together[0], [*handed_out(together[0]), *tasks])
    for changed, code in ((dropped, "CONNECT-I4"), (together, "CONNECT-I8")):
        results = fold_group(known, group, state, [_with(last, changed)], Tick(0)).results
        assert [one.verdict.grade for one in results if isinstance(one, Generation)] == [Grade.UNEXPLAINED]
        assert code in {one.code for one in results if isinstance(one, Incident) and one.severity is not Severity.INFO}


def _with(row: Row, members: list[MemberRow]) -> Row:
    assert isinstance(row.body, GroupGeneration)
    return replace(row, body=replace(row.body, members=tuple(members)))
