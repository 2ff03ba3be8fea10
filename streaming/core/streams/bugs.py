"""Bugs of Kafka Streams whose traces records show: which releases have each of them, and what it looks like.

Which branch of Kafka's repository has which fix tells the releases. Bugs that no release ever had (they came and went
between two releases), and bugs of assignors that Streams does not use, are not here.

    KAFKA-10455    leader 2.6.0    it may be      leader 2.6.1 or 4.3.1    it is not
"""

from collections.abc import Collection
from dataclasses import dataclass

from rebalance_monitor.assignors.streams.tasks import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """`since`: the first release with the bug; `fixed`: the first release without it, of each line that was mended, the
    oldest line first. `looks`: what it looks like in records."""

    issue: str
    since: Release
    fixed: tuple[Release, ...]
    looks: str

    def is_in(self, release: Release) -> bool:
        mended = any(release[:2] == first[:2] and release >= first for first in self.fixed)
        return self.since <= release < self.fixed[-1] and not mended

    def may_be_in(self, releases: Collection[Release]) -> bool:
        """Whether one of these has it; also if nobody knows which release runs."""
        return not releases or any(map(self.is_in, releases))


TASKS_OF_A_MATE = Bug(
    issue="KAFKA-8649",
    since=(2, 0),
    fixed=((2, 2, 2), (2, 3, 1), (2, 4)),
    looks="while versions are probed, all threads of a process are given the same tasks; assignments name another "
    "version than all members support",
)
OWN_NEWEST_VERSION = Bug(
    issue="KAFKA-9053",
    since=(2, 0),
    fixed=((2, 4),),
    looks="assignments have the leader's own newest version, which some members cannot read",
)
OLD_ENDPOINT = Bug(
    issue="KAFKA-9568",
    since=(2, 4),
    fixed=((2, 6),),
    looks="a static member came back with another application.server, and the host maps lack it",
)
IGNORED_REJOINS = Bug(
    issue="KAFKA-10455",
    since=(2, 6),
    fixed=((2, 6, 1), (2, 7)),
    looks="the leader sets a probing rebalance, and the coordinator ignores that its thread joins again",
)
