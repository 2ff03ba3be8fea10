"""What a job learns of its cluster from batch to batch: samples of topics, groups that wait for one, groups' states
and progress. Of a cluster whose groups are polled, also what is new of them.

batch 7   a record waits for a sample asked from 10:00:09 on    wanted; a batch is due shortly after
10:00:09  the poller asks, and has the answer
batch 8   takes the sample, folds the group again, and commits both

Which groups rebalance and how far they have come is not stored: a job that begins anew asks again.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from rebalance_monitor.streaming.core.cluster.changelogs import changelogs_of, with_ends
from rebalance_monitor.streaming.core.cluster.group_states import StatePoll
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.cluster.progress import ProgressSample
from rebalance_monitor.streaming.core.cluster.stored import StoredTopics, UnreadableTopics, changed, history_from
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory, TopicSample
from rebalance_monitor.streaming.core.fold.state import Saved, read
from rebalance_monitor.streaming.core.model.codec import CodecError
from rebalance_monitor.streaming.core.model.records import POLLED, Tick
from rebalance_monitor.streaming.core.model.results import Result
from rebalance_monitor.streaming.core.ports import Store, StoredState
from rebalance_monitor.streaming.core.reading.snapshots import SnapshotPoll
from rebalance_monitor.streaming.polling.seen_groups import SeenGroups
from .rows import RawRow, polled_row
from .watching import Watching

SAMPLED_AFTER_MS = 500
"""A sample is there so long after it was wanted, where brokers are well."""
TRIM_EVERY_MS = 3_600_000
HOME = f"{POLLED}-0"
"""The home of groups that are polled."""
log = logging.getLogger("rebalance_monitor.job")


class TopicSamples(Protocol):
    """Who asks brokers for their topics. Both methods return at once."""

    def since(self, answered_ms: int | None) -> Sequence[TopicSample]:
        """The samples after the one that was answered then, oldest first."""

    def want(self, from_ms: int) -> None:
        """A sample is wanted that is asked at this time or later."""


class StatePolls(Protocol):
    """Who asks brokers which groups rebalance. Both methods return at once."""

    def since(self, answered_ms: int | None) -> Sequence[StatePoll]:
        """The polls after the one that was answered then, oldest first."""

    def name(self, groups: Collection[str]) -> None:
        """The groups that must be asked for by name."""


class GroupSnapshots(Protocol):
    """Who asks brokers for all groups. Both methods return at once."""

    def since(self, answered_ms: int | None) -> Sequence[SnapshotPoll]:
        """The answers after the one of that time, oldest first."""

    def due_ms(self) -> int:
        """When the next answer may be there."""

    def expect(self, groups: Collection[str]) -> None:
        """These groups were polled by a job before this one: where they are missing they are asked for by name."""


class ProgressSamples(Protocol):
    """Who asks brokers for groups' offsets. Both methods return at once."""

    def since(self, answered_ms: int | None) -> Sequence[ProgressSample]:
        """The samples after the one that was answered then, oldest first."""

    def watch(self, groups: Collection[str], changelogs: Mapping[str, Collection[tuple[str, int]]]) -> None:
        """The groups that are to be asked for, and the partitions of changelogs that some of them have."""


@dataclass(frozen=True, slots=True)
class Askers:
    """Who asks brokers, for each of the questions; None: nobody. `progress_groups`: patterns of the groups whose
    offsets are asked for without an incident."""

    topics: TopicSamples | None = None
    states: StatePolls | None = None
    groups: GroupSnapshots | None = None
    progress: ProgressSamples | None = None
    progress_groups: tuple[str, ...] = ()


NOBODY_ASKS = Askers()


class Learning:
    """What was committed last, and what comes after it. Nothing is learned where nobody asks."""

    def __init__(self, store: Store, cluster: str, cluster_id: str, askers: Askers) -> None:
        samples = askers.topics
        self._samples, self._polls, self._cluster_id = samples, askers.states, cluster_id
        self._progress = askers.progress
        self._watching = Watching(store, cluster, askers.progress_groups) if askers.progress is not None else None
        self._watched: tuple[int, frozenset[str], int | None] | None = None
        self._snapshots = askers.groups
        self._seen = SeenGroups() if askers.groups is None else _polled_before(store, cluster)
        if askers.groups is not None:
            askers.groups.expect(frozenset(self._seen.groups))
        self._seen_next = self._seen
        self._committed = NOTHING_KNOWN if samples is None else _known(store.topic_samples(cluster_id))
        self._trimmed_ms = 0
        # The job before this one did not store which of them wait for a sample: any sample wakes them once.
        waiting = [] if samples is None else store.waiting(cluster)
        self._from_ms = {key.group: 0 for key in waiting}

    def knowledge(self) -> Knowledge:
        """What is known with what brokers said since the last batch; the same object where they said nothing."""
        before = self._committed
        topics, groups, progress = self._topics(), before.groups, before.progress
        for poll in () if self._polls is None else self._polls.since(groups.answered_ms):
            groups = groups.with_poll(poll)
        changelogs = before.changelogs
        for sample in () if self._progress is None else self._progress.since(progress.answered_ms):
            progress = progress.with_sample(sample)
            changelogs = with_ends(changelogs, sample.changelogs, sample.watched)
        shown = before.shown if self._seen_next is self._seen else self._seen_next.shown
        known = (before.topics, before.groups, before.progress, before.shown)
        if all(one is other for one, other in zip((topics, groups, progress, shown), known, strict=True)):
            return before
        return replace(before, topics=topics, groups=groups, progress=progress, changelogs=changelogs, shown=shown)

    def _topics(self) -> TopicHistory:
        topics = self._committed.topics
        for sample in () if self._samples is None else self._samples.since(topics.answered_ms):
            topics = topics.with_sample(sample)
        now_ms = topics.answered_ms or 0
        if topics is not self._committed.topics and now_ms - self._trimmed_ms >= TRIM_EVERY_MS:
            topics, self._trimmed_ms = topics.kept(now_ms), now_ms
        return topics

    def polled(self, tick: Tick | None) -> list[RawRow]:
        """The groups that are not as they were when a batch last used an answer. Nothing that is polled is history."""
        if self._snapshots is None or tick is None or tick.historic:
            return []
        seen, rows = self._seen, list[RawRow]()
        for poll in self._snapshots.since(seen.answered_ms):
            seen, changed_rows = seen.with_poll(poll)
            rows += map(polled_row, changed_rows)
        self._seen_next = seen
        return rows

    def answered(self, knowledge: Knowledge) -> list[str]:
        """The groups whose records waited for a sample that has come; each until a batch has folded it."""
        asked_ms = knowledge.topics.asked_ms
        if asked_ms is None:
            return []
        return [group for group, from_ms in self._from_ms.items() if from_ms <= asked_ms]

    def rebalancing(self, knowledge: Knowledge, tick: Tick | None) -> Collection[str]:
        """The groups that were seen to rebalance by a poll that no batch has used yet."""
        if tick is None or tick.historic or knowledge.groups is self._committed.groups:
            return ()
        return knowledge.groups.rebalancing

    def measured(self, knowledge: Knowledge, tick: Tick | None) -> Collection[str]:
        """The groups whose offsets were told by a sample that no batch has used yet."""
        if tick is None or tick.historic:
            return ()
        before = self._committed.progress.groups
        return [name for name, one in knowledge.progress.groups.items() if before.get(name) is not one]

    def ask_by_name(self, groups: Collection[str]) -> None:
        """Groups with topics of their own: brokers do not list them as consumer groups, and they commit no offsets."""
        if self._polls is not None:
            self._polls.name(groups)
        if self._progress is None or self._watching is None:
            return
        topics, own = self._committed.topics, frozenset(groups)
        known = (self._watching.revision, own, topics.answered_ms)
        if known != self._watched:  # looks at every topic, so not in every batch
            self._watched, watched = known, self._watching.groups() - own
            self._progress.watch(watched, changelogs_of(watched, topics.present(), self._watching.present))

    def stored(self, knowledge: Knowledge) -> StoredTopics | None:
        """What a batch with this knowledge commits of it."""
        return changed(self._cluster_id, self._committed.topics, knowledge.topics)

    def committed(self, knowledge: Knowledge, samples: Mapping[str, int | None], results: Iterable[Result]) -> None:
        """The batch is over. `samples`: of each group that was folded, from when on it waits for a sample now."""
        self._committed, self._seen = knowledge, self._seen_next
        if self._watching is not None:
            self._watching.saw(results)
        for group, from_ms in samples.items():
            self._from_ms.pop(group, None)
            if from_ms is not None and self._samples is not None:
                self._from_ms[group] = from_ms
                self._samples.want(from_ms)

    def due_ms(self) -> list[int]:
        """When samples that are waited for are there, and the next answer about groups."""
        groups = [] if self._snapshots is None else [self._snapshots.due_ms()]
        return [one + SAMPLED_AFTER_MS for one in (*self._from_ms.values(), *groups)]


def _polled_before(store: Store, cluster: str) -> SeenGroups:
    """Groups that a job before this one polled. The rows of this one come behind the rows of that one, although the
    clock may have been set back."""
    states = {key: one for key, one in store.load(store.at_home(cluster, HOME)).items() if one.home == HOME}
    return SeenGroups.known((key.group for key in states), max(map(_next_offset, states.values()), default=0))


def _next_offset(known: StoredState) -> int:
    """Above the offsets of all rows of a group that was polled; 0 where its state cannot be read, which begins anew."""
    try:
        envelope, _ = read(Saved(known.state))
    except CodecError:
        return 0
    return envelope.next_offsets.get(HOME, 0)


def _known(rows: Mapping[str, str]) -> Knowledge:
    try:
        return Knowledge(topics=history_from(rows), asked=True)
    except UnreadableTopics:
        log.warning("topic_samples_not_read", extra={"fields": {"rows": len(rows)}})
        return Knowledge(asked=True)
