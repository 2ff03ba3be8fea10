"""What results speak of: a place in a log, and a thing with a name."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Source:
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    type: str
    id: str


def connector_of(subject: Subject) -> str | None:
    """The connector that a connector or task is of; None for other subjects."""
    if subject.type == "connector":
        return subject.id
    # A task is named `connector-number`; connector names may hold dashes themselves.
    return subject.id.rpartition("-")[0] if subject.type == "task" else None
