"""The members of a share group with the sums that its laws ask for (`targets.tally`)."""

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_monitor.streaming.core.share.breaches import ShareBreach, ShareDeadline
from rebalance_monitor.streaming.core.share.group import ShareGroup, ShareView
from rebalance_monitor.streaming.core.share.member_laws import epoch_order, lagging, topics_of, unlike_target
from rebalance_monitor.streaming.core.targets.coverage import Coverage
from rebalance_monitor.streaming.core.targets.group import TopicPartition
from rebalance_monitor.streaming.core.targets.sums import Dues, Times
from rebalance_monitor.streaming.core.targets.tally import Tally


@dataclass(frozen=True, slots=True)
class ShareFacts:
    """One member: whether it is known and at the newest target, what it should hold, the topics it subscribes to, what
    it breaks by itself, and when."""

    known: bool
    arrived: bool
    wanted: frozenset[TopicPartition]
    names: frozenset[str]
    early: tuple[ShareBreach, ...]
    unlike: tuple[ShareBreach, ...]
    deadline: ShareDeadline | None


class ShareTally(Tally[ShareGroup, ShareView, ShareFacts]):
    """`wanted`: partitions in targets; `names`: topics that members subscribe to; `unknown`: members without metadata;
    `late`: those that are not at the newest target; `early` and `unlike`: who breaks a law by itself; `dues`:
    deadlines."""

    def __init__(self, group: ShareGroup, session_ms: int) -> None:
        self.wanted, self.names = Times[TopicPartition](), Times[str]()
        self.unknown, self.late = set[str](), set[str]()
        self.early: dict[str, tuple[ShareBreach, ...]] = {}
        self.unlike: dict[str, tuple[ShareBreach, ...]] = {}
        self.dues = Dues()
        self.coverage = Coverage[ShareBreach]()
        self._topics = topics_of(group)
        super().__init__(group, session_ms)

    def members_of(self, group: ShareGroup) -> Mapping[str, ShareView]:
        """The members by their ids."""
        return group.members

    def frame_of(self, group: ShareGroup) -> object:
        """The epochs, and what the records tell of topics."""
        computed_ms = None if group.assignment_ms is None else group.assignment_ms - group.ahead_ms
        return ((group.assignment_epoch, computed_ms, group.behind), group.metadata_hash, group.topics, group.states)

    def facts_of(self, name: str, member: ShareView) -> ShareFacts:
        """What is known of a member at these epochs."""
        group = self.group
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
        """A member with these facts belongs to the sums."""
        self.wanted.add(facts.wanted)
        self.names.add(facts.names)
        if not facts.known:
            self.unknown.add(name)
        if not facts.arrived:
            self.late.add(name)
        if facts.early:
            self.early[name] = facts.early
        if facts.unlike:
            self.unlike[name] = facts.unlike
        if facts.deadline is not None:
            self.dues.add(facts.deadline.due_ms, name)

    def drop(self, name: str, facts: ShareFacts) -> None:
        """It does not any more."""
        self.wanted.drop(facts.wanted)
        self.names.drop(facts.names)
        for names in (self.unknown, self.late):
            names.discard(name)
        for found in (self.early, self.unlike):
            found.pop(name, None)
        if facts.deadline is not None:
            self.dues.drop(facts.deadline.due_ms, name)

    def changed(self, before: ShareFacts | None, after: ShareFacts | None) -> None:
        """What no target holds is another question where targets or subscriptions are others."""
        if _asked(before) != _asked(after):
            self.coverage = Coverage()


def _asked(facts: ShareFacts | None) -> object:
    return None if facts is None else (facts.wanted, facts.names, facts.known)
