"""How the topics are read."""

from typing import Annotated

from pydantic import Field

from rebalance_monitor.streaming.config.kafka import TopicName
from rebalance_monitor.streaming.config.section import Milliseconds, Section


class SourceSection(Section):
    """Limits and intervals of the reader. The byte limit protects the brokers while the job catches up."""

    offsets_topic: TopicName = "__consumer_offsets"
    max_bytes_per_second_per_broker: Annotated[int, Field(gt=0)] = 10_000_000
    heartbeat_ms: Milliseconds = 10_000
    poll_max_ms: Milliseconds = 500
    read_timeout_ms: Milliseconds = 10_000
