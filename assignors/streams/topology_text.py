"""Reading the text that Kafka Streams prints for a topology (`Topology.describe()`).

    Topologies:
       Sub-topology: 0
        Source: KSTREAM-SOURCE-0000000000 (topics: [in])
          --> by-value-repartition-filter
        Processor: by-value-repartition-filter (stores: [])
          --> by-value-repartition-sink
          <-- KSTREAM-SOURCE-0000000000
        Sink: by-value-repartition-sink (topic: by-value-repartition)

Lines are told apart by their leading words, because indentation and blank lines vary. The text names internal topics
without the application's prefix and does not tell which stores are logged; `subtopologies` is told both.
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from .subtopologies import Subtopology

_HEAD = re.compile(r"Sub-topology: (\d+)( for global store)?")
_TOPOLOGY = re.compile(r"Topology: (.+?):?$")
_SOURCE = re.compile(r"Source:\s+(\S+) \(topics: (?:\[(.*)\]|(.*))\)$")
_PROCESSOR = re.compile(r"Processor:\s+(\S+) \(stores: \[(.*)\]\)$")
_SINK = re.compile(r"Sink:\s+(\S+) \(topic: (.*)\)$")
_REPARTITION = "-repartition"
_TABLE = "KTABLE-SOURCE"


class UnreadableTopology(ValueError):
    """The text is no description of a topology; the message names the line."""


@dataclass(slots=True)
class DescribedSubtopology:
    """What the text says of one subtopology. `pattern` is the regular expression of a source that names no topics;
    `fed` gives per store the topics that reach its processor directly; `tables` are the stores of processors that are
    called as the DSL calls a table that it reads from a topic."""

    number: int
    topology: str
    is_global: bool
    sources: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    sinks: list[str] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)
    fed: dict[str, list[str]] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)


def parse_topology(text: str) -> list[DescribedSubtopology]:
    """All subtopologies of the text, in its order. Raises UnreadableTopology."""
    found: list[DescribedSubtopology] = []
    topology, reader = "", _Nodes()
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.strip()
        if match := _HEAD.match(words):
            found.append(DescribedSubtopology(int(match[1]), topology, match[2] is not None))
        elif words in ("", "Topologies:"):
            continue
        elif match := _TOPOLOGY.match(words):
            topology = match[1]
        elif not found:
            raise UnreadableTopology(f"line {number} comes before any 'Sub-topology:' line")
        elif not reader.read(words, found[-1]):
            raise UnreadableTopology(f"line {number} is neither a source, a processor nor a sink: {words[:60]}")
    return found


def topology_error(text: str) -> str | None:
    """Why a text is no description of a topology; None if it is one."""
    try:
        return None if parse_topology(text) else "it has no line 'Sub-topology: 0'"
    except UnreadableTopology as why:
        return str(why)


class _Nodes:
    """Lines of nodes, one after another."""

    def __init__(self) -> None:
        self._topics_of: dict[str, list[str]] = {}
        self._stores: list[str] = []

    def read(self, words: str, part: DescribedSubtopology) -> bool:
        """Add what the line says to the subtopology; False for a line of another kind."""
        if match := _SOURCE.match(words):
            self._stores = []
            if match[2] is None:
                part.patterns.append(match[3])
            else:
                self._topics_of[match[1]] = _listed(match[2])
                part.sources += self._topics_of[match[1]]
        elif match := _PROCESSOR.match(words):
            self._stores = _listed(match[2])
            part.stores += self._stores
            if match[1].startswith(_TABLE):
                part.tables.update(self._stores)
        elif match := _SINK.match(words):
            self._stores = []
            part.sinks.append(match[2])
        elif words.startswith("<--"):
            feeding = [topic for node in _listed(words[3:]) for topic in self._topics_of.get(node, ())]
            for store in self._stores:
                part.fed.setdefault(store, []).extend(feeding)
        else:
            return words.startswith(("-->", "Sink:"))
        return True


def subtopologies(
    described: Iterable[DescribedSubtopology],
    application_id: str,
    topics: Collection[str],
    changelog_of: Callable[[str, str, DescribedSubtopology], str | None],
) -> list[Subtopology]:
    """The subtopologies that make tasks. `topics` are those that patterns may match; `changelog_of` tells the changelog
    of a store from its conventional name, the store and the subtopology, None for a store that is not logged."""
    parts = list(described)
    written = {(part.topology, sink) for part in parts for sink in part.sinks}
    made = []
    for part in parts:
        if part.is_global:
            continue
        prefix = f"{application_id}-{part.topology}" if part.topology else application_id
        internal = {
            source for source in part.sources if (part.topology, source) in written and source.endswith(_REPARTITION)
        }
        full = {name: f"{prefix}-{name}" for name in (*internal, *_internal_sinks(part, parts))}
        sources = [full.get(source, source) for source in part.sources] + _matching(part.patterns, topics)
        if not sources:
            continue
        stores = dict.fromkeys(part.stores)
        changelogs = (changelog_of(f"{prefix}-{store}-changelog", store, part) for store in stores)
        made.append(
            Subtopology(
                number=part.number,
                sources=tuple(dict.fromkeys(sources)),
                sinks=frozenset(full.get(sink, sink) for sink in part.sinks),
                repartition_sources={full[name]: None for name in part.sources if name in internal},
                changelogs=tuple(dict.fromkeys(topic for topic in changelogs if topic is not None)),
                stores=frozenset(stores),
                topology=part.topology,
            )
        )
    return made


def _internal_sinks(part: DescribedSubtopology, parts: Iterable[DescribedSubtopology]) -> list[str]:
    read = {source for one in parts if one.topology == part.topology for source in one.sources}
    return [sink for sink in part.sinks if sink in read and sink.endswith(_REPARTITION)]


def _matching(patterns: Iterable[str], topics: Collection[str]) -> list[str]:
    return [topic for pattern in patterns for topic in sorted(topics) if re.fullmatch(pattern, topic)]


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
