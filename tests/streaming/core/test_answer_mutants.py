"""Answers of real consumer leaders, each with one partition given once more: the laws that need no counts see it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.consumer.answer import Answer, answer_of
from rebalance_monitor.streaming.core.consumer.answer_laws import ANSWER_LAWS
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Evidence
from rebalance_monitor.streaming.core.replay import decode
from tests.vector_files import GROUP_CAPTURES

HERE = Evidence(text="here")


def generations(name: str) -> Iterator[GroupGeneration]:
    settings = settings_of(GROUP_CAPTURES / name)
    for record in records_of(GROUP_CAPTURES / name):
        row = decode(record, settings)
        if row is not None and isinstance(row.body, GroupGeneration) and len(row.body.members) > 1:
            yield row.body


def found(answer: Answer | None) -> set[str]:
    assert answer is not None
    return {one.rule.code for law in ANSWER_LAWS for one in law.broken(answer)}


def given_twice(body: GroupGeneration) -> Iterator[tuple[str, GroupGeneration]]:
    """Each member's first partition given to the next member too, and the code that must be found beside C-13."""
    for at, giver in enumerate(body.members):
        number = (at + 1) % len(body.members)
        taker = body.members[number]
        if not isinstance(giver.assignment, ConsumerAssignment) or not giver.assignment.partitions:
            continue
        assert isinstance(taker.assignment, ConsumerAssignment)
        assert isinstance(taker.subscription, ConsumerSubscription)
        more = giver.assignment.partitions[0]
        changed = replace(taker.assignment, partitions=(*taker.assignment.partitions, more))
        members = list(body.members)
        members[number] = replace(taker, assignment=changed)
        beside = "" if more[0] in taker.subscription.topics else "CONSUMER-C02"
        yield beside, replace(body, members=tuple(members))


@pytest.mark.parametrize("name", ["java-classic", "python-clients", "foreign-clients"])
def test_a_partition_that_is_given_twice_is_seen(name: str) -> None:
    tried = 0
    for body in generations(name):
        if answer_of("g", body, {}, HERE, {}) is None:
            continue
        for beside, mutant in given_twice(body):
            codes = found(answer_of("g", mutant, {}, HERE, {}))
            assert {"CONSUMER-C13", *([beside] if beside else [])} <= codes
            tried += 1
    assert tried > 50
