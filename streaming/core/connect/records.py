"""Rows of Connect's two topics, as the lifecycle takes them, and as text between two processes."""

from dataclasses import dataclass
from typing import TypeAlias

from rebalance_monitor.schemas.connect_topics import ConfigRecord, StatusRecord
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import TopicRecord


@dataclass(frozen=True, slots=True)
class ConfigChange(TopicRecord):
    """One record of a Connect config topic."""

    record: ConfigRecord


@dataclass(frozen=True, slots=True)
class StatusChange(TopicRecord):
    """One record of a Connect status topic."""

    record: StatusRecord


TopicChange: TypeAlias = ConfigChange | StatusChange


@dataclass(frozen=True, slots=True)
class _Written:
    change: TopicChange


def written(change: TopicRecord) -> str:
    """A change as text of one line."""
    if not isinstance(change, ConfigChange | StatusChange):
        raise TypeError(f"no record of a Connect topic: {type(change).__name__}")
    return dumps(_Written(change))


def change_of(text: str) -> TopicChange:
    """The change that `written` wrote. Raises CodecError."""
    return loads(_Written, text).change
