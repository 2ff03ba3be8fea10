"""Two real Streams applications that probe for long: one whose copies never catch up warns, a slow one does not."""

from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident, Severity
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode, replay
from tests.streaming.folded_group import FoldedGroup
from tests.vector_files import GROUP_CAPTURES

CAPTURE = GROUP_CAPTURES / "streams-probing"
NEVER, SLOWLY, RULE = "never", "slowly", "STREAMS-S19"
BOUND = 6
"""Four tasks, one warm-up: 4 / 1 + 2."""


@cache
def objects() -> list[dict[str, Any]]:
    return replay(records_of(CAPTURE), settings_of(CAPTURE), knowledge=knowledge_of(CAPTURE)).objects


def told(group: str, settings: ClusterSettings, knowledge: Knowledge) -> list[Incident]:
    """What is said of the rule while the records come one by one, as a job folds them."""
    followed = FoldedGroup(settings, group, knowledge)
    for record in records_of(CAPTURE):
        row = decode(record, settings)
        if row is not None and row.group == group:
            followed.fold([row])
    return [one for one in followed.results if isinstance(one, Incident) and one.code == RULE]


@cache
def as_it_was(group: str) -> list[Incident]:
    return told(group, settings_of(CAPTURE), knowledge_of(CAPTURE))


def test_copies_that_never_catch_up_are_one_incident_that_warns() -> None:
    found = as_it_was(NEVER)
    assert [(one.transition, one.severity) for one in found] == [("opened", Severity.HIGH), ("fired", Severity.HIGH)]
    assert found[-1].alert is AlertSeverity.WARNING
    opened = found[:1]
    assert opened[0].opened_generation == BOUND + 3, (
        "the first with a warm-up is the second, and it counts from the next"
    )
    assert "restored 9." in opened[0].message
    assert "25.0 were written" in opened[0].message
    assert "what fits: copies restore more slowly than their changelogs are written" in opened[0].message
    assert "KAFKA-" not in opened[0].message


def test_copies_that_catch_up_slowly_are_information_with_the_time_that_is_left() -> None:
    stuck = [one["streams"]["progress"]["stuck"] for one in objects() if one["kind"] == "generation"]
    assert max(stuck) > 2 * BOUND
    found = as_it_was(SLOWLY)
    assert {(one.severity, one.alert) for one in found} == {(Severity.INFO, AlertSeverity.INFO)}
    opened = [one.message for one in found if one.transition == "opened"]
    assert len(opened) == 2, "one for each of the two copies that catch up one after the other"
    assert all("catches up at about" in text and "what fits" not in text for text in opened)
    assert found[-1].transition == "resolved"


def test_the_time_that_is_left_is_right() -> None:
    """Of both copies, to a fifth."""
    found = as_it_was(SLOWLY)
    opened = [one for one in found if one.transition == "opened"]
    resolved = [one.resolved_at_ms for one in found if one.transition == "resolved"]
    for generation, end_ms in zip(opened, resolved, strict=True):
        assert end_ms is not None
        named = generation.message.split("at about ")[1][: len("2026-11-23 10:05:00 UTC")]
        then_s = datetime.strptime(f"{named}+0000", "%Y-%m-%d %H:%M:%S UTC%z").timestamp()
        took_s = (end_ms - generation.opened_at_ms) / 1000
        assert abs(then_s - end_ms / 1000) <= took_s / 5 + 5


def test_without_end_offsets_nobody_is_warned() -> None:
    blind = replace(knowledge_of(CAPTURE), changelogs={})
    for group in (NEVER, SLOWLY):
        found = told(group, settings_of(CAPTURE), blind)
        assert {one.severity for one in found} == {Severity.INFO}
        assert "how fast their changelogs are written is not known" in found[0].message
        assert "what fits" not in found[0].message


def test_without_the_topology_changelogs_are_those_of_the_only_part_with_state() -> None:
    known = settings_of(CAPTURE)
    streams = {group: replace(one, topology=None) for group, one in known.streams.items()}
    found = told(NEVER, replace(known, streams=streams), knowledge_of(CAPTURE))
    assert [one.severity for one in found if one.transition == "opened"] == [Severity.HIGH]


def test_end_offsets_that_come_late_make_information_a_warning_in_the_same_incident() -> None:
    """A job asks for them from the moment on at which the incident is open."""
    known = knowledge_of(CAPTURE)
    samples = known.changelogs[NEVER]
    late = replace(known, changelogs={NEVER: samples[len(samples) // 3 :]})
    found = told(NEVER, settings_of(CAPTURE), late)
    assert [(one.transition, one.severity) for one in found if one.transition == "opened"] == [
        ("opened", Severity.INFO)
    ]
    assert (found[-1].severity, found[-1].alert) == (Severity.HIGH, AlertSeverity.WARNING)
    assert len({one.incident_id for one in found}) == 1


def test_every_generation_is_judged_and_nothing_else_is_found() -> None:
    grades = {one["verdict"]["grade"] for one in objects() if one["kind"] == "generation"}
    assert grades <= {"match", "explainable"}
    assert {one["code"] for one in objects() if one["kind"] == "violation"} == {RULE}
