"""A new lifecycle is one package and one entry in a registry: nothing of the product is touched for it."""

from functools import partial

import pytest

from rebalance_monitor.streaming.core.fold.fold import fold_group
from rebalance_monitor.streaming.core.fold.registry import Registry
from rebalance_monitor.streaming.core.fold.state import read
from rebalance_monitor.streaming.core.lifecycles import REGISTRY
from rebalance_monitor.streaming.core.model.records import GroupDeleted, GroupGeneration, MemberRow, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Result, Standing
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from tests.streaming.core.lifecycles.toy import NO_CAPTAIN, PATIENCE_MS, ToyLifecycle

T0_MS = 1_700_000_000_000
SETTINGS = ClusterSettings(name="c")
WITH_TOYS = Registry((ToyLifecycle(), *REGISTRY.lifecycles))
fold = partial(fold_group, WITH_TOYS, SETTINGS, "g")


def record(offset: int, generation: int, *, captain: bool, at_ms: int, protocol_type: str = "toy") -> Row:
    member = MemberRow(
        member_id="m", instance_id=None, client_id="c", client_host="/h", rebalance_timeout_ms=1, session_timeout_ms=1,
        subscription=None, assignment=None, subscription_bytes=b"", assignment_bytes=b"captain" if captain else b"",
    )  # fmt: skip
    body = GroupGeneration(
        protocol_type=protocol_type, generation=generation, protocol="p", leader="m", state_ms=at_ms, members=(member,)
    )
    return Row(topic="__consumer_offsets", partition=0, offset=offset, timestamp_ms=T0_MS + at_ms, group="g", body=body)


def grades(results: tuple[Result, ...]) -> list[Grade]:
    return [one.verdict.grade for one in results if isinstance(one, Generation)]


def incidents(results: tuple[Result, ...]) -> list[tuple[str, str]]:
    return [(one.code, one.transition) for one in results if isinstance(one, Incident)]


def test_its_records_are_judged_and_its_state_is_kept() -> None:
    first = fold(None, [record(0, 1, captain=True, at_ms=0)], Tick(T0_MS))
    assert grades(first.results) == [Grade.MATCH]
    envelope, bodies = read(first.state)
    assert (envelope.lifecycle, list(bodies)) == ("toy", ["toy"])


def test_its_timer_opens_an_incident_and_its_rule_ends_it() -> None:
    state = fold(None, [record(0, 1, captain=False, at_ms=0)], Tick(T0_MS))
    assert state.due_ms == T0_MS + PATIENCE_MS
    late = fold(state.state, [], Tick(T0_MS + PATIENCE_MS))
    assert incidents(late.results) == [(NO_CAPTAIN.code, "opened"), (NO_CAPTAIN.code, "fired")]
    (opened, *_) = (one for one in late.results if isinstance(one, Incident))
    assert (opened.rule, opened.opened_at_ms) == ("no_captain", T0_MS + PATIENCE_MS)
    after = fold(late.state, [record(1, 2, captain=True, at_ms=PATIENCE_MS + 5)], Tick(T0_MS + PATIENCE_MS + 5))
    assert incidents(after.results) == [(NO_CAPTAIN.code, "resolved")]


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_batches_are_cut_anywhere(cut: int) -> None:
    rows = [record(0, 1, captain=False, at_ms=0), record(1, 2, captain=False, at_ms=PATIENCE_MS * 2)]
    before = fold(None, rows[:cut], None)
    after = fold(before.state, rows[cut:], Tick(T0_MS + PATIENCE_MS * 2))
    assert incidents((*before.results, *after.results)) == [
        (NO_CAPTAIN.code, "opened"),
        (NO_CAPTAIN.code, "fired"),
    ]


def test_its_incidents_end_with_the_group() -> None:
    first = fold(None, [record(0, 1, captain=False, at_ms=0)], Tick(T0_MS))
    late = fold(first.state, [], Tick(T0_MS + PATIENCE_MS))
    gone = Row(
        topic="__consumer_offsets", partition=0, offset=1, timestamp_ms=T0_MS + PATIENCE_MS + 1, group="g",
        body=GroupDeleted(),
    )  # fmt: skip
    deleted = fold(late.state, [gone], Tick(T0_MS + 2 * PATIENCE_MS))
    assert incidents(deleted.results) == [(NO_CAPTAIN.code, "resolved")]
    assert [one.state for one in deleted.results if isinstance(one, Standing)] == ["Dead"]


def test_another_kind_of_group_with_the_same_registry_is_judged_as_ever() -> None:
    rows = [record(0, 1, captain=True, at_ms=0, protocol_type="elsewhere")]
    alone = fold_group(REGISTRY, SETTINGS, "g", None, rows, Tick(T0_MS))
    assert fold(None, rows, Tick(T0_MS)) == alone


def test_without_its_entry_the_group_belongs_to_the_lifecycle_of_every_classic_group() -> None:
    plain = fold_group(REGISTRY, SETTINGS, "g", None, [record(0, 1, captain=True, at_ms=0)], Tick(T0_MS))
    assert read(plain.state)[0].lifecycle == "consumer"


def test_a_body_whose_lifecycle_is_not_there_is_carried_on_as_it_is() -> None:
    first = fold(None, [record(0, 1, captain=False, at_ms=0)], None)
    without = fold_group(REGISTRY, SETTINGS, "g", first.state, [], Tick(T0_MS))
    assert read(without.state)[1] == read(first.state)[1]
