"""The blobs a consumer and its leader exchange: subscription and assignment (protocol type `consumer`)."""

from dataclasses import dataclass

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSubscription:
    """Subscription V0-V3; lists keep wire order."""

    version: int
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerAssignment:
    """Assignment V0-V3: the member's complete set."""

    version: int
    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None
