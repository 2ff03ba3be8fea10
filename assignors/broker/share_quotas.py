"""How many members share a partition and how many partitions a member gets: the arithmetic of `simple` since 4.2.

With P partitions and M members every partition wants `sharing` = ceil(M / P) members. That makes sharing * P pairs,
spread over the members by rounding up at each step: 5 partitions, 2 members -> sharing 1, counts 3 and 2.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from math import ceil

from rebalance_monitor.assignors.java_table import JavaTable


def sharing_of(partitions: int, members: int) -> int:
    """Members that a partition should have."""
    return -(-members // partitions) if partitions else 0


def counts_of(partitions: int, members: int) -> list[int]:
    """Partitions that each member should have. In doubles, as Kafka computes them."""
    precise = sharing_of(partitions, members) * partitions / members
    return [ceil(precise * (at + 1)) - ceil(precise * at) for at in range(members)]


def number_hash(number: int) -> int:
    """`Integer.hashCode()` of a number that is not negative."""
    return number


def sized(elements: int) -> int:
    """Capacity that Kafka asks for when it expects so many elements; exact in single precision as well up to 2^22."""
    return int((elements + 1) / 0.75 + 1)


class Circle:
    """Walks over the members that still want partitions, again and again, while any of them can take one."""

    def __init__(self, members: JavaTable[int]) -> None:
        self._members = members
        self._left = deque(members)
        self._took = False

    def wanted_by(self, holders: Sequence[int] | set[int], missing: int) -> Iterator[int]:
        """Members for one partition that lacks `missing` holders; the caller takes a full member out of the table.

        A member that was chosen just now may come again: as in Kafka, `holders` is what stood before.
        """
        while missing > 0:
            if not self._left:
                if not self._took:
                    return
                self._left, self._took = deque(self._members), False
            if not self._left:
                raise NoMembersLeft
            member = self._left.popleft()
            if member not in holders:
                missing, self._took = missing - 1, True
                yield member


class NoMembersLeft(Exception):
    """The circle became empty in the middle of a partition; Kafka's iterator throws there."""
