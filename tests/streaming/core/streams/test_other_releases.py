"""A configured release that the leader does not run, as in every rolling upgrade: the leader is not accused."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from lab.attack.streams_answers import mutants
from lab.attack.streams_vectors import VECTORS, Captured, captured
from rebalance_monitor.assignors.streams.eras import release_of
from rebalance_monitor.assignors.streams.members import newest_version
from rebalance_monitor.schemas.streams_tasks import NEWEST_VERSION, UNKNOWN_VERSION
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Grade, Result, Verdict
from rebalance_monitor.streaming.core.streams.catalogue import ERROR_ASSIGNMENT
from rebalance_monitor.streaming.core.streams.hypotheses import contradicted, releases
from rebalance_monitor.streaming.core.streams.members import UnreadableThread, threads_of
from rebalance_monitor.streaming.core.streams.observed import ObservedRecord, observed
from rebalance_monitor.streaming.core.streams.topology import learnt
from tests.profile import size
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.rules.cases_streams_record import KNOWN
from tests.streaming.core.rules.streams import Thread, group, of_release
from tests.streaming.core.test_mutants import violations

UPGRADES = tuple(captured(VECTORS / "streams-upgrades.jsonl.gz"))
BOTH = [
    (case, release) for case in UPGRADES for release in (("2.8.2", "3.9.1"), ("3.1.2", "4.3.1"))[case.name == "su0002"]
]


def told(case: Captured, release: str) -> Captured:
    """The case, configured with this release."""
    known = replace(case.settings.streams[case.group], release=release)
    return replace(case, settings=replace(case.settings, streams={case.group: known}))


def latest_of_leader(row: Row) -> int:
    """The newest version that the leader says it reads."""
    assert isinstance(row.body, GroupGeneration)
    threads = threads_of(row.body)
    assert not isinstance(threads, UnreadableThread)
    return next(one for one in threads if one.id == row.body.leader).said.latest_supported


def verdict_of(results: Sequence[Result]) -> Verdict:
    (generation,) = generations(results)
    return generation.verdict


def each(pairs: Sequence[tuple[Captured, str]]) -> list[str]:
    return [f"{case.name}-{release}" for case, release in pairs]


@pytest.mark.parametrize(("case", "release"), BOTH, ids=each(BOTH))
@pytest.mark.parametrize("sampled", [True, False], ids=["sampled", "alone"])
def test_a_leader_of_the_other_release_of_an_upgrade_is_not_accused(
    case: Captured, release: str, sampled: bool
) -> None:
    """Half of the application is upgraded, and the configuration states the old release, or the new one already."""
    case = told(case, release) if sampled else replace(told(case, release), knowledge=Knowledge())
    leads: Counter[bool] = Counter()
    for row, results in case.judged():
        verdict = verdict_of(results)
        own = latest_of_leader(row) == newest_version(release_of(release))
        leads[own] += 1
        assert verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE), (row.offset, verdict.why)
        assert violations(results) == set()
        other = verdict.reason is not None and verdict.reason.kind is ReasonKind.OTHER_RELEASE
        assert other is not own, (row.offset, verdict.why)
        assert own or verdict.why.startswith(f"the leader runs another release than the configured {release}")
    assert set(leads) == {True, False}


@pytest.mark.parametrize(("case", "release"), BOTH, ids=each(BOTH))
def test_a_wrong_answer_of_a_leader_of_the_other_release_is_noticed(case: Captured, release: str) -> None:
    case, state = told(case, release), None
    came: Counter[bool] = Counter()
    for row in case.rows:
        right = fold_group(case.settings, case.group, state, [row], None, knowledge=case.knowledge)
        assert isinstance(row.body, GroupGeneration)
        if latest_of_leader(row) != newest_version(release_of(release)):
            for _, wrong in mutants(row.body, random.Random(case.name)):
                made = [replace(row, body=wrong)]
                results = fold_group(case.settings, case.group, state, made, None, knowledge=case.knowledge).results
                verdict = verdict_of(results)
                accused = verdict.grade is Grade.UNEXPLAINED or violations(results) - violations(right.results)
                came[bool(accused)] += 1
        state = right.state
    assert came[True] > 9 * came[False]
    assert came[True] >= 10


@pytest.mark.parametrize("release", ["2.6.3", "2.8.2", "3.3.2", "3.5.1", "4.3.1"])
def test_no_answer_of_kafkas_own_leaders_is_accused_under_another_release(release: str) -> None:
    """Their payload may exclude the configured release or not. Of a leader with an `upgrade.from` of up to 1.1, which
    tells no version, the configured release is believed."""
    cases = [case for case in captured() if all(map(tells, case.rows))]
    reasons: Counter[ReasonKind | None] = Counter()
    for case in cases[:: size(2, 1)]:
        for row, results in told(case, release).judged():
            verdict = verdict_of(results)
            assert verdict.grade is not Grade.UNEXPLAINED, (case.name, row.offset, verdict.why)
            assert {code for code, _, _ in violations(results)} <= {ERROR_ASSIGNMENT.code}, (case.name, row.offset)
            reasons[None if verdict.reason is None else verdict.reason.kind] += 1
    assert reasons[ReasonKind.OTHER_RELEASE] > 10


def tells(row: Row) -> bool:
    return latest_of_leader(row) != UNKNOWN_VERSION


def seen_by(release: str, version: int | None = None) -> ObservedRecord:
    """A leader of this release, or one that says this newest version: none under `upgrade.from`."""
    threads = of_release(release, (Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1")))
    if version is not None:
        threads = tuple(replace(one, latest=version, version=min(max(version, 1), NEWEST_VERSION)) for one in threads)
    body = group(threads).rows[-1].body
    assert isinstance(body, GroupGeneration)
    read = threads_of(body)
    assert not isinstance(read, UnreadableThread)
    return observed("app", body.leader, read, learnt((), read))


@pytest.mark.parametrize(
    ("configured", "leader", "believed"),
    [
        ("4.3.1", "4.3.1", True),
        ("3.5.1", "4.3.1", True),  # the payloads of both are the same
        ("3.1.2", "4.3.1", False),
        ("4.3.1", "3.1.2", False),
        ("2.6", "2.6.0", True),
        ("2.6", "2.6.3", True),
        ("2.6.0", "2.6.3", False),
        ("2.7.2", "2.6.3", True),
    ],
)
def test_a_release_is_believed_of_a_leader_that_says_its_version(configured: str, leader: str, believed: bool) -> None:
    known, record = replace(KNOWN, release=configured), seen_by(leader)
    assert contradicted(known, record) is not believed
    found = releases(known, record)
    assert (len(found) == 1 and found[0][: len(release_of(configured))] == release_of(configured)) is believed
    assert {newest_version(one) for one in found} == {newest_version(release_of(leader))}


@pytest.mark.parametrize(("version", "configured"), [(UNKNOWN_VERSION, "3.9.1"), (NEWEST_VERSION + 1, "4.3.1")])
def test_a_version_that_tells_no_release_contradicts_none(version: int, configured: str) -> None:
    known = replace(KNOWN, release=configured)
    assert not contradicted(known, seen_by(configured, version))
    assert releases(known, seen_by(configured, version)) == (release_of(configured),)
