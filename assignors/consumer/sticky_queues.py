"""The short cut of sticky leaders 2.5.1 to 2.8, for members that all subscribe to the same topics.

Members keep what they claim up to the higher quota, ceil(N/M), whoever comes first. Members below the lower quota,
floor(N/M), are served in turns, sorted by id. If nothing is left for them, members at the higher quota give them their
first partition each; if something is left, it goes to members at the lower quota in the order in which they got there.

    a:5, m1 claims a-0 a-1 a-2 a-3, m2 and m3 are new: quotas 1 and 2
    m1 keeps a-0 a-1;  m2 gets a-2, m3 gets a-3 (both at the lower quota now);  a-4 goes to m2
"""

from collections import deque

from .model import TopicPartition
from .sticky_claims import Claims
from .sticky_group import NO_STATE, CannotAssign, Group
from .sticky_quota import Shares, Transfers


def deal(group: Group, claims: Claims) -> tuple[Shares, Transfers]:
    """Shares by member, and the partitions that change hands, with the member they go to."""
    dealing = _Dealing(group, claims)
    dealing.keep()
    dealing.serve()
    dealing.take_over()
    dealing.add()
    return dealing.shares, dealing.transfers


class _Dealing:
    """The state of one assignment. `under`: members below the lower quota, `at_least`: members that have reached it,
    `at_most`: members that have reached the higher one."""

    def __init__(self, group: Group, claims: Claims) -> None:
        self.group = group
        self.claims = claims
        self.least, extra = divmod(group.partitions, len(group.members))
        self.most = self.least + (extra > 0)
        self.shares: Shares = {}
        self.transfers: Transfers = {}
        self.freed = set(claims.twice)
        self.free: deque[TopicPartition] = deque()
        self.under: list[str] = []
        self.at_least: deque[str] = deque()
        self.at_most: deque[str] = deque()

    def keep(self) -> None:
        """Everybody keeps what it claims up to the higher quota; the rest is free."""
        for member, claimed in self.claims.held.items():
            own = list(claimed)
            for tp in self.claims.twice.intersection(own):
                own.remove(tp)
            kept = self.shares[member] = own[: self.most]
            self.freed.update(own[self.most :])
            if len(own) < self.least:
                self.under.append(member)
                continue
            if len(kept) == self.least:
                self.at_least.append(member)
            if len(kept) == self.most:
                self.at_most.append(member)
        self.under.sort(key=self.group.member_rank.__getitem__)
        held = {tp for share in self.shares.values() for tp in share}
        everything = self.group.partitions_of(list(self.group.topic_rank))
        self.free.extend(tp for tp in everything if tp not in held)

    def serve(self) -> None:
        """Members below the lower quota get one in turns."""
        while self.under and self.free:
            for member in list(self.under):
                if not self.free:
                    return
                self._give(member)
                if len(self.shares[member]) == self.least:
                    self.at_least.append(member)
                    self.under.remove(member)

    def take_over(self) -> None:
        """Where nothing was left for them, members at the higher quota give up their first one."""
        for member in self.under:
            while len(self.shares[member]) < self.least:
                taken = self.shares[_next(self.at_most)].pop(0)
                self.shares[member].append(taken)
                self.transfers[taken] = member
            self.at_least.append(member)

    def add(self) -> None:
        """What is left goes to members at the lower quota."""
        while self.free:
            self._give(_next(self.at_least))

    def _give(self, member: str) -> None:
        partition = self.free.popleft()
        self.shares[member].append(partition)
        if partition in self.freed:
            self.transfers[partition] = member


def _next(members: deque[str]) -> str:
    if not members:
        raise CannotAssign(NO_STATE)
    return members.popleft()
