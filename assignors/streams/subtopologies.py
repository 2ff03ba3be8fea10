"""The topology of an application as far as it decides about tasks: subtopologies with their topics.

A subtopology is a connected part of the topology. It has one task per partition of its widest source topic, and its
tasks are stateful if it has a changelog topic.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopology:
    """One subtopology. Internal topics stand under their full names.

    `sources` are the topics it reads, repartition topics included, global ones left out. `repartition_sources` gives
    those of them that Streams itself creates, with the number of partitions the user fixed, or None. `changelogs` may
    contain source topics, which then serve as changelogs. `stores` are the names of all its state stores, logged or
    not.
    """

    number: int
    sources: tuple[str, ...]
    sinks: frozenset[str] = frozenset()
    repartition_sources: Mapping[str, int | None] = field(default_factory=dict)
    changelogs: tuple[str, ...] = ()
    stores: frozenset[str] = frozenset()
    topology: str = ""

    def own_changelogs(self) -> tuple[str, ...]:
        """The changelog topics that Streams creates."""
        return tuple(topic for topic in self.changelogs if topic not in self.sources)
