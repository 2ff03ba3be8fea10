"""Groups that live through everything that is allowed: nobody is accused, whether brokers tell the topics or not."""

import pytest

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.topics import TopicSample
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Grade, Result, Severity
from tests.profile import size
from tests.streaming.core.consumers_alive import Alive
from tests.streaming.core.rules.builders import GROUP, generations, incidents
from tests.streaming.folded_group import FoldedGroup

SEEDS = range(size(4, 60))
STEPS = 14
READ_AFTER_MS = 60


def read(alive: Alive, *, told: bool) -> list[Result]:
    """As a job reads along, record by record. `told`: brokers answer."""
    events: list[tuple[int, int, Row | TopicSample]] = [(row.timestamp_ms, 1, row) for row in alive.story.rows]
    events += [(one.asked_ms, 0, one) for one in alive.samples] if told else []
    group = FoldedGroup(alive.story.settings, GROUP, Knowledge(asked=told))
    for at_ms, _, event in sorted(events, key=lambda one: one[:2]):
        if isinstance(event, TopicSample):
            group.knowledge = Knowledge(asked=told, topics=group.knowledge.topics.with_sample(event))
        group.fold([event] if isinstance(event, Row) else [], at_ms + READ_AFTER_MS)
    group.fold(now_ms=alive.story.now_ms + 900_000)
    return group.results


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("assignor", sorted(ASSIGNORS))
def test_a_group_that_does_nothing_wrong_is_not_accused(assignor: str, seed: int) -> None:
    alive = Alive(seed, assignor).live(STEPS)
    for told in (True, False):
        results = read(alive, told=told)
        last = {one.source: one.verdict for one in generations(results)}
        assert not [one for one in last.values() if one.grade is Grade.UNEXPLAINED]
        assert not [one for one in incidents(results) if one.severity is not Severity.INFO]
        if told:
            assert any(one.grade is Grade.MATCH for one in last.values())
