"""Real groups whose members run several releases of Kafka's client, while topics and brokers come and go.

Their leaders do not know of every topic, know racks of some brokers only, or keep partitions that exist no more. What
such a leader answers is right in its own release, whichever that is.
"""

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS
from rebalance_monitor.streaming.core.consumer.verdict import judge
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.replay import Replayed, decode, replay
from tests.vector_files import GROUP_CAPTURES

CAPTURE = GROUP_CAPTURES / "java-releases"


@cache
def replayed() -> Replayed:
    return replay(records_of(CAPTURE), settings_of(CAPTURE), knowledge=knowledge_of(CAPTURE))


def told(kind: str) -> list[dict[str, Any]]:
    return [one for one in replayed().objects if one["kind"] == kind]


def test_every_generation_is_judged_and_explained() -> None:
    grades = Counter(one["verdict"]["grade"] for one in told("generation"))
    assert grades.keys() == {Grade.MATCH, Grade.EXPLAINABLE}, grades
    assert grades[Grade.MATCH] / grades.total() > 0.85


def test_racks_that_the_leader_does_not_know_explain_every_answer_as_long_as_it_does_not_ask_again() -> None:
    """It had asked while a broker was down, and asked no more; meanwhile a topic was made anew elsewhere."""
    grades = {one["generation"]: one["verdict"]["grade"] for one in told("generation") if one["group"] == "rack-sticky"}
    assert {grades[number] for number in range(21, 27)} == {Grade.EXPLAINABLE}


def test_two_owners_are_two_members() -> None:
    """A leader that keeps partitions which exist no more may give others twice: to two members, or twice to one. The
    client of that one has the partition once, so there is no harm."""
    found = [one for one in told("violation") if one["severity"] != "info"]
    assert [(one["group"], one["code"]) for one in found] == [("sticky-diff", "CONSUMER-C13")]
    assert found[0]["message"].startswith("t0-0, t0-1, t0-4 given to sticky-diff-m294-")


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_partition_that_one_member_has_twice_is_no_other_order(assignor: str) -> None:
    history, settings = knowledge_of(CAPTURE).topics, settings_of(CAPTURE)
    grades: Counter[Grade] = Counter()
    for record in records_of(CAPTURE):
        row = decode(record, settings)
        body = None if row is None else row.body
        if not isinstance(body, GroupGeneration) or body.protocol != assignor:
            continue
        for at, member in enumerate(body.members):
            given = member.assignment
            if isinstance(given, ConsumerAssignment) and given.partitions and given.version == 3:
                twice = replace(member, assignment=replace(given, partitions=(*given.partitions, given.partitions[0])))
                members = (*body.members[:at], twice, *body.members[at + 1 :])
                changed = replace(body, members=members)
                grades[judge(settings, history, changed, record.timestamp_ms, first=False).grade] += 1
                break
    assert grades.keys() <= {Grade.UNEXPLAINED, Grade.NOT_JUDGED}
