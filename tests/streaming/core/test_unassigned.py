"""CONNECT-K5: opens when delay and time-outs are over, resolves when somebody holds the jobs again."""

from dataclasses import replace

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Generation, Incident, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Owner
from rebalance_monitor.streaming.core.replay import decode
from tests.streaming.states import timer_ms
from tests.vector_files import CAPTURES

CAPTURE = CAPTURES / "sessioned-4.3.1"
CODE = "CONNECT-K5"


def up_to_a_delay() -> tuple[ClusterSettings, str, list[Row], list[Row], Generation]:
    """The capture's rows up to the first generation with idle jobs and a delay, and the rest."""
    known = settings_of(CAPTURE)
    (group,) = known.connect
    rows = [row for record in records_of(CAPTURE) if (row := decode(record, known)) is not None]
    own = route(rows, known)[group]
    whole = fold_group(known, group, None, own, None, end_of_input=True)
    idle = next(
        one
        for one in whole.results
        if isinstance(one, Generation) and one.connect.unassigned and (one.connect.delay_ms or 0) > 0
    )
    place = (idle.source.topic, idle.source.partition)
    early = [row for row in own if (row.topic, row.partition) != place or row.offset <= idle.source.offset]
    late = [row for row in own if (row.topic, row.partition) == place and row.offset > idle.source.offset]
    return known, group, early, late, idle


def overdue(results: tuple[Result, ...]) -> list[Incident]:
    return [one for one in results if isinstance(one, Incident) and one.code == CODE]


def due_ms(known: ClusterSettings, group: str, outcome: FoldOutcome) -> int:
    """When the group's records bring up their next timer; statuses have timers of their own, which come before."""
    due = timer_ms(known, group, outcome.state)
    assert due is not None
    return due


def fold_early(known: ClusterSettings, group: str, early: list[Row]) -> FoldOutcome:
    return fold_group(known, group, None, early, None)


def test_the_clock_opens_it_once_and_not_before_its_time() -> None:
    known, group, early, _, idle = up_to_a_delay()
    first = fold_early(known, group, early)
    due = due_ms(known, group, first)
    assert first.due_ms is not None
    assert first.due_ms <= due
    assert not overdue(fold_group(known, group, first.state, [], Tick(due - 1)).results)
    second = fold_group(known, group, first.state, [], Tick(due))
    opened, fired = overdue(second.results)
    assert (opened.transition, fired.transition) == ("opened", "fired")
    assert fired.alert is AlertSeverity.CRITICAL
    assert sorted(subject.id for subject in opened.subjects) == sorted(idle.connect.unassigned)
    assert {subject.type for subject in opened.subjects} <= {"task", "connector"}
    assert opened.opened_at_ms == due
    assert not overdue(fold_group(known, group, second.state, [], Tick(due + 60_000)).results)


def test_it_resolves_when_the_jobs_have_a_holder_again() -> None:
    known, group, early, late, _ = up_to_a_delay()
    first = fold_early(known, group, early)
    second = fold_group(known, group, first.state, [], Tick(due_ms(known, group, first)))
    third = fold_group(known, group, second.state, late, None, end_of_input=True)
    assert [one.transition for one in overdue(third.results)] == ["resolved"]


def test_a_delay_that_ends_in_time_reports_nothing() -> None:
    known, group, early, late, _ = up_to_a_delay()
    whole = fold_group(known, group, None, [*early, *late], None, end_of_input=True)
    assert not overdue(whole.results)


def test_a_shorter_patience_is_counted_from_the_first_record_without_holder() -> None:
    known, group, early, _, idle = up_to_a_delay()
    hasty = replace(known, connect={group: replace(known.connect[group], max_delay_ms=0)})
    first = fold_early(hasty, group, early)
    assert due_ms(hasty, group, first) < idle.at_ms + 300_000


def test_what_the_owner_says_of_time_outs_counts_instead_of_what_the_members_say() -> None:
    known, group, early, _, _ = up_to_a_delay()
    members = due_ms(known, group, fold_early(known, group, early))
    owner = Owner(groups="*", team="pipelines", silent_member_ms=0, rebalance_timeout_ms=0)
    sooner = replace(known, owners=(owner,))
    later = replace(known, owners=(replace(owner, silent_member_ms=3_600_000),))
    stranger = replace(known, owners=(replace(owner, groups="another-*"),))

    at_once, an_hour, unchanged = (
        due_ms(one, group, fold_early(one, group, early)) for one in (sooner, later, stranger)
    )

    assert at_once < members == unchanged
    assert an_hour == at_once + 3_600_000
