"""Reads a topic with brokers' logs, with a consumer of its own that is only ever assigned to."""

import time
from collections.abc import Mapping
from typing import Any

from rebalance_monitor.streaming.config.amazon import connecting
from rebalance_monitor.streaming.polling.admin import connection_broke
from .coordinator_topic import LogRecord, LogRecords
from .reading import ASSIGNED_ONLY

READ_S = 1.0
"""So long a reading waits for more records."""
RECORD_BYTES = 100
"""About what a record takes beside its value."""


class KafkaLogTopic:
    """A real topic; used by one thread."""

    def __init__(self, topic: str, client: Mapping[str, str]) -> None:
        self._topic, self._client = topic, client
        self._consumer: Any = None

    def begin(self, offsets: Mapping[int, int]) -> None:
        """With a new client: what the one before remembers of the topic may be of its life before."""
        from confluent_kafka import Consumer, TopicPartition

        self.close()
        settings = {
            **self._client,
            **ASSIGNED_ONLY,
            "client.id": "rebalance-monitor-coordinator-log",
            # Also what a transaction that was aborted has written was logged by a broker.
            "isolation.level": "read_uncommitted",
            "queued.max.messages.kbytes": "4096",
            "fetch.max.bytes": "4194304",
            "error_cb": connection_broke,
        }
        self._consumer = Consumer(connecting(settings))
        self._consumer.assign([TopicPartition(self._topic, *at) for at in offsets.items()])

    def read(self, most_bytes: int) -> LogRecords:
        from confluent_kafka import KafkaError

        records: list[LogRecord] = []
        size, until_s = 0, time.monotonic() + READ_S
        while size < most_bytes and (left_s := until_s - time.monotonic()) > 0:
            message = self._consumer.poll(left_s)
            if message is None:
                break
            place = message.partition(), message.offset()
            if (error := message.error()) is None:
                value = message.value()
                records.append(LogRecord(*place, value))
                size += RECORD_BYTES + len(value or b"")
            elif error.code() == KafkaError._PARTITION_EOF:
                # Before the end there may be markers of transactions, which never come.
                records.append(LogRecord(place[0], place[1] - 1, None))
            elif error.code() in (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET):
                return LogRecords(records, lost=True)
            elif message.topic() == self._topic:
                return LogRecords(records, problem=str(error.str()))
        return LogRecords(records)

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
