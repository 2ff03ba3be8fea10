"""The pollers of one job: which run, and for how long."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from rebalance_monitor.streaming.config.clusters import LOG, POLL, ClusterSection
from rebalance_monitor.streaming.config.settings import Settings
from .apart import OffsetsApart
from .asking import KafkaTopics
from .asking_snapshots import KafkaSnapshots
from .asking_states import KafkaGroupStates
from .logged_offsets import LoggedOffsets
from .progress import ProgressPoller, TurnsPolled
from .snapshots import SnapshotPoller
from .states import StatePoller, Watched
from .topics import TopicPoller


@dataclass(frozen=True, slots=True)
class Pollers:
    """None: nobody is to ask. `groups`: the source of a cluster whose groups are polled; `logged`: what the log tells
    of groups' offsets."""

    topics: TopicPoller | None = None
    states: StatePoller | None = None
    groups: SnapshotPoller | None = None
    progress: ProgressPoller | None = None
    logged: LoggedOffsets | None = None

    def look(self) -> None:
        """Each says so where a request does not end at all."""
        for poller in (self.topics, self.states, self.groups, self.progress):
            if poller is not None:
                poller.look()


class PollsObserved(Watched, TurnsPolled, Protocol):
    """Who is told how all of them are doing."""


@contextmanager
def polled(section: ClusterSection, settings: Settings, observer: PollsObserved) -> Iterator[Pollers]:
    """Pollers that run as long as the block, as the configuration wants them."""
    client, polling = section.librdkafka(), settings.polling
    topics = TopicPoller(KafkaTopics(client), observer, polling.topics_every_ms / 1000) if polling.topics else None
    states = None
    if polling.group_states:
        states = StatePoller(KafkaGroupStates(client), observer, polling.group_states_every_ms / 1000)
    groups = None
    if section.source == POLL:
        groups = SnapshotPoller(KafkaSnapshots(client), observer, polling.groups_every_ms / 1000)
    offsets = OffsetsApart(client)
    logged: LoggedOffsets | None = None
    if polling.progress and section.source == LOG and settings.lag.from_ == "log":
        logged = LoggedOffsets(settings.source.offsets_topic, polling.progress_groups)
    progress: ProgressPoller | None = None
    if polling.progress:
        progress = ProgressPoller(offsets, observer, polling.progress_every_ms / 1000, logged=logged)
    with ExitStack() as running:
        running.callback(offsets.close)
        for poller in (topics, states, groups, progress):
            if poller is not None:
                poller.start(section.name)
                running.callback(poller.stop)
        yield Pollers(topics, states, groups, progress, logged)
