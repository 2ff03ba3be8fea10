"""The members of a share group with the sums that its laws ask for (`targets.tally`)."""

from dataclasses import dataclass

from rebalance_monitor.streaming.core.share.breaches import ShareBreach
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.share.member_laws import epoch_order, lagging, topics_of, unlike_target
from rebalance_monitor.streaming.core.targets.breaches import Deadline
from rebalance_monitor.streaming.core.targets.group import TopicPartition
from rebalance_monitor.streaming.core.targets.sums import Times
from rebalance_monitor.streaming.core.targets.tally import Tally, TargetFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareFacts(TargetFacts):
    """One member, with what it breaks by itself."""

    wanted: frozenset[TopicPartition]
    early: tuple[ShareBreach, ...]
    unlike: tuple[ShareBreach, ...]
    deadline: Deadline[ShareBreach] | None


class ShareTally(Tally[ShareGroup, ShareFacts, ShareBreach]):
    """`wanted`: partitions in targets; `early` and `unlike`: who breaks a law by itself."""

    def __init__(self, group: ShareGroup, session_ms: int) -> None:
        self.wanted = Times[TopicPartition]()
        self.early: dict[str, tuple[ShareBreach, ...]] = {}
        self.unlike: dict[str, tuple[ShareBreach, ...]] = {}
        self._topics = topics_of(group)
        super().__init__(group, session_ms)

    def frame_of(self, group: ShareGroup) -> object:
        """The epochs, and what the records tell of topics."""
        computed_ms = None if group.assignment_ms is None else group.assignment_ms - group.ahead_ms
        return ((group.assignment_epoch, computed_ms, group.behind), group.metadata_hash, group.topics, group.states)

    def facts_of(self, name: str) -> ShareFacts:
        group, member = self.group, self.group.members[name]
        return ShareFacts(
            known=member.metadata is not None,
            arrived=group.arrived(member),
            wanted=member.wanted(),
            names=frozenset(member.names),
            early=tuple(epoch_order(group, name, member)),
            unlike=tuple(unlike_target(group, self._topics, name, member)),
            deadline=lagging(group, name, member, self.session_ms),
        )

    def add(self, name: str, facts: ShareFacts) -> None:
        super().add(name, facts)
        self.wanted.add(facts.wanted)
        if facts.early:
            self.early[name] = facts.early
        if facts.unlike:
            self.unlike[name] = facts.unlike

    def drop(self, name: str, facts: ShareFacts) -> None:
        super().drop(name, facts)
        self.wanted.drop(facts.wanted)
        for found in (self.early, self.unlike):
            found.pop(name, None)
