"""The ways of working of `sticky` and `cooperative-sticky` through Kafka's releases, as named data.

Ten eras give different answers to the same group. Each begins with a release and is a row of switches; the assignors
read the switches and never a release number.

    2.3             one algorithm for every group; no cooperative-sticky
    2.4 to 2.5.0    places what nobody held before it moves anything else
    2.5.1 to 2.8.0  a short cut for equal subscriptions (KAFKA-9987)
    2.8.1           a partition claimed twice belongs to nobody; cooperative-sticky sends its generation (KAFKA-12984)
    3.0 to 3.3      the short cut written anew; both ways see the same previous owners (KAFKA-12464)
    3.4.0           cooperative-sticky reads the generation in the subscription itself
    3.4.1           conflicts are decided per partition (KAFKA-14639)
    3.5.0 to 3.5.1  racks (KIP-881)
    3.5.2 to 3.7.0  stops moving partitions once no move helps (KAFKA-15106)
    3.7.1 to now    quotas hold with racks too (KAFKA-15170); a member keeps a mix of topics (KAFKA-16277)
"""

from dataclasses import dataclass, replace
from enum import Enum, auto

Release = tuple[int, int, int]


class NoSuchEra(ValueError):
    """A release whose sticky assignors are not known, or that has none; the message says which."""


class EqualSubscriptions(Enum):
    """How a group is dealt whose members all subscribe to the same topics."""

    AS_ANY_OTHER = auto()
    BY_QUEUES = auto()
    BY_QUOTA = auto()


class Conflict(Enum):
    """Whose partition is it if several members claim it?"""

    UNCHECKED = auto()
    """Members of the highest generation keep all they claim, even if another of them claims it too."""
    HIGHEST_GENERATION = auto()
    """Only members of the highest generation count; what two of them claim belongs to nobody."""
    PER_PARTITION = auto()
    """For each partition the claim of the higher generation counts; equal generations make it nobody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StickyEra:
    """What a leader's release changes in `sticky` and `cooperative-sticky`."""

    name: str
    since: Release
    equal: EqualSubscriptions = EqualSubscriptions.BY_QUOTA
    conflict: Conflict = Conflict.PER_PARTITION
    cooperative: bool = True
    """Has `cooperative-sticky`."""
    own_start: bool = False
    """Without the short cut, previous owners are found by a rule of their own, in the order of a hash map."""
    rereads: bool = False
    """Looks for the short cut first and then reads user data on from where that left them (until KAFKA-12464)."""
    reads_sent_generation: bool = True
    """`cooperative-sticky` reads the generation in the user data."""
    reads_subscribed_generation: bool = True
    """`cooperative-sticky` prefers the generation in the subscription itself (version 2 and later)."""
    loser_counts_as_owner: bool = False
    """After a lost conflict the loser is remembered as the owner for the next one."""
    racks: bool = True
    stops_at_one: bool = True
    """A difference of one partition does not count as imbalance (KAFKA-15106)."""
    new_first: bool = True
    """Tries to balance with the partitions that nobody held before it touches all."""
    mixes_topics: bool = True
    """A member keeps its partitions by (partition, topic), not as it listed them (KAFKA-16277)."""
    quotas_hold: bool = True
    """The rack pass counts the members that got one partition more (KAFKA-15170)."""


_NOW = StickyEra(name="since 3.7.1", since=(3, 7, 1))
_BEFORE_3_7_1 = replace(_NOW, name="3.5.2 to 3.7.0", since=(3, 5, 2), mixes_topics=False, quotas_hold=False)
_BEFORE_3_5_2 = replace(
    _BEFORE_3_7_1, name="3.5.0 to 3.5.1", since=(3, 5, 0), stops_at_one=False, loser_counts_as_owner=True
)
_BEFORE_3_5 = replace(_BEFORE_3_5_2, name="3.4.1", since=(3, 4, 1), racks=False)
_BEFORE_3_4_1 = replace(
    _BEFORE_3_5,
    name="3.4.0",
    since=(3, 4, 0),
    conflict=Conflict.HIGHEST_GENERATION,
    loser_counts_as_owner=False,
)
_BEFORE_3_4 = replace(_BEFORE_3_4_1, name="3.0 to 3.3", since=(3, 0, 0), reads_subscribed_generation=False)
_BEFORE_3 = replace(
    _BEFORE_3_4, name="2.8.1 to 2.8", since=(2, 8, 1), equal=EqualSubscriptions.BY_QUEUES, own_start=True, rereads=True
)
_BEFORE_2_8_1 = replace(
    _BEFORE_3, name="2.5.1 to 2.8.0", since=(2, 5, 1), conflict=Conflict.UNCHECKED, reads_sent_generation=False
)
_BEFORE_2_5_1 = replace(
    _BEFORE_2_8_1, name="2.4 to 2.5.0", since=(2, 4, 0), equal=EqualSubscriptions.AS_ANY_OTHER, rereads=False
)
_BEFORE_2_4 = replace(_BEFORE_2_5_1, name="2.3", since=(2, 3, 0), cooperative=False, new_first=False)

ERAS: tuple[StickyEra, ...] = (
    _BEFORE_2_4,
    _BEFORE_2_5_1,
    _BEFORE_2_8_1,
    _BEFORE_3,
    _BEFORE_3_4,
    _BEFORE_3_4_1,
    _BEFORE_3_5,
    _BEFORE_3_5_2,
    _BEFORE_3_7_1,
    _NOW,
)
NEWEST = ERAS[-1]


def sticky_era_of(release: str) -> StickyEra:
    """The era of a leader's release such as "3.4.1"; one without a patch number counts as its first patch.

    Raises NoSuchEra for releases before 2.3, whose answers nobody has compared, ValueError for anything else.
    """
    major, minor, *patch = (int(part) for part in release.split("-")[0].split("."))
    number = (major, minor, patch[0] if patch else 0)
    for era in reversed(ERAS):
        if era.since <= number:
            return era
    raise NoSuchEra(f"the sticky assignors of Kafka {release} are not known, only those since 2.3")
