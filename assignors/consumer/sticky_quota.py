"""The short cut of sticky leaders since 3.0, for members that all subscribe to the same topics.

With N partitions and M members everybody ends with floor(N/M) or, N mod M of them, with one more. Three steps:

    keep   members in hash order keep what they claim, up to their quota; what exceeds it is taken away
    racks  what is left goes to members in a rack of the partition, those below the quota first (since 3.5)
    fill   the rest goes round robin to the members below the quota, then to those that may get one more

    a:5, m1 holds a-0 a-1 a-2, m2 claims a-2 a-3, m3 is new: floor 1, two members may have two
    a-2 is claimed twice and freed;  m1 keeps a-0 a-1, m2 keeps a-3;  m3 gets a-2, then m2 gets a-4

Who may have one more is decided on the way: first come, first served in step one, and in step three in the order in
which members reached the lower quota. `transfers` are partitions that go to another member than the one that held
them; a cooperative leader holds them back for one generation.

Since a claimed partition that no longer exists is kept like any other, Java's walk over the rest never gets past it:
partitions that are kept further on are handed out a second time, or the sums do not come out and it fails.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle

from .model import TopicPartition
from .sticky_claims import Claims
from .sticky_group import NO_STATE, CannotAssign, Group

Shares = dict[str, list[TopicPartition]]
Transfers = dict[TopicPartition, str]


def walk(
    everything: Sequence[TopicPartition],
    kept: Sequence[TopicPartition],
    place: Callable[[TopicPartition], tuple[int, int]],
) -> list[TopicPartition]:
    """All but the kept ones, in the order of `everything`, which `place` tells.

    Java walks both lists side by side and gets stuck for ever at a kept one that `everything` lacks. Only then the
    walk matters.
    """
    gone = frozenset(kept)
    left = [tp for tp in everything if tp not in gone]
    if len(left) + len(kept) == len(everything):
        return left
    left = []
    rest = iter(sorted(kept, key=place))
    following = next(rest, None)
    for partition in everything:
        if partition == following:
            following = next(rest, None)
        else:
            left.append(partition)
    return left


def deal(group: Group, claims: Claims) -> tuple[Shares, Transfers]:
    """Shares by member, and the partitions that change hands, with the member they go to."""
    dealing = _Dealing(group, claims)
    dealing.keep()
    dealing.free()
    dealing.by_rack()
    dealing.fill()
    dealing.check()
    return dealing.shares, dealing.transfers


@dataclass(slots=True)
class _Quota:
    """`least` for everybody and `most` for as many members as `wanted`; `reached` of them have it."""

    least: int
    most: int
    wanted: int
    reached: int = 0

    @property
    def open(self) -> bool:
        return self.reached < self.wanted


class _Dealing:
    """The state of one assignment. `under`: members below the lower quota; `exact`: members that have it and may get
    one more."""

    def __init__(self, group: Group, claims: Claims) -> None:
        self.group = group
        self.claims = claims
        least, extra = divmod(group.partitions, len(group.members))
        self.quota = _Quota(least, least + (extra > 0), extra)
        self.shares: Shares = {member: [] for member in claims.held}
        self.transfers: Transfers = {}
        self.revoked: dict[TopicPartition, str] = {}
        self.under: list[str] = []
        self.exact: list[str] = []
        self.left: list[TopicPartition] = []

    def keep(self) -> None:
        """Everybody keeps what it claims, up to its quota."""
        quota, twice = self.quota, self.claims.twice
        for member, claimed in self.claims.held.items():
            own = self._mixed(self._near(member, claimed))
            for tp in twice.intersection(own) if twice else ():
                own.remove(tp)
            if len(own) < quota.least:
                self.shares[member] = own
                self.under.append(member)
                continue
            if len(own) >= quota.most and quota.open:
                quota.reached += 1
                if not quota.open:
                    self.exact.clear()
                most = quota.most
            else:
                most = quota.least
                if quota.open:
                    self.exact.append(member)
            self.shares[member] = own[:most]
            self.revoked.update(dict.fromkeys(own[most:], member))

    def _near(self, member: str, claimed: list[TopicPartition]) -> list[TopicPartition]:
        """What the member claims, without what its rack does not fit."""
        racks = self.group.racks
        if member not in racks.of_member:
            return list(claimed)
        own = []
        for tp in claimed:
            if not racks.mismatch(member, tp):
                own.append(tp)
            elif self.group.era.quotas_hold:
                self.revoked[tp] = member
        return own

    def _mixed(self, own: list[TopicPartition]) -> list[TopicPartition]:
        if self.group.era.mixes_topics:
            rank = self.group.topic_rank
            own.sort(key=lambda tp: (tp[1], rank[tp[0]]))
        return own

    def free(self) -> None:
        """Find what is left, in the order in which it will be given away."""
        rank = self.group.topic_rank
        kept = [tp for share in self.shares.values() for tp in share]
        everything = self.group.partitions_of(list(rank))
        self.left = walk(everything, kept, lambda tp: (rank[tp[0]], tp[1]))
        self.under.sort(key=self.group.member_rank.__getitem__)
        self.exact.sort(key=self.group.member_rank.__getitem__)
        near = self.group.racks.near
        if near:
            self.left.sort(key=lambda tp: near.get(tp, 0))

    def by_rack(self) -> None:
        """Give what is left to members in a rack of the partition."""
        if not self.group.racks.of_member:
            return
        left, begin = [], 0
        for tp in self.left:
            at = self._next_in_rack(tp, self.under, begin)
            if at is not None:
                member = self.under[at]
                begin = self._one_more(member, at)
            else:
                at = self._next_in_rack(tp, self.exact, 0)
                if at is None:
                    left.append(tp)
                    continue
                member = self.exact[at]
                self._over(member, at)
            self._give(tp, member)
        self.left = left

    def _next_in_rack(self, partition: TopicPartition, members: list[str], begin: int) -> int | None:
        racks = self.group.racks
        near = racks.of_partition.get(partition)
        if not near:
            return None
        turns = (*range(begin, len(members)), *range(begin))
        return next((at for at in turns if racks.of_member.get(members[at]) in near), None)

    def _one_more(self, member: str, at: int) -> int:
        """A member below the quota gets one; where the next search begins."""
        count = len(self.shares[member]) + 1
        if count >= self.quota.least:
            del self.under[at]
            if count < self.quota.most and (self.quota.open or not self.group.era.quotas_hold):
                self.exact.append(member)
        else:
            at += 1
        return at % len(self.under) if self.under else 0

    def _over(self, member: str, at: int) -> None:
        """A member at the lower quota gets one more."""
        if len(self.shares[member]) + 1 != self.quota.most:
            return
        del self.exact[at]
        if self.group.era.quotas_hold:
            self.quota.reached += 1
            if not self.quota.open:
                self.exact.clear()

    def fill(self) -> None:
        """Give the rest round robin."""
        quota, under, exact = self.quota, self.under, self.exact
        first_exact = at = 0
        for tp in self.left[self._whole_rounds() :]:
            if at >= len(under):
                at = 0
            if under:
                member = under[at]
                at += 1
            elif first_exact < len(exact):
                member = exact[first_exact]
                first_exact += 1
            else:
                raise CannotAssign(NO_STATE)
            count = self._give(tp, member)
            if count == quota.least:
                at -= 1
                del under[at]
                exact.append(member)
            elif count == quota.most:
                quota.reached += 1

    def _whole_rounds(self) -> int:
        """Play the rounds in which every member below the quota gets one and none reaches it; how many were given."""
        count = len(self.under)
        if not count:
            return 0
        rounds = min(
            self.quota.least - max(len(self.shares[member]) for member in self.under) - 1, len(self.left) // count
        )
        if rounds < 1:
            return 0
        given = self.left[: rounds * count]
        for place, member in enumerate(self.under):
            self.shares[member].extend(given[place::count])
        if self.revoked or self.claims.twice:
            members = cycle(self.under)
            self.transfers.update(
                (tp, member) for tp, member in zip(given, members, strict=False) if self._changes_hands(tp, member)
            )
        return len(given)

    def _give(self, partition: TopicPartition, member: str) -> int:
        share = self.shares[member]
        share.append(partition)
        if self._changes_hands(partition, member):
            self.transfers[partition] = member
        return len(share)

    def _changes_hands(self, partition: TopicPartition, member: str) -> bool:
        """Whether several claimed it, or it was revoked; since 3.7.1 from another member than this one."""
        before = self.revoked.get(partition)
        return partition in self.claims.twice or (
            before is not None and (before != member or not self.group.era.quotas_hold)
        )

    def check(self) -> None:
        """The sums that Java checks at the end."""
        if self.under and (
            self.quota.reached != self.quota.wanted
            or any(len(self.shares[member]) != self.quota.least for member in self.under)
        ):
            raise CannotAssign(NO_STATE)
