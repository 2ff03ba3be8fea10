"""One group that the fold fails at, and odd texts, cost the other groups of a batch nothing."""

import logging
import pickle
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.connect.topics import decode_status_row
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Generation, Incident
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.ports import Range
from rebalance_monitor.streaming.spark.folding import FoldHere
from tests.streaming.guarding.poison import SECRET, Poisoned
from tests.streaming.spark.test_batch import Place, Run, batch, capture


def two_groups() -> tuple[ClusterSettings, list[Row], dict[Place, Range], str]:
    """The capture's group, and its records once more as those of another group; the poison is in the first."""
    known, by_place = capture("zombie")
    (group,) = known.connect
    rows = [row for own in by_place.values() for row in own]
    twin = [
        replace(row, group="twin", partition=row.partition + 50) if row.group == group else row
        for row in rows
        if row.group == group
    ]
    everything = [*rows, *twin]
    ends: dict[Place, int] = {}
    for row in everything:
        ends[row.topic, row.partition] = max(ends.get((row.topic, row.partition), 0), row.offset + 1)
    return known, everything, {place: Range(0, end) for place, end in ends.items()}, group


def test_a_group_whose_fold_fails_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    known, rows, ranges, group = two_groups()
    own = sorted(row.offset for row in rows if row.group == group)
    offset = own[len(own) // 2]
    poison = Poisoned({offset}, group=group)
    healthy = Run(known)
    healthy.function(batch(rows, ranges, 10**13), 0)
    run = Run(known, here=FoldHere(poison))
    with caplog.at_level(logging.ERROR):
        run.function(batch(rows, ranges, 10**13), 0)
    assert run.store.positions() == healthy.store.positions()
    of_twin = [one for one in healthy.results if getattr(one, "group", "") == "twin"]
    assert [one for one in run.results if getattr(one, "group", "") == "twin"] == of_twin
    assert of_twin
    (failed,) = [
        one for one in run.results if isinstance(one, Generation) and one.verdict.why.startswith("internal error")
    ]
    assert (failed.group, failed.source.offset) == (group, offset)
    assert [one.group for one in run.results if isinstance(one, Incident) and one.transition == "fired"][-1] == group
    (kept,) = run.store.commits[0].kept
    assert kept.group == group
    assert run.reports[0].fold_errors == {"KeyError": 1}
    (logged,) = [record for record in caplog.records if record.getMessage() == "fold_failed"]
    fields = logged.fields  # type: ignore[attr-defined]  # what the handler turns into JSON
    assert (fields["group"], fields["record"]) == (
        group,
        f"__consumer_offsets-{failed.source.partition} offset {offset}",
    )
    assert "poison.py" in fields["trace"]
    assert SECRET not in str(fields)


def test_a_trace_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    known, rows, ranges, group = two_groups()
    offsets = sorted(row.offset for row in rows if row.group == group)[-2:]
    run = Run(known, here=FoldHere(Poisoned(offsets)))
    with caplog.at_level(logging.ERROR):
        run.function(batch(rows, ranges, 10**13), 0)
    traced = [
        "trace" in record.fields  # type: ignore[attr-defined]
        for record in caplog.records
        if record.getMessage() == "fold_failed"
    ]
    assert len(traced) == 4
    assert traced.count(True) == 1


def test_half_a_surrogate_pair_survives_the_way_back_from_a_worker() -> None:
    """It comes out of a JSON escape in a status record, and is no UTF-8, which Arrow's texts are."""
    value = b'{"state":"RUNNING","worker_id":"\\ud800:8083","generation":1}'
    row = decode_status_row("s-status", 0, 0, 1_000, b"status-task-c-0", value)
    assert row is not None
    known = ClusterSettings(name="c", connect={"s": ConnectSettings(status_topic="s-status")})
    run = Run(known)
    run.function(batch([], {}, 1), 0)
    run.function(batch([row], {("s-status", 0): Range(0, 1)}, 10**6), 1)
    assert r"\ud800" in repr(run.reports[-1].view)
    assert pickle.loads(pickle.dumps(run.reports[-1].view)) == run.reports[-1].view
