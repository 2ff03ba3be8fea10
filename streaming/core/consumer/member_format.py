"""The bytes of consumers, as the reader of group records takes them."""

from rebalance_monitor.schemas import consumer_protocol
from rebalance_monitor.streaming.core.consumer.short_subscription import read_subscription
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat

CONSUMER_MEMBERS = MemberFormat(
    protocol_type="consumer",
    layouts=(consumer_protocol.SUBSCRIPTION_BLOB, consumer_protocol.ASSIGNMENT_BLOB),
    subscription=read_subscription,
    assignment=consumer_protocol.read_assignment,
)
