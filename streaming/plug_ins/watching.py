"""The state that a plug-in is given, which notes what of it the plug-in looks at.

Lags, racks and the leader's settings are seldom known to a monitor. An answer does not depend on what was not looked
at, so a plug-in that takes none of them gets a plain verdict.
"""

from collections.abc import Mapping
from dataclasses import fields, replace

from rebalance_monitor.assignors.streams.application import AssignmentConfigs
from rebalance_monitor.assignors.streams.application_state import (
    ApplicationState,
    KafkaStreamsState,
    TaskTopicPartition,
)
from rebalance_monitor.assignors.streams.tasks import ProcessId
from rebalance_monitor.streaming.core.streams.looked_at import CHANGELOG_RACKS, LAGS, RACKS

_SETTINGS = frozenset(one.name for one in fields(AssignmentConfigs))


class WatchedState(ApplicationState):
    """`read` gathers LAGS, RACKS, CHANGELOG_RACKS and the names of settings."""

    def __init__(self, state: ApplicationState) -> None:
        read = self.read = set[str]()

        class Configs(AssignmentConfigs):
            __slots__ = ()

            def __getattribute__(self, name: str) -> object:
                if name in _SETTINGS:
                    read.add(name)
                return super().__getattribute__(name)

        class Partition(TaskTopicPartition):
            __slots__ = ()

            def __getattribute__(self, name: str) -> object:
                if name == "racks":
                    read.add(RACKS if super().__getattribute__("is_source") else CHANGELOG_RACKS)
                return super().__getattribute__(name)

            def __eq__(self, other: object) -> bool:
                return isinstance(other, TaskTopicPartition) and self.topic_partition == other.topic_partition

            def __hash__(self) -> int:
                return hash(self.topic_partition)

        given = state.assignment_configs
        tasks = {
            task: replace(
                info,
                topic_partitions=tuple(
                    Partition(
                        topic_partition=one.topic_partition,
                        is_source=one.is_source,
                        is_changelog=one.is_changelog,
                        racks=one.racks,
                    )
                    for one in info.topic_partitions
                ),
            )
            for task, info in state.all_tasks.items()
        }
        configs = Configs(**{name: getattr(given, name) for name in _SETTINGS})
        super().__init__(configs, tasks, state.kafka_streams_states(True))

    def kafka_streams_states(self, compute_task_lags: bool) -> Mapping[ProcessId, KafkaStreamsState]:
        """The clients; with lags it is noted."""
        if compute_task_lags:
            self.read.add(LAGS)
        return super().kafka_streams_states(compute_task_lags)
