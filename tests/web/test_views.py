"""From rows to what is said: attention, order, matrix, story, changes. No database, no clock."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import (
    AlertSeverity,
    Change,
    ConnectShare,
    ExpectedShare,
    Grade,
    Sampled,
    Verdict,
)
from rebalance_monitor.streaming.core.runbooks import next_step
from rebalance_monitor.streaming.stories.durations import duration
from rebalance_monitor.streaming.stories.holdings import held
from rebalance_monitor.streaming.stories.story import story
from rebalance_monitor.streaming.web import fleet
from rebalance_monitor.streaming.web.attention import Attention, incident_object, storms
from rebalance_monitor.streaming.web.matrix import matrix
from rebalance_monitor.streaming.web.rows import GenerationRow, GroupRow, IncidentRow
from tests.streaming import builders
from tests.web.filled import window

NOW = 10_000_000


def row(group: str = "g", at_ms: int = 0, **more: Any) -> GroupRow:
    given: dict[str, Any] = {"delay_ms": None, "unassigned": 0, "version": "1", **more}
    return GroupRow(
        cluster="c", group=group, incarnation=0, generation=1, protocol_type="connect", protocol="sessioned",
        members=2, grade="match", at_ms=at_ms, **given,
    )  # fmt: skip


def incident(transition: str = "fired", incident_id: str = "i", group: str = "g", **more: Any) -> IncidentRow:
    document = builders.incident(transition, incident_id, cluster="c", group=group, **more)
    return IncidentRow(as_object(document), "c", group, document.historic, "1.2.3", "1")


@pytest.mark.parametrize(
    ("row", "attention", "why"),
    [
        (incident(), "notified", ""),
        (incident("opened", firing=False, fired_at_ms=None), "suppressed", "not lasted long enough"),
        (incident("ended", firing=False), "suppressed", "people were notified of its end"),
        (incident(alert=AlertSeverity.INFO), "suppressed", "for reports only"),
        (incident("opened", firing=False, historic=True), "suppressed", "before the monitor's start"),
        (incident("resolved", firing=True), "notified", ""),
        (incident("resolved"), "over", ""),
    ],
)
def test_attention(row: IncidentRow, attention: str, why: str) -> None:
    told = Attention([], NOW).of(row)
    assert told.attention == attention
    assert why in told.why


def test_what_has_not_lasted_long_enough_says_until_when() -> None:
    told = Attention([], NOW, lasts_ms=lambda *_: 300_000).of(incident("opened", firing=False, fired_at_ms=None))
    assert (told.why, told.until_ms) == ("it has not lasted long enough", 301_000)


def test_what_a_storm_absorbs_says_so_and_what_it_does_not_absorb_does_not() -> None:
    storm = incident(rule="rebalance_storm", code="CONNECT-K12", incident_id="s")
    attention = Attention([], NOW, storms([storm, incident()]))
    absorbed = attention.of(incident("opened", firing=False, rule="imbalance", code="CONNECT-I4"))
    assert "rebalance storm" in absorbed.why
    assert absorbed.until_ms is None
    elsewhere = incident("opened", group="other", firing=False, fired_at_ms=None, rule="imbalance", code="CONNECT-I4")
    assert attention.of(elsewhere).why == "it has not lasted long enough"


@pytest.mark.parametrize("rule", ["failed", "all_workers_gone"])
def test_an_incident_without_a_step_of_its_own_has_the_first_of_its_runbook(rule: str) -> None:
    shown = incident_object(Attention([], NOW).of(incident(rule=rule, next_step="")))
    assert shown["violation"]["next_step"] == next_step(rule) != ""
    own = incident_object(Attention([], NOW).of(incident(rule=rule, next_step="Stop w1.")))
    assert own["violation"]["next_step"] == "Stop w1."


def test_a_window_mutes_and_says_who_and_why() -> None:
    muted = incident(group="under-x")._replace(cluster="gamma")
    told = Attention([window(NOW)], NOW).of(muted)
    assert (told.attention, told.why) == ("muted", "maintenance by jane: broker upgrade")
    assert Attention([window(NOW)], NOW + 3_600_000).of(muted).attention == "notified"


def test_harmed_groups_come_first_then_the_latest() -> None:
    rows = [
        row("old"), row("new", 5), row("waits", 1, delay_ms=NOW), row("quiet"), row("warned"), row("harmed"),
        row("was-waiting", 2, delay_ms=1), row("gone", 9, status="Dead"),
    ]  # fmt: skip
    incidents = [
        incident(group="harmed"),
        incident(group="warned", incident_id="w", alert=AlertSeverity.WARNING),
        incident("opened", "q", "quiet", firing=False, fired_at_ms=None),
    ]
    found = fleet.fleet(rows, incidents, Attention([], NOW), lambda c, g: "")
    assert [one.row.group for one in found.groups] == [
        "harmed", "warned", "quiet", "waits", "new", "was-waiting", "old", "gone",
    ]  # fmt: skip
    assert found.groups[3].delay_until_ms == NOW + 1
    assert (found.counts["critical"], found.counts["notified"], found.counts["suppressed"]) == (1, 2, 1)


def test_a_group_without_members_waits_for_nobody() -> None:
    states = [
        fleet.group_state(row(delay_ms=NOW, status=status), (), "", NOW - 1).state
        for status in ("", "Stable", "Empty", "Dead")
    ]
    assert states == ["waiting", "waiting", "fine", "fine"]


def test_a_group_with_jobs_and_without_a_worker_is_never_fine() -> None:
    gone = incident(rule="all_workers_gone", code="CONNECT-K18")
    for status in ("Empty", "Dead"):
        left = row(status=status, unassigned=12)
        before, after = (fleet.group_state(left, told, "", NOW) for told in ((), [Attention([], NOW).of(gone)]))
        assert (before.state, before.delay_until_ms) == ("waiting", None)
        assert after.state == "critical"


def document(**more: Any) -> dict[str, Any]:
    return as_object(builders.generation(**more))


def test_an_incremental_worker_keeps_what_it_had() -> None:
    member = {
        "assigned": {"connectors": [], "tasks": [["a", 2]]},
        "revoked": {"connectors": ["a"], "tasks": [["a", 0]]},
        "owned": {"connectors": ["a"], "tasks": [["a", 0], ["a", 1]]},
    }
    assert held(member) == {"a-1", "a-2"}
    assert held({"assigned": {"partitions": [["t", 0]]}, "owned": {"partitions": [["t", 1]]}}) == {"t-0"}
    assert held({"assigned": None}) == set()


def test_the_matrix_marks_what_differs() -> None:
    first, two = (replace(builders.member(n), assigned=ConnectShare((), (("a", 0), ("b", n)))) for n in (1, 2))
    expected = {
        first.member_id: ExpectedShare(assigned=ConnectShare((), (("a", 0), ("b", 2)))),
        two.member_id: ExpectedShare(assigned=ConnectShare((), (("b", 10),))),
    }
    verdict = Verdict(grade=Grade.UNEXPLAINED, expected=expected)
    table = matrix(document(members=(first, two), verdict=verdict, unassigned=("b-10",)))
    assert table.workers == ("w1:8083", "w2:8083")
    assert [(line.name, *(cell.kind for cell in line.cells), line.note) for line in table.lines] == [
        ("a-0", "twice", "twice", "in several hands"),
        ("b-1", "wrong", "", ""),
        ("b-2", "due", "wrong", ""),
        ("b-10", "", "due", "nobody has it"),
    ]
    assert all(line.trouble for line in table.lines)
    assert table.totals == (2, 2)


def job(
    name: str,
    *assigned: str,
    agreement: str = "ok",
    generation: int = 7,
    state: str = "RUNNING",
    incarnation: int = 0,
) -> Any:
    return {
        "subject": {"type": "task", "id": name}, "assigned": list(assigned), "expected": "w1:8083", "judged": True,
        "agreement": agreement, "generation": generation, "incarnation": incarnation,
        "running": {"state": state, "worker": "w1:8083", "generation": 7, "at_ms": 1},
    }  # fmt: skip


def test_jobs_that_are_behind_the_record_do_not_speak() -> None:
    current = matrix(document(), [job("z-0", "w1:8083", state="FAILED", agreement="unexpected")])
    assert [(line.name, line.note) for line in current.lines] == [("z-0", "failed, not where it should be")]
    behind = matrix(document(), [job("z-0", "w1:8083", generation=6)])
    assert [line.name for line in behind.lines] == ["a (connector)", "a-0"]


def test_a_failed_task_is_shown_as_failed_after_generations_that_moved_nothing() -> None:
    rows = [job("a-0", "w1:8083", generation=4, state="FAILED", agreement="failed")]
    assert [
        (line.name, line.note, line.trouble) for line in matrix(document(members=(builders.member(1),)), rows).lines
    ] == [
        ("a (connector)", "", False),
        ("a-0", "failed", True),
    ]


def test_what_was_said_of_a_job_that_has_moved_since_is_not_shown() -> None:
    rows = [job("a-0", "w2:8083", generation=4, state="PAUSED", agreement="elsewhere")]
    assert {line.note for line in matrix(document(members=(builders.member(1),)), rows).lines} == {""}


@given(
    generation=st.integers(0, 12),
    incarnation=st.integers(0, 2),
    holder=st.sampled_from(["w1:8083", "w2:8083"]),
    others=st.lists(st.integers(0, 12), max_size=3),
    most_cells=st.sampled_from([0, 2_000]),
)
def test_a_failed_task_is_never_shown_as_well(
    generation: int, incarnation: int, holder: str, others: list[int], most_cells: int
) -> None:
    """Whatever generation the rows stand at: until another status comes, FAILED is the last that is known."""
    rows = [job("a-0", holder, generation=generation, incarnation=incarnation, state="FAILED", agreement="failed")]
    rows += [job(f"b-{n}", "w1:8083", generation=at) for n, at in enumerate(others)]
    table = matrix(document(members=(builders.member(1),), incarnation=1), rows, most_cells=most_cells)
    (line,) = [line for line in table.lines if line.name == "a-0"]
    assert (line.trouble, "failed" in line.note) == (True, True)
    assert "held" not in {cell.kind for cell in line.cells}


def test_rows_of_a_former_life_of_the_group_do_not_say_who_holds_what() -> None:
    rows = [job("a-0", "w2:8083", generation=24), job("gone-0", "w2:8083", generation=24)]
    table = matrix(document(members=(builders.member(1),), incarnation=1, generation=2), rows)
    assert [(line.name, line.holders) for line in table.lines] == [
        ("a (connector)", ("w1:8083",)),
        ("a-0", ("w1:8083",)),
    ]


@given(st.sampled_from(["ok", "failed", "unexpected", "elsewhere", "not_started"]), st.integers(0, 6))
def test_of_an_older_row_only_what_statuses_said_is_shown(agreement: str, generation: int) -> None:
    state = "FAILED" if agreement == "failed" else "RUNNING"
    lines = matrix(
        document(members=(builders.member(1),)),
        [job("a-0", "w1:8083", generation=generation, state=state, agreement=agreement)],
    ).lines
    notes = {"failed": "failed", "elsewhere": "another worker says it runs it", "not_started": "not taken up yet"}
    assert {line.name: line.note for line in lines}["a-0"] == notes.get(agreement, "")


def test_a_large_group_is_summed_and_its_trouble_listed() -> None:
    many = [job(f"c{n % 20}-{n}", "w1:8083") for n in range(500)]
    table = matrix(document(), [*many, job("c1-999", agreement="unassigned")])
    assert not table.sums
    assert len(table.lines) == 501
    table = matrix(document(), [*many, job("c1-999", agreement="unassigned")], most_cells=100)
    assert [(line.name, line.note) for line in table.lines] == [("c1-999", "nobody has it")]
    assert sum(one.jobs for one in table.sums) == 501
    assert {(one.jobs, one.hands, one.fewest, one.most) for one in table.sums} == {(25, 1, 25, 25), (26, 1, 25, 25)}
    assert table.loads == [("w1:8083", 500), ("w2:8083", 0)]


def test_of_much_trouble_the_first_is_listed_and_the_rest_counted() -> None:
    table = matrix(document(), [job(f"c-{n}", agreement="unassigned") for n in range(130)], most_cells=100)
    assert [line.name for line in table.lines] == [f"c-{n}" for n in range(100)]
    assert table.more == 30


def test_a_story_says_why_and_what_differs() -> None:
    member = builders.member(1)
    verdict = Verdict(
        grade=Grade.UNEXPLAINED,
        reason=Reason(ReasonKind.OTHER_ANSWER, "no memory fits"),
        expected={member.member_id: ExpectedShare(assigned=ConnectShare(("b",)))},
    )
    told = story(GenerationRow(document(members=(member,), verdict=verdict), "c", "g", "1.2.3"))
    assert told.expected == ("w1:8083 lacks b (connector), has a (connector), a-0 beyond it",)
    assert (told.meaning, told.reason) == ("nothing known gives it", "no memory fits")
    assert told.anchor == "g-3-5"


def test_of_a_hundred_workers_a_dozen_is_told_of_and_the_rest_counted() -> None:
    diff = {f"w{number}:8083": Change(gained=("a-0",)) for number in range(100)}
    told = story(GenerationRow(document(diff=diff), "c", "g", "1.2.3"))
    assert (len(told.hands), told.more_hands, told.moves) == (12, 88, 100)


def test_names_and_spans_are_short() -> None:
    assert listed((str(n) for n in range(15)), 12) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more"
    spans = [5, 1_500, 61_000, 600_000, 9_000_000]
    assert [duration(ms) for ms in spans] == ["5 ms", "1.5 s", "61 s", "10 min", "2.5 h"]


keys = st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"))
known = st.dictionaries(keys, st.tuples(st.integers(0, 2).map(str)))


@given(known, known)
def test_changes_are_exactly_the_differences(before: Any, after: Any) -> None:
    found = fleet.changed(before, after)
    assert set(found) == {key for key in {*before, *after} if before.get(key) != after.get(key)}
    assert fleet.changed(after, after) == []


def test_every_write_of_a_group_shows() -> None:
    base = fleet.versions([row()], [incident()], {("c", "g"): "5"})
    others = (
        fleet.versions([row(version="2")], [incident()], {("c", "g"): "5"}),
        fleet.versions([row()], [incident()._replace(version="9")], {("c", "g"): "5"}),
        fleet.versions([row()], [incident()], {("c", "g"): "6"}),
        fleet.versions([row()], [], {("c", "g"): "5"}),
    )
    assert all(fleet.changed(base, other) == [("c", "g")] for other in others)


def test_an_assignment_that_was_polled_says_so() -> None:
    for sampled, said in ((None, ""), (Sampled(None, 1_000), "not known"), (Sampled(400, 11_400), "within the 11 s")):
        document = as_object(builders.generation(sampled=sampled))
        told = story(GenerationRow(document, "c", "g", ""))
        assert said in told.sampled
        assert bool(told.sampled) == (sampled is not None)
