"""What is published of lag: a group, its members, topics and partitions, and what a rebalance held up.

Lag is the records between the committed offset and the end offset. `lag_ms` is how long ago the first of them was
written, by samples of end offsets; it is a lower bound where `at_least` says so. None: not known.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from .published import HIDDEN, Says
from .subjects import Source

LAG = Says("Records between committed offset and end offset; null: not known.", least=0)
LAG_MS = Says("How long ago the first of them was written, by samples of end offsets; null: not known.", least=0)
AT_LEAST = Says("`lag_ms` is a lower bound: the samples do not reach back so far.", optional=True)
TRENDS = ("catching_up", "steady", "falling_behind")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """One partition: nobody has committed on it if `committed` is null."""

    partition: Annotated[str, Says("`topic-number`.")]
    committed: int | None
    end: Annotated[int | None, Says("Its last stable offset; null where no broker answered it.")]
    lag: Annotated[int | None, LAG]
    lag_ms: Annotated[int | None, LAG_MS]
    at_least: Annotated[bool, AT_LEAST] = False
    member: Annotated[str | None, Says("Who holds it by the newest record; null: nobody, or not known.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLag:
    """What a group has yet to read of one topic."""

    topic: str
    partitions: Annotated[int, Says(least=0)]
    unknown: Annotated[int, Says("Of which the lag is not known.", least=0)]
    lag: Annotated[int, Says("Of partitions of which it is known.", least=0)]
    lag_ms: Annotated[int | None, Says("The largest of its partitions; null: not known.", least=0)]
    at_least: Annotated[bool, AT_LEAST] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLag:
    """How far one member has come with what it holds."""

    member: str
    partitions: Annotated[int, Says(least=0)]
    advancing: Annotated[int, Says("With something to read, and seen to move a short time ago.", least=0)]
    caught_up: Annotated[int, Says(least=0)]
    standing: Annotated[int, Says("With something to read, and not seen to move.", least=0)]
    unknown: Annotated[int, Says("No offset is known.", least=0)]
    lag: Annotated[int, Says("Records that it has yet to read, of partitions that are known.", least=0)]
    never_committed: Annotated[
        int, Says("Of `unknown`: brokers tell no committed offset of them, as in `group_progress`.", least=0)
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldUp:
    """What a rebalance held up: the lag of the group in the samples behind it, against the samples before it.

    Times by the monitor's clock, ms. `records` and `caught_up_ms` are null where the samples do not tell; `why` says
    so. While the group has not caught up and nothing else ends it, it is not `final`.
    """

    generation: int
    rebalances: Annotated[int, Says("How many, where no sample lies between them; the last one's generation.", least=1)]
    since_ms: Annotated[int, Says("When the first of them was seen to begin: at its record, unless polled before.")]
    before: Annotated[int | None, Says("The largest lag in the last three samples before, records.", least=0)]
    records: Annotated[int | None, Says("By how many records the lag grew above that.", least=0)]
    caught_up_ms: Annotated[int | None, Says("When a sample first showed no more lag than before.")]
    final: bool
    why: Annotated[str | None, Says("What is not known and why; null: nothing.")] = None
    followed: Annotated[
        int | None,
        Says(
            "The generation that came before the group had caught up, and is held against the same lag before: what"
            " this one left unread is in the records of that one, too. Absent where none came.",
            optional=True,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceCost:
    """What became known of what a generation held up, after it was published: a key of the generation's object."""

    cluster: Annotated[str, HIDDEN]
    group: Annotated[str, HIDDEN]
    source: Annotated[Source, HIDDEN]
    held_up: HeldUp


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProgress:
    """How far the members of a group have come, by offsets that brokers told between `asked_ms` and `answered_ms` (by
    the monitor's clock)."""

    KIND: ClassVar[str] = "group_progress"

    cluster: str
    group: str
    generation: int
    asked_ms: Annotated[int, Says("When the brokers were asked, by the monitor's clock.")]
    answered_ms: Annotated[int, Says("When they had answered.")]
    members: tuple[MemberLag, ...]
    without_members: Annotated[bool | None, Says("Nobody is in the group; null where that is not known.")] = None
    lag: Annotated[int | None, LAG] = None
    lag_ms: Annotated[int | None, Says("The largest of its partitions; null: not known.", least=0)] = None
    at_least: Annotated[bool, AT_LEAST] = False
    trend: Annotated[str | None, Says("By the last ten samples; null: not known.", words=TRENDS)] = None
    unknown: Annotated[int, Says("Partitions of which the lag is not known; not in `lag`.", least=0)] = 0
    never_committed: Annotated[
        int,
        Says(
            "Of these: members hold them, and brokers tell no committed offset. The group has never committed on them,"
            " its commits have expired, or the monitor may not describe the topic.",
            least=0,
        ),
    ] = 0
    first_ms: Annotated[int | None, Says("When brokers first answered.")] = None
    changed_ms: Annotated[
        int | None,
        Says(
            "When a sample last showed another committed offset than the one before (`lag.from: log`: when it was"
            " committed, by the coordinator's clock); null: none did."
        ),
    ] = None
    held_up: Annotated[HeldUp | None, Says("What its last rebalance held up, as far as is known.")] = None
    topics: tuple[TopicLag, ...] = ()
    partitions: Annotated[tuple[PartitionLag, ...], Says("The largest lag first, those not known before.")] = ()
    more_partitions: Annotated[int, Says("That have less lag and are left out.", least=0)] = 0
