"""The epoch of the leader that took a record is that of its batch: after a later election, too."""

import pytest

from rebalance_monitor.streaming.spark.ends import KafkaView
from rebalance_monitor.streaming.spark.offsets import SourcePartition, Span
from rebalance_monitor.streaming.spark.reading import Reading, read_spans
from tests.integration.watched import Watched

pytestmark = pytest.mark.integration
LOG, GROUP = "__consumer_offsets", "moved"


def epochs(address: str) -> list[tuple[int, int | None]]:
    """Offset and leader epoch of each generation of the group, in order."""
    client = {"bootstrap.servers": address}
    places = tuple((LOG, number) for number in range(5))
    reading = Reading("kafka", client, 30_000, {LOG: "offsets"})
    ends = KafkaView(client).ends(places, False)
    spans = [Span(SourcePartition(LOG, "id", at[1]), 0, end) for at, end in ends.items() if end is not None]
    rows = read_spans(reading, spans).rows
    generations = [row for row in rows if row.group == GROUP and row.kind == "GroupGeneration"]
    assert len({row.partition for row in generations}) == 1
    judged = [one for row in generations if (one := row.row()) is not None]
    assert [one.leader_epoch for one in judged] == [row.leader_epoch for row in generations]
    return [(row.offset, row.leader_epoch) for row in generations]


def test_a_restarted_broker_leads_by_a_later_epoch(watched: Watched) -> None:
    watched.rebalance(GROUP)
    before = epochs(watched.broker.address)
    watched.broker.child.kill()
    watched.start_broker()
    assert epochs(watched.broker.address)[: len(before)] == before
    watched.rebalance(GROUP)
    after = epochs(watched.broker.address)
    assert after[: len(before)] == before
    ((was,), (now,)) = ({epoch for _, epoch in some} for some in (before, after[len(before) :]))
    assert was is not None
    assert now is not None
    assert now > was
