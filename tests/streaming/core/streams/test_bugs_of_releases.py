"""Findings name a Kafka bug only where the leader's release can have it."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.streams import bugs
from rebalance_monitor.streaming.core.streams.bugs import Bug
from rebalance_monitor.streaming.core.streams.rules import RULES
from tests.streaming.core.rules.builders import incidents
from tests.streaming.core.rules.cases_streams_record import KNOWN
from tests.streaming.core.rules.streams import Thread, group, of_release

TABLE = tuple(one for one in vars(bugs).values() if isinstance(one, Bug))


def test_every_bug_that_a_rule_names_is_in_the_table() -> None:
    named = {issue for rule in RULES for issue in rule.issues}
    assert named == {bug.issue for bug in TABLE}
    assert all(not rule.issues_fit for rule in RULES if rule.issues)


@pytest.mark.parametrize("bug", TABLE, ids=lambda bug: bug.issue)
def test_a_bug_is_in_its_releases_alone(bug: Bug) -> None:
    assert bug.is_in(bug.since)
    assert list(bug.fixed) == sorted(bug.fixed)
    for first in bug.fixed:
        assert not bug.is_in(first)
        assert not bug.is_in((*first[:2], 9))
    assert not bug.is_in((4, 3, 1))


def test_a_line_that_was_mended_earlier_does_not_mend_the_next() -> None:
    lines = ((2, 6), (2, 6, 1), (2, 7), (3, 0))
    assert [one for one in lines if bugs.IGNORED_REJOINS.is_in(one)] == [(2, 6)]
    older = ((2, 2, 1), (2, 2, 2), (2, 3), (2, 3, 1))
    assert [one for one in older if bugs.TASKS_OF_A_MATE.is_in(one)] == [(2, 2, 1), (2, 3)]
    assert bugs.TASKS_OF_A_MATE.may_be_in(())


@pytest.mark.parametrize(("release", "named"), [("2.4.1", True), ("2.5.1", True), ("2.6.0", False), ("4.3.1", False)])
def test_host_maps_that_lack_a_static_members_endpoint(release: str, named: bool) -> None:
    threads = [
        Thread(id="a1", active="0_0", end_point="h:1", instance="a"),
        Thread(id="b1", active="0_1", end_point="h:2", instance="b"),
    ]
    told = [replace(one, hosts={"h:1": "0_0"}) for one in threads]
    known = replace(KNOWN, release=release)
    (found,) = incidents(group(of_release(release, told), known=known).fold(), "STREAMS-S23")
    assert "lack h:2" in found.message
    assert ("KAFKA-9568" in found.message) is named


def test_one_endpoint_for_two_processes_is_no_bug_of_kafka() -> None:
    threads = (Thread(id="a1", active="0_0", end_point="h:1"), Thread(id="b1", active="0_1", end_point="h:1"))
    for release in ("3.4.1", None):
        (found,) = incidents(group(threads, known=replace(KNOWN, release=release)).fold(), "STREAMS-S23")
        assert "KAFKA" not in found.message
