"""Which client library a group's leader uses: told by the configuration, or by what the record shows.

Kafka's assignors are implemented by each library anew. All share the name and the laws of an assignor, not its choices,
so whose answer it is decides what is expected of it (consumer.md 9). What gives a library away:

    client id            `rdkafka`, `kgo`, `kafka-python-…`, `sarama`: the libraries' own defaults
    rack                 librdkafka sends an empty one where others send none
    version              kafka-python writes subscriptions in version 0 where it needs no more
    end of the bytes     of a version above 0 right behind the user data: kafka-go and @platformatic/kafka
    user data            of a sticky assignor: who sends some, how much, and in which order
    version of answers   `cooperative-sticky` of sarama sends what Kafka's own client sends, but answers in version 0

Most applications name their clients themselves, and some traits are shared. Then the record alone does not tell
(`presumed_client`).

A leader reads the subscriptions of all members before it answers. Kafka's own class since 2.4 fails on one that ends
behind its user data, so it led no generation in which a member wrote such bytes.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from rebalance_monitor.assignors.consumer.other_deals import ROUND_ROBIN_ASSIGNER
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY, GENERATION_BYTES, decode_sticky_user_data
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.settings import ClientLibrary
from .subscriptions import ShortSubscription, short_members, subscription_of

_DEFAULT_CLIENT_IDS: Mapping[str, ClientLibrary] = {
    "rdkafka": ClientLibrary.LIBRDKAFKA,
    "kgo": ClientLibrary.FRANZ_GO,
    "kafka-python": ClientLibrary.KAFKA_PYTHON,
    "sarama": ClientLibrary.SARAMA,
}


def leaders_library(body: GroupGeneration, configured: Mapping[str, ClientLibrary]) -> ClientLibrary | None:
    """The library of the leader of a generation; None if nothing tells, or the record names no leader. What was polled
    never does: then it is the library of all members, where they show the same."""
    if body.protocol == ROUND_ROBIN_ASSIGNER:
        return ClientLibrary.OTHER
    if body.sampled is not None and body.leader is None:
        shown = {library_of(member, body.protocol or "", configured) for member in body.members}
        return shown.pop() if len(shown) == 1 else None
    leader = next((member for member in body.members if member.member_id == body.leader), None)
    if leader is None:
        return None
    library = library_of(leader, body.protocol or "", configured)
    return ClientLibrary.OTHER if library in (None, ClientLibrary.JAVA) and reads_short_ones(body) else library


def reads_short_ones(body: GroupGeneration) -> bool:
    """Whether the leader read a subscription that Kafka's own class of its release rejects. A static member may have
    sent its subscription after the answer; a leader that writes version 0 may be Kafka's class up to 2.3, which read
    these bytes."""
    leader = next((one for one in body.members if one.member_id == body.leader), None)
    written = None if leader is None else subscription_of(leader)
    if written is not None and not written.version:
        return False
    return any(one is leader or one.instance_id is None for one in short_members(body))


def any_foreign(body: GroupGeneration, configured: Mapping[str, ClientLibrary]) -> bool:
    """Whether a member of a generation uses a library of another language, as far as anything tells."""
    assignor = body.protocol or ""
    return any(_library_of(member, assignor, configured) not in (None, ClientLibrary.JAVA) for member in body.members)


def library_of(leader: MemberRow, assignor: str, configured: Mapping[str, ClientLibrary]) -> ClientLibrary | None:
    """The library of this leader; None if nothing tells. `configured`: by client id or pattern, as in the settings."""
    told, subscription = _library_of(leader, assignor, configured), subscription_of(leader)
    if told is not None or subscription is None:
        return told
    if not _only_java(subscription, assignor):
        return None
    if isinstance(leader.assignment, ConsumerAssignment) and leader.assignment.version == 0:
        return ClientLibrary.SARAMA if assignor == COOPERATIVE_STICKY else None
    return ClientLibrary.JAVA


def _library_of(member: MemberRow, assignor: str, configured: Mapping[str, ClientLibrary]) -> ClientLibrary | None:
    """The library that is configured for a member, or a foreign one that it shows."""
    for pattern, library in configured.items():
        if fnmatchcase(member.client_id, pattern):
            return library
    subscription = subscription_of(member)
    if subscription is None:
        return None
    foreign = _foreign(member.client_id.lower(), subscription, assignor)
    if foreign is None and isinstance(member.subscription, ShortSubscription):
        return ClientLibrary.OTHER
    return foreign


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
