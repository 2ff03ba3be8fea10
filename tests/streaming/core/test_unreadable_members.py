"""A member whose bytes cannot be read still runs what it had: nobody is accused of what only we do not see."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.connect.observed import worker_of
from rebalance_monitor.streaming.core.model.records import BadBlob, GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.results import Grade, Severity
from tests.streaming.core.rules.builders import Story, generations, incidents
from tests.streaming.core.rules.cases_across import DELAY_MS, MINUTE_MS, calm, departure
from tests.streaming.core.rules.edits import give

EMPTY, CUT = BadBlob("empty"), BadBlob("truncated")


def spoilt(story: Story, name: str, change: Callable[[MemberRow], MemberRow]) -> Story:
    """This worker's bytes in the last record are others."""
    last = story.rows[-1]
    assert isinstance(last.body, GroupGeneration)
    wanted = story.workers[name].member_id
    members = tuple(change(one) if one.member_id == wanted else one for one in last.body.members)
    story.rows[-1] = replace(last, body=replace(last.body, members=members))
    return story


def unread_subscription(member: MemberRow) -> MemberRow:
    return replace(member, subscription=CUT, subscription_bytes=b"\x00")


def unread_assignment(member: MemberRow) -> MemberRow:
    return replace(member, assignment=CUT, assignment_bytes=b"\x00")


def unread_both(member: MemberRow) -> MemberRow:
    return unread_subscription(unread_assignment(member))


def empty_both(member: MemberRow) -> MemberRow:
    return replace(member, subscription=EMPTY, assignment=EMPTY, subscription_bytes=b"", assignment_bytes=b"")


UNREAD = [unread_subscription, unread_assignment, unread_both, empty_both]


def codes(story: Story) -> set[str]:
    return {one.code for one in incidents(story.fold()) if one.severity is not Severity.INFO} - {"CONNECT-I12"}


@pytest.mark.parametrize("change", UNREAD)
def test_what_a_member_had_is_not_without_holder(change: Callable[[MemberRow], MemberRow]) -> None:
    story = calm()
    spoilt(story, "w2", change).until(20 * MINUTE_MS)
    assert not codes(story)
    story.rebalance(after_ms=20 * MINUTE_MS)
    assert not codes(story)


@pytest.mark.parametrize("change", UNREAD)
def test_what_was_taken_away_may_be_what_the_member_was_given(change: Callable[[MemberRow], MemberRow]) -> None:
    story = calm()
    story.join("w3")
    story.rebalance()
    story.rebalance()
    spoilt(story, "w3", change)
    story.rebalance(after_ms=60_000)
    assert not codes(story.until(20 * MINUTE_MS))


@pytest.mark.parametrize("change", UNREAD)
@pytest.mark.parametrize("name", ["w1", "w2"])
def test_what_waited_for_the_delay_may_be_what_the_member_was_given(
    change: Callable[[MemberRow], MemberRow], name: str
) -> None:
    story = departure()
    story.rebalance(after_ms=DELAY_MS + 50)
    spoilt(story, name, change)
    assert not codes(story.until(20 * MINUTE_MS))


@pytest.mark.parametrize("change", UNREAD)
def test_a_run_of_what_a_member_had_is_no_stray(change: Callable[[MemberRow], MemberRow]) -> None:
    story = calm()
    story.rebalance()
    spoilt(story, "w2", change)
    story.wait(5_000)
    for name in sorted(story.workers["w2"].holds()):
        story.status(name, "RUNNING", "w2")
    for name in sorted(story.workers["w1"].holds()):
        story.status(name, "RUNNING", "w1")
    assert not codes(story.until(20 * MINUTE_MS))


def test_a_member_that_is_still_joining_is_no_violation_and_its_round_is_not_judged() -> None:
    story = calm()
    story.join("w3")
    story.rebalance()
    spoilt(story, "w3", empty_both)
    results = story.fold()
    assert generations(results)[-1].verdict.grade is Grade.NOT_JUDGED
    assert "connect-w3" in generations(results)[-1].verdict.why
    assert not incidents(results, "CONNECT-I12")


def test_a_member_that_the_leader_left_out_is_one() -> None:
    story = calm()
    story.rebalance()
    spoilt(story, "w2", lambda one: replace(one, assignment=EMPTY, assignment_bytes=b""))
    assert [one.code for one in incidents(story.fold(), "CONNECT-I12")] == ["CONNECT-I12"]


@pytest.mark.parametrize("change", UNREAD)
@pytest.mark.parametrize("protocol", ["default", "sessioned"])
def test_a_job_of_an_unreadable_member_that_another_is_given_proves_no_second_run(
    change: Callable[[MemberRow], MemberRow], protocol: str
) -> None:
    """What it had in the record before is not what it reports now: it may have given up its jobs."""
    story = Story(protocol)
    story.configure("c1", 4)
    story.join("w1", "w2")
    story.rebalance()
    story.rebalance()
    theirs = sorted(story.workers["w2"].holds())
    assert theirs
    story.rebalance(give("w1", *theirs))
    spoilt(story, "w2", change)
    story.rebalance()
    found = incidents(story.fold())
    assert not {"CONNECT-I3"} & {one.code for one in found}


@pytest.mark.parametrize("url", ["http://[fe80::1:8083/", "http://wor\u2100ker:8083/", "", "\x00"])
def test_an_address_that_is_no_url_is_a_name_like_any(url: str) -> None:
    assert worker_of(url) == url
