"""A fold that fails costs one group its memory: its record is named, the others are judged, an incident says so."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.connect.config_history import ConfigHistory
from rebalance_monitor.streaming.core.connect.topics import ConfigChange
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.isolation import ENDED_FAILED
from rebalance_monitor.streaming.core.fold.published import body_of
from rebalance_monitor.streaming.core.fold.recovery import FOLDED_AGAIN, OPEN_MS
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import REGISTRY, FoldGroup, fold_group, route
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import Row, Tick, Waiting
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Generation, Grade, Incident, Result, Standing
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.guarding.fold import FoldLimits, fold_isolated, pieces_of, spans
from tests.streaming.core.rules.builders import GROUP, OFFSETS, Story, generations, incidents
from tests.streaming.core.rules.cases_status import runs_what_another_holds
from tests.streaming.guarding.poison import SECRET, Poisoned
from tests.streaming.states import connect_of, envelope_of
from tests.vector_files import CAPTURES

MINUTE_MS = 60_000
CODE = "MONITOR-E1"


def calm(rounds: int = 6) -> Story:
    told = Story()
    told.configure("c1", 4)
    told.join("w1", "w2")
    for _ in range(rounds):
        told.rebalance()
    return told


def isolated(
    told: Story, fold: FoldGroup = fold_group, state: Saved | None = None, rows: Sequence[Row] | None = None
) -> FoldOutcome:
    own = told.rows if rows is None else rows
    return fold_isolated(told.settings, GROUP, state, pieces_of(own), Tick(told.now_ms + 100), fold=fold)


def grades(results: Sequence[Result]) -> dict[int, Grade]:
    return {one.source.offset: one.verdict.grade for one in generations(results) if not one.verdict.pending_until_ms}


def said(results: Sequence[Result]) -> list[tuple[str, str]]:
    return [(one.transition, one.alert.value) for one in incidents(results, CODE)]


@pytest.mark.parametrize("error", [KeyError, ValueError, MemoryError, RecursionError])
@pytest.mark.parametrize("offset", [0, 2, 5])
def test_only_the_record_it_fails_at_is_not_judged(offset: int, error: type[BaseException]) -> None:
    told = calm()
    outcome = isolated(told, Poisoned({offset}, error))
    found = grades(outcome.results)
    assert {at for at, grade in found.items() if grade is Grade.NOT_JUDGED} == {offset}
    assert set(found) == set(range(6))
    (failed,) = [one for one in generations(outcome.results) if one.source.offset == offset]
    assert failed.verdict.why == f"internal error {outcome.errors[0].fingerprint} at {OFFSETS}-0 offset {offset}"
    assert [member.member_id for member in failed.members] == [worker.member_id for worker in told.workers.values()]
    assert outcome.errors[0].record == failed.source
    assert outcome.errors[0].fingerprint.startswith(f"{error.__name__}-")


def test_no_value_of_a_record_is_in_what_is_said_of_the_error() -> None:
    outcome = isolated(calm(), Poisoned({2}))
    assert "poison.py" in outcome.errors[0].trace
    assert SECRET not in dumps(outcome.errors[0]) + "".join(map(dumps, outcome.results))


def test_one_error_has_one_fingerprint_wherever_it_happens() -> None:
    first, second = (isolated(calm(), Poisoned({at})).errors[0].fingerprint for at in (1, 3))
    other = isolated(calm(), Poisoned({1}, ValueError)).errors[0].fingerprint
    assert first == second != other


def test_people_are_told_at_once_as_a_warning_that_names_group_and_record() -> None:
    outcome = isolated(calm(), Poisoned({2}))
    assert said(outcome.results) == [("opened", "info"), ("fired", AlertSeverity.WARNING)]
    opened = incidents(outcome.results, CODE)[0]
    assert f"{OFFSETS}-0 offset 2" in opened.message
    assert [one.id for one in opened.subjects] == [GROUP]
    assert [one.source.offset for one in opened.evidence if one.source] == [2]


def test_the_incident_ends_after_generations_folded_without_an_error() -> None:
    told = calm()
    outcome = isolated(told, Poisoned({2}))
    before = len(told.rows)
    for _ in range(FOLDED_AGAIN):
        told.rebalance()
    ended = isolated(told, state=outcome.state, rows=told.rows[before:])
    assert said(ended.results) == [("resolved", "warning")]
    assert envelope_of(ended.state).failing is None


def test_the_incident_of_a_quiet_group_ends_after_a_day() -> None:
    told = calm()
    outcome = isolated(told, Poisoned({5}))
    now_ms = told.now_ms + 100
    assert outcome.due_ms is not None
    assert outcome.due_ms <= now_ms + OPEN_MS
    still = fold_group(told.settings, GROUP, outcome.state, [], Tick(now_ms + OPEN_MS - 1))
    assert said(still.results) == []
    assert said(fold_group(told.settings, GROUP, still.state, [], Tick(now_ms + OPEN_MS)).results) == [
        ("resolved", "warning")
    ]


def test_an_empty_group_is_no_end_of_it_and_a_deleted_one_is() -> None:
    told = calm()
    outcome = isolated(told, Poisoned({5}))
    before = len(told.rows)
    told.empty()
    emptied = isolated(told, state=outcome.state, rows=told.rows[before:])
    assert said(emptied.results) == []
    told.tombstone()
    deleted = isolated(told, state=emptied.state, rows=told.rows[-1:])
    assert said(deleted.results) == [("resolved", "warning")]
    assert envelope_of(deleted.state).failing is None


def test_a_tombstone_that_failed_last_may_be_a_conversion() -> None:
    """What follows it would tell, and is not read yet: the group is not called dead."""
    told = calm()
    told.tombstone()
    states = [one for one in isolated(told, Poisoned({6})).results if isinstance(one, Standing)]
    assert states[-1].state == "Unknown"
    told.rebalance()
    states = [one for one in isolated(told, Poisoned({6})).results if isinstance(one, Standing)]
    assert "Dead" not in {one.state for one in states}
    assert states[-1].state == "Stable"


def test_open_incidents_of_the_group_end_with_the_reason_and_what_still_holds_is_found_again() -> None:
    told = runs_what_another_holds().until(30 * MINUTE_MS)
    outcome = fold_group(told.settings, GROUP, None, told.rows, Tick(told.now_ms))
    outcome = fold_group(told.settings, GROUP, outcome.state, [], Tick(told.now_ms + 30_000))
    book = envelope_of(outcome.state).book
    left = {one.incident_id for one in (*book.records.open.values(), *book.events.open.values())}
    assert left
    before = len(told.rows)
    told.wait(35_000)
    told.rebalance()
    failed = isolated(told, Poisoned({told.offsets[OFFSETS] - 1}), outcome.state, told.rows[before:])
    ended = {one.incident_id: one for one in incidents(failed.results) if one.code != CODE}
    assert ended.keys() == left
    assert all(one.transition == "resolved" and not one.firing for one in ended.values())
    assert all(one.message.endswith(ENDED_FAILED) for one in ended.values())


def test_the_state_is_put_aside_with_the_records() -> None:
    told = calm()
    first = isolated(told, rows=told.rows[:-1])
    outcome = isolated(told, Poisoned({5}), first.state, told.rows[-1:])
    (kept,) = outcome.kept
    assert kept.state == first.state.lines
    assert kept.fingerprint == outcome.errors[0].fingerprint
    (again,) = (replace(row, body=REGISTRY.blobs.read_again(body_of(row))) for row in [loads(Row, kept.rows)])
    assert again == told.rows[-1]


def test_the_configuration_is_carried_over_once_and_given_up_at_the_second_error() -> None:
    told = calm()
    once = isolated(told, Poisoned({4}))
    assert connect_of(once.state).history == connect_of(isolated(told).state).history
    told.rebalance()
    twice = isolated(told, Poisoned({6}), once.state, told.rows[-1:])
    assert connect_of(twice.state).history == ConfigHistory()
    assert said(twice.results) == []
    assert {one.code for one in envelope_of(twice.state).book.records.open.values()} == {CODE}


def test_another_error_is_told_as_an_update() -> None:
    told = calm()
    once = isolated(told, Poisoned({5}))
    told.rebalance()
    twice = isolated(told, Poisoned({6}, ValueError), once.state, told.rows[-1:])
    assert said(twice.results) == [("updated", "warning")]
    assert "ValueError-" in incidents(twice.results, CODE)[0].message


def test_a_record_that_waited_is_named_and_what_it_waited_for_is_not_lost() -> None:
    told = calm()
    told.configure("c2", 1)
    told.rebalance()
    late = [row for row in told.rows if isinstance(row.body, ConfigChange)][-3:]
    first = isolated(told, rows=[row for row in told.rows if row not in late])
    (waiting,) = (loads(Waiting, one.decode()) for one in first.state.waiting.values())

    poison = Poisoned({waiting.row.offset})
    outcome = isolated(told, poison, first.state, late)
    (failed,) = generations(outcome.results)
    assert failed.source.offset == waiting.row.offset
    assert failed.verdict.why.startswith("internal error")
    told.rebalance()
    after = isolated(told, state=outcome.state, rows=told.rows[-1:])
    assert grades(after.results)[told.offsets[OFFSETS] - 1] in (Grade.MATCH, Grade.EXPLAINABLE)


@pytest.mark.parametrize(
    "state",
    [b"\xff", b"{}x", b'{"next_offsets":3}', b'{}\nconnect {"processes":3}', b'{"waiting":[{"row":1}]}\nconnect 7'],
)
def test_a_state_that_cannot_be_read_is_put_aside_and_every_record_judged(state: bytes) -> None:
    told = calm()
    outcome = isolated(told, state=Saved(state))
    assert Grade.NOT_JUDGED not in grades(outcome.results).values()
    assert len(grades(outcome.results)) == 6
    assert [one.state for one in outcome.kept] == [state]
    assert outcome.errors[0].record is None
    assert said(outcome.results) == [("opened", "info"), ("fired", "warning")]


def test_a_timer_that_fails_is_isolated_too() -> None:
    outcome = isolated(calm(), Poisoned((), at_tick=True))
    assert len(grades(outcome.results)) == 6
    assert [one.record for one in outcome.errors] == [None]


def test_a_fold_shows_at_each_record_that_it_goes_on() -> None:
    told, shown = calm(), list[int]()
    seen: list[Row] = []
    outcome = fold_isolated(
        told.settings,
        GROUP,
        None,
        pieces_of(told.rows, FoldLimits(rows=3)),
        Tick(told.now_ms),
        fold=Poisoned((), seen=seen.append),
        goes_on=lambda: shown.append(len(seen)),
    )
    assert len(seen) >= len(told.rows), "one that waits for what it refers to is looked at again"
    assert shown == [*range(len(seen))], "once before each record"
    assert outcome.errors == ()


def test_many_bad_records_are_not_looked_for_one_by_one_for_ever() -> None:
    told = calm(40)
    poison = Poisoned(range(40))
    outcome = isolated(told, poison)
    assert set(grades(outcome.results).values()) == {Grade.NOT_JUDGED}
    assert len(grades(outcome.results)) == 40
    assert len(poison.calls) < 60
    assert len(incidents(outcome.results, CODE)) == 2


@pytest.mark.parametrize("capture", ["zombie", "sessioned-4.3.1"])
@pytest.mark.parametrize("rows", [1, 7, 50])
def test_pieces_give_what_the_whole_gives(capture: str, rows: int) -> None:
    folder = CAPTURES / capture
    known = settings_of(folder)
    (group,) = known.connect
    decoded = [row for record in records_of(folder) if (row := decode(record, known)) is not None]
    own = route(decoded, known)[group]
    tick = Tick(own[-1].timestamp_ms + 50)
    whole = fold_group(known, group, None, own, tick)
    cut = fold_isolated(known, group, None, pieces_of(own, FoldLimits(rows=rows)), tick)
    assert final(cut.results) == final(whole.results)


def final(results: Sequence[Result]) -> dict[object, object]:
    last: dict[object, object] = {}
    for result in results:
        if isinstance(result, Generation):
            last[result.source] = (result.verdict.grade, result.cause)
        elif isinstance(result, Incident):
            last[result.incident_id] = (result.code, result.transition, result.firing)
    return last


def test_pieces_are_bounded_by_rows_and_bytes() -> None:
    assert list(spans([1] * 5, FoldLimits(rows=2))) == [(0, 2), (2, 4), (4, 5)]
    assert list(spans([4, 4, 9, 1, 1], FoldLimits(bytes=8))) == [(0, 2), (2, 3), (3, 5)]
    assert list(spans([])) == [(0, 0)]


def test_without_an_error_nothing_is_added() -> None:
    told = calm()
    assert isolated(told) == fold_group(told.settings, GROUP, None, told.rows, Tick(told.now_ms + 100))
    assert envelope_of(isolated(told).state).failing is None


@pytest.mark.parametrize("offsets", [{3}, {6}, {7}, {3, 6}, {5, 6, 7}, set(range(12))])
def test_numbers_of_lives_and_generations_never_fall(offsets: set[int]) -> None:
    """The group is deleted in the middle and begins again with 1: offset 6 is its empty record, 7 the tombstone."""
    told = calm()
    told.empty()
    told.tombstone()
    told.generation = 0
    told.join("w1", "w2")
    for _ in range(4):
        told.rebalance()
    for size in (1, 100):
        found = {}
        state = None
        for at in range(0, len(told.rows), size):
            outcome = isolated(told, Poisoned(offsets), state, told.rows[at : at + size])
            state = outcome.state
            found.update({one.source.offset: (one.incarnation, one.generation) for one in generations(outcome.results)})
        in_order = [found[offset] for offset in sorted(found)]
        assert in_order == sorted(in_order)
        assert len(in_order) == 10
