"""The leader's maximum delay: configured it binds all workers but the listed ones, inferred it binds the process that
showed it."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.connect.configured import jobs_of_counts
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, job_name
from rebalance_monitor.streaming.core.connect.reasons import CONFIG_BEHIND, UNKNOWN_MAXIMUM
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import CONFIGS, STATUSES, Story, generations, incidents
from tests.streaming.core.rules.edits import both, drop, everyone, give
from tests.streaming.core.rules.processes import JAVA

NOT_KNOWN = ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES, java_version=JAVA)
CONFIGURED = replace(NOT_KNOWN, max_delay_ms=60_000)


def lost_a_worker(max_delay_ms: int, known: ConnectSettings = CONFIGURED) -> Story:
    story = Story(max_delay_ms=max_delay_ms, known=known)
    story.configure("c1", 4)
    story.configure("c2", 3)
    story.join("w1", "w2", "w3")
    story.rebalance()
    story.configure("c4", 3)
    story.rebalance()
    story.leave("w3")
    return story


def had_a_window(max_delay_ms: int, known: ConnectSettings) -> Story:
    """The leader has shown its maximum in one window; then another worker goes away."""
    story = lost_a_worker(max_delay_ms, known)
    story.rebalance()
    story.join("w4")
    story.rebalance(after_ms=2_000)
    story.rebalance(after_ms=max_delay_ms)
    story.rebalance()
    story.leave("w4")
    return story


def verdicts(story: Story) -> list[Verdict]:
    return [one.verdict for one in generations(story.fold())]


@pytest.mark.parametrize("max_delay_ms", [0, 8_000, 59_999, 300_000])
def test_another_delay_than_the_configured_one_is_unexplained(max_delay_ms: int) -> None:
    story = lost_a_worker(max_delay_ms)
    story.rebalance()
    verdict = verdicts(story)[2]
    assert verdict.grade is Grade.UNEXPLAINED
    assert f"{max_delay_ms} on w1:8083: then set max_delay_ms_by_worker" in verdict.why


@pytest.mark.parametrize("max_delay_ms", [0, 8_000, 59_999, 300_000])
def test_a_listed_worker_has_its_own(max_delay_ms: int) -> None:
    known = replace(CONFIGURED, max_delay_ms_by_worker={"w1:*": max_delay_ms, "w*": 7})
    story = lost_a_worker(max_delay_ms, known)
    story.rebalance()
    story.rebalance(after_ms=2_000)
    story.rebalance(after_ms=max_delay_ms)
    results = story.fold()
    assert [one.verdict.grade for one in generations(results)] == [Grade.MATCH] * 5
    assert not [one for one in incidents(results) if one.code in ("CONNECT-I11", "CONNECT-I13")]


def test_a_list_without_a_common_maximum_leaves_the_others_unknown() -> None:
    story = lost_a_worker(8_000, replace(NOT_KNOWN, max_delay_ms_by_worker={"w2:*": 1}))
    story.rebalance()
    assert verdicts(story)[2].reason == UNKNOWN_MAXIMUM


def test_a_maximum_configured_later_replaces_an_inferred_one() -> None:
    story = had_a_window(8_000, NOT_KNOWN)
    story.rebalance()
    rows, story.rows = story.rows, []
    state = fold_group(story.settings, "g", None, rows[:-1], None).state
    later = replace(story.settings, connect={"g": replace(NOT_KNOWN, max_delay_ms=8_001)})
    results = fold_group(later, "g", state, rows[-1:], None, end_of_input=True).results
    assert [one.verdict.grade for one in generations(results)] == [Grade.UNEXPLAINED]


@pytest.mark.parametrize("max_delay_ms", [8_000, 60_000, 300_000])
def test_it_excuses_no_mistake(max_delay_ms: int) -> None:
    story = lost_a_worker(max_delay_ms)
    story.rebalance()
    story.rebalance(after_ms=2_000)
    story.configure("c3", 3)
    story.rebalance(drop("w1", "c3-1"), after_ms=300_000)
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED


@pytest.mark.parametrize("known", [NOT_KNOWN, replace(CONFIGURED, max_delay_ms=8_000)], ids=["inferred", "configured"])
def test_the_next_window_of_the_same_process_is_a_match(known: ConnectSettings) -> None:
    story = had_a_window(8_000, known)
    story.rebalance()
    found = verdicts(story)
    assert [one.grade for one in found[3:]] == [Grade.MATCH] * 4
    assert found[2].reason == (UNKNOWN_MAXIMUM if known is NOT_KNOWN else None)


@pytest.mark.parametrize("known", [NOT_KNOWN, replace(CONFIGURED, max_delay_ms=8_000)], ids=["inferred", "configured"])
@pytest.mark.parametrize("delay_ms", [4_000, 7_999, 8_001, 16_000, 1])
def test_no_other_delay_is_one_of_a_process_that_has_shown_its_maximum(known: ConnectSettings, delay_ms: int) -> None:
    story = had_a_window(8_000, known)
    story.rebalance(everyone(delay_ms=delay_ms))
    assert verdicts(story)[-1].grade is Grade.UNEXPLAINED


@pytest.mark.parametrize("known", [NOT_KNOWN, replace(CONFIGURED, max_delay_ms=8_000)], ids=["inferred", "configured"])
def test_a_process_that_has_shown_its_maximum_skips_no_delay(known: ConnectSettings) -> None:
    story = had_a_window(8_000, known)
    lost = map(job_name, lost_jobs(story))
    story.rebalance(both(everyone(delay_ms=0), give("w1", *lost)))
    assert verdicts(story)[-1].grade is Grade.UNEXPLAINED


def lost_jobs(story: Story) -> list[ConnectorOrTask]:
    held = {one for worker in story.workers.values() for one in (*worker.held.connectors, *worker.held.tasks)}
    return sorted(jobs_of_counts(story.snapshots[-1]) - held, key=job_name)


def test_it_stays_known_after_an_answer_that_nothing_explains() -> None:
    story = had_a_window(8_000, NOT_KNOWN)
    story.rebalance(everyone(delay_ms=4_000))
    story.rebalance(after_ms=20_000)
    story.join("w5")
    story.rebalance()
    story.rebalance()
    story.leave("w5")
    story.rebalance(everyone(delay_ms=4_000))
    assert verdicts(story)[-1].grade is Grade.UNEXPLAINED


def test_a_back_off_shows_no_maximum() -> None:
    """A pause of 40 ms is that of every maximum above it: the first delay after a loss may be any other."""
    story = Story(max_delay_ms=8_000, known=NOT_KNOWN)
    story.configure("c1", 8)
    story.join("w1")
    story.rebalance()
    story.join("w2")
    story.rebalance()
    story.join("w3")
    given = story.rebalance()
    assert {one.delay_ms for one in given.values() if not isinstance(one, bytes)} == {40}
    for _ in range(4):
        story.rebalance()
    story.leave("w3")
    story.rebalance()
    story.rebalance(everyone(delay_ms=0), after_ms=9_000)
    found = verdicts(story)
    assert [one.reason for one in found].count(UNKNOWN_MAXIMUM) == 1
    assert Grade.UNEXPLAINED not in [one.grade for one in found]


def test_the_rest_of_a_delay_that_began_unseen_is_no_maximum() -> None:
    """The round that opened the window left no record; what is left of the delay must not count as the maximum."""
    story = lost_a_worker(60_000, NOT_KNOWN)
    story.rebalance(recorded=False)
    story.rebalance(after_ms=2_000)
    story.rebalance(after_ms=60_000)
    story.join("w5")
    story.rebalance()
    story.rebalance()
    story.leave("w5")
    story.rebalance()
    assert Grade.UNEXPLAINED not in [one.grade for one in verdicts(story)]
    story.rebalance(after_ms=61_000)
    story.leave("w2")
    story.rebalance(everyone(delay_ms=59_999))
    assert verdicts(story)[-1].grade is Grade.UNEXPLAINED


def test_a_connector_left_out_at_its_creation_is_no_matter_of_the_delay() -> None:
    """Another maximum and a snapshot one record behind are two causes: only one of them is tried at a time."""
    story = Story(known=NOT_KNOWN)
    story.configure("c1", 4)
    story.join("w1", "w2", "w3")
    story.rebalance()
    story.configure("c9")
    story.rebalance(drop("w2", "c9"))
    assert [one.reason for one in verdicts(story)] == [None, CONFIG_BEHIND]
