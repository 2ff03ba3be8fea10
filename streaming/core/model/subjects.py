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
