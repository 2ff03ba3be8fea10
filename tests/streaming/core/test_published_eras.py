"""A verdict names every family of releases that can have given the answer, and one alone only where no other can."""

from typing import Any

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.replay import replay
from tests.streaming.core.rules.builders import CONFIGS, STATUSES, Story, generations
from tests.streaming.core.rules.cases_record import dropped
from tests.vector_files import CAPTURES

WORKERS = {"compatible-2.8.2": "A3a", "sessioned-4.3.1": "A5", "steady": "A5", "zombie": "A5"}
"""The family of the workers' release, as each capture's description states it."""


def verdicts_without_release(name: str) -> list[dict[str, Any]]:
    """Verdicts of a capture, judged without a configured release."""
    path = CAPTURES / name
    connect = {
        group: ConnectSettings(config_topic=one.config_topic, status_topic=one.status_topic)
        for group, one in settings_of(path).connect.items()
    }
    told = replay(records_of(path), ClusterSettings(name=name, connect=connect))
    return [one["verdict"] for one in told.objects if one["kind"] == "generation"]


@pytest.mark.parametrize(("name", "era"), WORKERS.items())
def test_the_workers_own_family_is_always_among_those_named(name: str, era: str) -> None:
    verdicts = verdicts_without_release(name)
    assert verdicts
    assert all(era in one["eras"] for one in verdicts)


@pytest.mark.parametrize("name", WORKERS)
def test_no_single_family_is_a_fact_where_several_give_the_answer(name: str) -> None:
    assert not [one for one in verdicts_without_release(name) if one["era"] is not None or len(one["eras"]) < 2]


def first_verdict(release: str | None = None) -> Verdict:
    """Of two workers' first round."""
    story = Story(known=ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES, release=release))
    story.configure("c1", 3)
    story.join("w1", "w2")
    story.rebalance()
    return generations(story.fold())[-1].verdict


def test_a_first_round_separates_only_families_with_another_header() -> None:
    verdict = first_verdict()
    assert verdict.grade is Grade.MATCH
    assert (verdict.eras, verdict.era) == (("A5", "A4", "A3b"), None)


def test_of_a_configured_release_only_its_own_family_is_named() -> None:
    verdict = first_verdict(release="3.4.0")
    assert (verdict.eras, verdict.era) == (("A4",), "A4")


def test_an_answer_that_no_family_gives_names_none() -> None:
    verdict = generations(dropped().fold())[-1].verdict
    assert verdict.grade is Grade.UNEXPLAINED
    assert (verdict.eras, verdict.era) == ((), None)
