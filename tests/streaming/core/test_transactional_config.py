"""Holes that transactions leave in the config topic are markers, unless somebody refers to one of them."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from rebalance_monitor.schemas.connect_topics import ConfigRecord, ConnectorConfigured, TasksCommitted, TaskStaged
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.connect.config_history import ConfigEntry, ConfigHistory
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode, replay
from tests.streaming.core.test_mutants import NAMES, grade_of, mutants, violations
from tests.streaming.core.transactional import in_transactions
from tests.vector_files import CAPTURES

CONFIGURED, STAGED, COMMITTED = ConnectorConfigured("c1"), TaskStaged("c1", 0), TasksCommitted("c1", 1)


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_and_incidents_are_those_of_the_same_cluster_without_transactions(name: str) -> None:
    known = settings_of(CAPTURES / name)
    records = list(records_of(CAPTURES / name))
    plain, exactly_once = replay(records, known), replay(in_transactions(records, known), known)
    assert [_told(one) for one in exactly_once.objects] == [_told(one) for one in plain.objects]


def _told(document: dict[str, object]) -> tuple[object, ...]:
    return (
        document["kind"],
        document.get("verdict"),
        document.get("code"),
        document.get("severity"),
        document.get("grades"),
    )


def rows_of(name: str) -> tuple[ClusterSettings, str, list[Row], list[Row]]:
    known = settings_of(CAPTURES / name)
    (group,) = known.connect
    records = in_transactions(records_of(CAPTURES / name), known)
    rows = route([row for one in records if (row := decode(one, known)) is not None], known)[group]
    own = [row for row in rows if row.topic == "__consumer_offsets"]
    return known, group, own, [row for row in rows if row.topic != "__consumer_offsets"]


@pytest.mark.parametrize("name", NAMES)
def test_changed_answers_are_noticed_in_a_cluster_with_transactions(name: str) -> None:
    known, group, own, rest = rows_of(name)
    state = fold_group(known, group, None, rest, Tick(0)).state
    grades, dice, missed, made = Counter[Grade](), random.Random(7), 0, 0
    for row, following in zip(own, [*own[1:], None], strict=True):
        right = fold_group(known, group, state, [row], Tick(0))
        body = row.body
        if isinstance(body, GroupGeneration) and body.members:
            for _, members in mutants(body, dice):
                wrong = fold_group(known, group, state, [replace(row, body=replace(body, members=members))], Tick(0))
                grades[grade_of(wrong.results)] += 1
                found = bool(violations(wrong.results) - violations(right.results))
                if grade_of(wrong.results) is not Grade.UNEXPLAINED and not found and following is not None:
                    after = [fold_group(known, group, one.state, [following], Tick(0)) for one in (wrong, right)]
                    found = bool(violations(after[0].results) - violations(after[1].results))
                made += 1
                missed += grade_of(wrong.results) is not Grade.UNEXPLAINED and not found
        state = right.state
    print(f"{name}: {dict(grades)}, {missed} of {made} not noticed")
    assert grades[Grade.MATCH] == grades[Grade.NOT_JUDGED] == 0
    assert missed * 100 <= made


def entries(*offsets: int) -> list[ConfigEntry]:
    """Connector, task and commit at these offsets."""
    records: tuple[ConfigRecord, ...] = (CONFIGURED, STAGED, COMMITTED)
    return [ConfigEntry(at, one) for at, one in zip(offsets, records, strict=False)]


def test_a_hole_is_a_marker_until_somebody_refers_to_it() -> None:
    history = ConfigHistory().extended(entries(0, 2, 4))
    assert (history.markers, history.hole_offset) == ((1, 3), None)
    assert history.referred([1, 3, 5]) == history
    assert history.referred([4]).hole_offset == 3


def test_holes_are_not_markers_where_a_write_is_not_a_transaction() -> None:
    """What ends a transaction is followed at once: the hole before it, or after it, is no marker."""
    plain = ConfigHistory().extended([*entries(0, 2), ConfigEntry(4, COMMITTED), ConfigEntry(5, CONFIGURED)])
    assert plain.hole_offset == 1
    assert not plain.markers


def test_a_wide_hole_is_not_a_marker_and_neither_is_one_at_the_beginning() -> None:
    assert ConfigHistory().extended(entries(0, 3)).hole_offset == 1
    assert ConfigHistory().extended(entries(1, 2)).hole_offset == 0


def test_batches_do_not_matter() -> None:
    records = entries(0, 2, 4)
    one_by_one = ConfigHistory()
    for record in records:
        one_by_one = one_by_one.extended([record])
    assert one_by_one == ConfigHistory().extended(records)
