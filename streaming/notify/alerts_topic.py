"""A topic of Kafka as receiver: the webhook's object as value, the notification's key as the record's key.

The producer is idempotent and waits for all replicas, so only a kill between send and mark, or a time-out whose record
arrived after all, repeats a record; the key stays the same, and a compacted topic keeps one.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from rebalance_monitor.streaming.config.amazon import connecting
from rebalance_monitor.streaming.config.java_properties import refused_because
from rebalance_monitor.streaming.core.runbooks import Addresses
from rebalance_monitor.streaming.store.database import Connection
from rebalance_monitor.streaming.store.outbox import Notification
from .delivery import NeverAccepted, NotAccepted
from .webhook import message

SEND_WITHIN_S = 20.0
_SILENT = logging.getLogger("rebalance_monitor.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
_OWN = {
    "acks": "all",
    "enable.idempotence": "true",
    "message.timeout.ms": str(int(SEND_WITHIN_S * 1000) - 5_000),
    "linger.ms": "0",
    "log.connection.close": "false",
}


class ProducerRefused(Exception):
    """librdkafka does not accept a property; the text says which."""


class AlertsTopic:
    """Implements `delivery.Receiver`. The producer is made anew after a fatal error. ProducerRefused by librdkafka."""

    joins = True

    def __init__(self, topic: str, client: Mapping[str, str], addresses: Addresses | None = None) -> None:
        self.name = f"kafka:{topic}"
        self._topic, self._client, self._addresses = topic, {**client, **_OWN}, addresses or Addresses()
        try:
            self._producer: Producer | None = self._made()
        except ImportError as why:
            raise ProducerRefused(str(why)) from None
        except KafkaException as why:
            raise ProducerRefused(refused_because(client, why.args[0].str())) from None

    def send(self, waiting: Notification) -> None:
        """Produces one record and waits until every replica has it."""
        outcome: list[KafkaError | None] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            outcome.append(error)

        try:
            if self._producer is None:
                self._producer = self._made()
            body = json.dumps(message(waiting, self._addresses), ensure_ascii=True, separators=(",", ":")).encode()
            self._producer.produce(self._topic, key=waiting.key.encode(), value=body, on_delivery=delivered)
            self._producer.flush(SEND_WITHIN_S)
        except (KafkaException, BufferError, SystemError) as why:
            raise self._failed(_error_of(why)) from None
        if not outcome:
            self._forget()
            raise NotAccepted(f"no answer within {SEND_WITHIN_S:.0f} s")
        if outcome[0] is not None:
            raise self._failed(outcome[0])

    def again(
        self, connection: Connection, push: Callable[[Callable[[], None], str], str | None], clusters: Sequence[str]
    ) -> None:
        """A log remembers."""

    def close(self) -> None:
        """Ends the producer; nothing is in flight between two sends."""
        self._forget()

    def _made(self) -> Producer:
        # Its own words would go to stderr, addresses and user names among them.
        return Producer(connecting(self._client), error_cb=lambda _: None, logger=_SILENT)

    def _failed(self, error: KafkaError | None) -> Exception:
        if error is None:
            return NotAccepted("the producer takes no more at the moment")
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return NeverAccepted(error.name())
        name = error.name()
        if error.fatal() or error.code() == KafkaError._FATAL:
            name = self._forget() or name
        return NotAccepted(name)

    def _forget(self) -> str | None:
        """Gives the producer up; returns the name of the fatal error that it died of, if it did."""
        producer, self._producer = self._producer, None
        if producer is not None:
            try:
                producer.purge()
                producer.flush(0)
            except KafkaException as why:
                return str(why.args[0].name())
        return None


def _error_of(why: Exception) -> KafkaError | None:
    """The client raises a fatal error out of whatever call runs its callbacks, sometimes as the cause of another."""
    known = why if isinstance(why, KafkaException) else why.__cause__
    return known.args[0] if isinstance(known, KafkaException) else None
