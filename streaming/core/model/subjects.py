"""What results speak of: a place in a log, and a thing with a name."""

from dataclasses import dataclass
from typing import Annotated

from rebalance_monitor.streaming.core.model.published import Says

SUBJECTS = ("worker", "member", "connector", "task", "topic", "partition", "group")


@dataclass(frozen=True, slots=True, order=True)
class Source:
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class LastRecord:
    """The record judged last: its place and its time (ms)."""

    source: Source
    at_ms: int


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What a finding, a move or a row is about: its type (`connector`, `task`, `worker` …) and its name.

    A connector or task is one everywhere outside Connect's bytes: `Subject("task", "orders-3")`.
    """

    type: Annotated[str, Says(words=SUBJECTS)]
    id: str

    @property
    def key(self) -> str:
        """One text for messages and for keys of mappings: `task orders-3`, `connector orders`. A connector may be named
        like another one's task."""
        return f"{self.type} {self.id}"


def subject_of(key: str) -> Subject:
    """The subject of a key."""
    kind, _, name = key.partition(" ")
    return Subject(kind, name)


def connector_of(subject: Subject) -> str | None:
    """The connector that a connector or task is of; None for other subjects."""
    if subject.type == "connector":
        return subject.id
    # A task is named `connector-number`; connector names may hold dashes themselves.
    return subject.id.rpartition("-")[0] if subject.type == "task" else None
