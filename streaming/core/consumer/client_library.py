"""Which client library a group's leader uses: told by the configuration, or by what the record shows.

Kafka's assignors are implemented by each library anew. All share the name and the laws of an assignor, not its choices,
so whose answer it is decides what is expected of it (consumer.md 9). What gives a library away:

    client id            `rdkafka`, `kgo`, `kafka-python-…`, `sarama`: the libraries' own defaults
    rack                 librdkafka sends an empty one where others send none
    version              kafka-python writes subscriptions in version 0 where it needs no more
    user data            of a sticky assignor: who sends some, how much, and in which order

Most applications name their clients themselves, and some traits are shared. Then nobody can tell.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from rebalance_monitor.schemas.consumer_protocol import ConsumerSubscription
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.schemas.sticky_user_data import (
    COOPERATIVE_STICKY,
    GENERATION_BYTES,
    decode_sticky_user_data,
)
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.settings import ClientLibrary

_DEFAULT_CLIENT_IDS: Mapping[str, ClientLibrary] = {
    "rdkafka": ClientLibrary.LIBRDKAFKA,
    "kgo": ClientLibrary.FRANZ_GO,
    "kafka-python": ClientLibrary.KAFKA_PYTHON,
    "sarama": ClientLibrary.SARAMA,
}


def leaders_library(body: GroupGeneration, configured: Mapping[str, ClientLibrary]) -> ClientLibrary | None:
    """The library of the leader of a generation; None if nothing tells, or the record names no leader. What was polled
    never does: then it is the library of all members, where they show the same."""
    if body.sampled is not None and body.leader is None:
        shown = {library_of(member, body.protocol or "", configured) for member in body.members}
        return shown.pop() if len(shown) == 1 else None
    leader = next((member for member in body.members if member.member_id == body.leader), None)
    return None if leader is None else library_of(leader, body.protocol or "", configured)


def library_of(leader: MemberRow, assignor: str, configured: Mapping[str, ClientLibrary]) -> ClientLibrary | None:
    """The library of this leader; None if nothing tells. `configured`: by client id or pattern, as in the settings."""
    for pattern, library in configured.items():
        if fnmatchcase(leader.client_id, pattern):
            return library
    if not isinstance(leader.subscription, ConsumerSubscription):
        return None
    foreign = _foreign(leader.client_id.lower(), leader.subscription, assignor)
    if foreign is not None:
        return foreign
    return ClientLibrary.JAVA if _only_java(leader.subscription, assignor) else None


def _foreign(client_id: str, subscription: ConsumerSubscription, assignor: str) -> ClientLibrary | None:
    """A library of another language, by a trait that no other library shares."""
    for beginning, library in _DEFAULT_CLIENT_IDS.items():
        if client_id.startswith(beginning):
            return library
    if subscription.rack == "":
        return ClientLibrary.LIBRDKAFKA
    if subscription.version == 0:
        return ClientLibrary.KAFKA_PYTHON
    if assignor == COOPERATIVE_STICKY:
        # Kafka's class sends a generation since 2.8.1 and nothing before; only franz-go repeats the assignment here.
        if subscription.user_data is not None and len(subscription.user_data) > GENERATION_BYTES:
            return ClientLibrary.FRANZ_GO
        if subscription.version == 1 and subscription.user_data == b"":
            return ClientLibrary.KAFKA_PYTHON
    return None


def _only_java(subscription: ConsumerSubscription, assignor: str) -> bool:
    """Whether a trait of Kafka's own client is there that no other library shares."""
    if assignor == COOPERATIVE_STICKY:
        return subscription.user_data is not None and len(subscription.user_data) == GENERATION_BYTES
    if subscription.version < 3:
        return False  # sarama writes the same in version 1
    if subscription.user_data is None:
        return True  # franz-go always sends some
    read = decode_sticky_user_data(subscription.user_data)
    topics = [topic for topic, _ in read.value.partitions] if isinstance(read, Decoded) else []
    return topics != sorted(topics)  # franz-go sorts them, Java walks a hash map
