"""Error codes in place of tasks: what a leader can have answered, and what people are told."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.model.details import StreamsDetail
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.results import Generation, Grade
from rebalance_monitor.streaming.core.model.settings import NOTHING_SAID, StreamsSettings
from tests.streaming.core.rules.builders import Story, generations, incidents
from tests.streaming.core.rules.cases_streams_record import KNOWN, OWN
from tests.streaming.core.rules.streams import Thread, group

BEFORE = (Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1"))
SHUTDOWN = (Thread(id="a1", owned="0_0", told_error=4), Thread(id="b1", owned="0_1", error=4, told_error=4))
TOLD_TASKS = (Thread(id="a1", owned="0_0", active="0_0"), Thread(id="b1", owned="0_1", active="0_1", error=4))
BESIDE_TASKS = (Thread(id="a1", told_error=4, error=4), Thread(id="b1", owned="0_1", active="0_1", told_error=4))
UNASKED = tuple(replace(one, error=0) for one in SHUTDOWN)


def last(threads: tuple[Thread, ...], known: StreamsSettings | None = KNOWN) -> Generation:
    return generations(group(BEFORE, threads, known=known).fold())[-1]


@pytest.mark.parametrize("known", [KNOWN, NOTHING_SAID, OWN], ids=["known", "nothing said", "own assignor"])
def test_a_shutdown_that_a_member_asked_for_is_right_whatever_is_known(known: StreamsSettings) -> None:
    generation = last(SHUTDOWN, known)
    assert (generation.verdict.grade, generation.verdict.why) == (Grade.MATCH, "")


@pytest.mark.parametrize("known", [KNOWN, NOTHING_SAID, OWN], ids=["known", "nothing said", "own assignor"])
@pytest.mark.parametrize("threads", [UNASKED, TOLD_TASKS, BESIDE_TASKS], ids=["unasked", "ignored", "beside tasks"])
def test_no_leader_answers_so(threads: tuple[Thread, ...], known: StreamsSettings) -> None:
    verdict = last(threads, known).verdict
    assert verdict.grade is Grade.UNEXPLAINED
    assert verdict.reason is not None
    assert verdict.reason.kind is ReasonKind.OTHER_ANSWER


def test_a_code_of_no_leader_is_unexplained() -> None:
    assert last((Thread(id="a1", told_error=5), Thread(id="b1", told_error=5))).verdict.grade is Grade.UNEXPLAINED


def test_a_code_for_some_members_alone_is_unexplained() -> None:
    threads = (Thread(id="a1", owned="0_0", active="0_0"), Thread(id="b1", owned="0_1", told_error=3))
    assert last(threads).verdict.grade is Grade.UNEXPLAINED


def test_why_an_assignment_failed_no_record_tells() -> None:
    verdict = last((Thread(id="a1", told_error=3), Thread(id="b1", told_error=3))).verdict
    assert (verdict.grade, verdict.reason and verdict.reason.kind) == (Grade.NOT_JUDGED, ReasonKind.CANNOT_RUN)


def test_what_members_left_on_disk_makes_no_excuse() -> None:
    """A directory of another topology may change where tasks go, but nobody asked for a shutdown."""
    first = (Thread(id="a1", active="1_0", sums="7_0:5"), Thread(id="b1", active="1_1"))
    unasked = (Thread(id="a1", told_error=4, sums="7_0:5"), Thread(id="b1", told_error=4))
    assert generations(group(first, unasked, known=KNOWN).fold())[-1].verdict.grade is Grade.UNEXPLAINED


def test_nothing_is_withheld_where_everybody_is_given_an_error() -> None:
    detail = last(SHUTDOWN).detail
    assert isinstance(detail, StreamsDetail)
    assert detail.withheld == ()


def test_who_asked_is_told_at_once_and_no_bug_is_named() -> None:
    found = incidents(group(BEFORE, SHUTDOWN, known=KNOWN).fold())
    assert {one.code for one in found} == {"STREAMS-S26"}
    opened, fired = found
    assert (opened.transition, fired.transition) == ("opened", "fired")
    assert opened.message == "the leader ordered the shutdown of the whole application: b1 (10.0.0.1) asked for it"


def test_tasks_again_end_it() -> None:
    story: Story = group(BEFORE, SHUTDOWN, BEFORE, known=KNOWN)
    assert incidents(story.fold())[-1].transition == "resolved"
