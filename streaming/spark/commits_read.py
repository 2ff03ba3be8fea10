"""What batches read of groups' commits, as `polling.logged_offsets` takes it."""

from collections.abc import Iterable, Mapping

from rebalance_monitor.streaming.core.ports import PartitionKey
from rebalance_monitor.streaming.core.reading.last_commits import NO_COMMITS
from rebalance_monitor.streaming.polling.logged_offsets import ReadOfLog
from .bundle import FoldedBundle


def read_of_log(done: Iterable[FoldedBundle], topic: str) -> dict[int, ReadOfLog]:
    """Of each partition of the log what these bundles read. Where nobody looked for commits, it is not whole."""
    read: dict[int, ReadOfLog] = {}
    for one in done:
        for key, reached in one.reached.items():
            if key.topic == topic:
                told = one.commits.get(key, NO_COMMITS._replace(readable=False))
                whole = told.readable and not reached.holes and reached.end >= reached.planned
                read[key.partition] = ReadOfLog(reached.end, whole, told.groups)
    return read


def logged_ends(positions: Mapping[PartitionKey, int], topic: str) -> dict[int, int]:
    """Where reading goes on in each partition of the log. A life of the topic that is over has ended."""
    own = {key: at for key, at in positions.items() if key.topic == topic}
    latest = next((key.topic_id for key in reversed(own)), "")
    return {key.partition: at for key, at in own.items() if key.topic_id == latest}
