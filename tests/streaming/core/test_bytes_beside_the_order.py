"""Another order inside the arrays is explainable; bytes that differ in any other way are not."""

from collections.abc import Callable

import pytest

from rebalance_monitor.assignors.connect.wire_entries import Entries, wire_entries_assigned
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, encode_assignment
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from tests.streaming.core.rules.builders import Story, generations
from tests.streaming.core.rules.processes import JAVA, Given, encoded

PROTOCOLS = ["default", "compatible", "sessioned"]
Bytes = Callable[[ConnectAssignment], bytes]


def entries(answer: ConnectAssignment) -> Entries:
    return wire_entries_assigned(answer.connectors, answer.tasks, JAVA)


def verdict_on(protocol: str, write: Bytes) -> Verdict:
    """Of a round that gives one worker three connectors with three tasks, its bytes written so."""
    story = Story(protocol)
    for name in ("c1", "c2", "c3"):
        story.configure(name, 3)
    story.join("w1")

    def change(given: Given) -> None:
        answer = given["w1"]
        assert isinstance(answer, ConnectAssignment)
        given["w1"] = write(answer)

    story.rebalance(change)
    return generations(story.fold())[-1].verdict


def reordered(answer: ConnectAssignment) -> bytes:
    return encode_assignment(answer, tuple(reversed(tuple(entries(answer)))))


def split(answer: ConnectAssignment) -> bytes:
    """The first connector in two entries."""
    (name, (first, *rest)), *others = entries(answer)
    return encode_assignment(answer, ((name, (first,)), (name, tuple(rest)), *others))


def listed_twice(answer: ConnectAssignment) -> bytes:
    (name, numbers), *others = entries(answer)
    return encode_assignment(answer, ((name, (*numbers, numbers[-1])), *others))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_bytes_as_they_are_match(protocol: str) -> None:
    assert verdict_on(protocol, encoded).grade is Grade.MATCH


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_another_order_is_explained_as_that(protocol: str) -> None:
    verdict = verdict_on(protocol, reordered)
    assert (verdict.grade, verdict.why) == (Grade.EXPLAINABLE, "order inside the arrays")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("write", "why"),
    [
        (lambda answer: encoded(answer) + bytes(8), "8 bytes more than a leader writes for them"),
        (lambda answer: reordered(answer) + bytes(8), "8 bytes more than a leader writes for them"),
        (split, "more than a leader writes for them"),
        (listed_twice, "a task listed more often than expected"),
    ],
    ids=["stray bytes", "stray bytes behind another order", "a connector in two entries", "a task listed twice"],
)
def test_bytes_that_differ_otherwise_are_not_the_order(protocol: str, write: Bytes, why: str) -> None:
    verdict = verdict_on(protocol, write)
    assert verdict.grade is Grade.UNEXPLAINED
    assert why in verdict.why


@pytest.mark.parametrize("protocol", ["compatible", "sessioned"])
def test_one_stray_byte_is_not_the_order(protocol: str) -> None:
    """Readers of V1 and V2 pass over what stands behind the last field."""
    verdict = verdict_on(protocol, lambda answer: encoded(answer) + b"\0")
    assert verdict.grade is Grade.UNEXPLAINED
    assert "1 byte more than a leader writes for them" in verdict.why
