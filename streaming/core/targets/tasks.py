"""The tasks of a Streams group: which there are by the topology and the topics, and which topics a task reads.

A subtopology has as many tasks as the largest of its source topics has partitions; what it writes to itself between
two subtopologies (repartition topics) counts as a source of the second. It has state if it has a changelog.

    subtopology 0    reads a (3 partitions)                         0_0 0_1 0_2
    subtopology 1    reads app-repartition (2), has a changelog     1_0 1_1

The coordinator computes no tasks while one of the topics, changelogs included, is not there: then all targets are
empty. Whether it found them all stands in the record of the group (4.2). How many partitions they have stands in no
record; samples of the topics show it, or else the targets themselves.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from rebalance_monitor.assignors.broker.streams_model import Subtopology
from rebalance_monitor.schemas.streams_values import SubtopologyInfo, Topology
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from .group import TargetGroup
from .reasons import INFERRED, OTHER_TOPICS
from .topics import bounds_ms, moments_around
from .units import ACTIVE, tasks_in

STANDBYS = "num.standby.replicas"
NOT_READY = Reason(ReasonKind.UNKNOWN_TOPICS, "nobody was given a task: topics of the topology may have been missing")


@dataclass(frozen=True, slots=True)
class TopologyView:
    """The subtopologies as the coordinator may have known them; None where topics were missing, so that it computed no
    tasks. `why`: what is assumed; None where nothing is. `sampled`: whether samples of the topics show it."""

    subtopologies: tuple[Subtopology, ...] | None
    why: Reason | None = None
    sampled: bool = True

    @property
    def counts(self) -> dict[str, int]:
        return {one.id: one.partitions for one in self.subtopologies or ()}


def standbys_of(configs: tuple[tuple[str, str], ...] | None) -> int | None:
    """The number of standbys that the record of the group states; None where it states none."""
    text = dict(configs or ()).get(STANDBYS)
    return int(text) if text is not None and text.isdecimal() else None


def sources_of(subtopology: SubtopologyInfo) -> tuple[str, ...]:
    return (*subtopology.sources, *(topic.name for topic in subtopology.repartition_sources))


def topics_of(topology: Topology) -> list[str]:
    """Every topic that must be there before tasks are computed."""
    of = topology.subtopologies
    return sorted({name for one in of for name in (*sources_of(one), *(topic.name for topic in one.changelogs))})


def counted(topology: Topology, counts: Mapping[str, int]) -> tuple[Subtopology, ...] | None:
    """The subtopologies with these partition counts; None if a topic is missing."""
    if any(name not in counts for name in topics_of(topology)):
        return None
    return tuple(
        Subtopology(
            id=one.id,
            partitions=max((counts[name] for name in sources_of(one)), default=0),
            stateful=bool(one.changelogs),
        )
        for one in topology.subtopologies
    )


def views(group: TargetGroup, history: TopicHistory, at_ms: int) -> list[TopologyView]:
    """How the coordinator may have known the topology at this time, the likeliest first, each once. Where no sample was
    taken before, or none shows all tasks that were given, the targets themselves tell, too."""
    topology = group.topology
    if topology is None:
        return []
    if group.topics_there is False:
        return [TopologyView(None)]
    names = topics_of(topology)
    found: list[TopologyView] = []
    for counts in _sampled(history, names, moments_around(history, names, at_ms)):
        known = counted(topology, counts)
        if known is None and group.topics_there:
            continue
        if known not in [one.subtopologies for one in found]:
            found.append(TopologyView(known, OTHER_TOPICS if found else None))
    guessed = inferred(group, topology)
    if guessed is None:
        return found
    before = any(one.at_ms <= at_ms for one in history.moments(names))
    if not before or not any(fits(group, one) for one in found):
        return [*found, guessed]
    bounds = [counted(topology, counts) for counts in _sampled(history, names, bounds_ms(history, names, at_ms))]
    return [*found, TopologyView(guessed.subtopologies, OTHER_TOPICS)] if _between(guessed, bounds) else found


def _between(guessed: TopologyView, bounds: list[tuple[Subtopology, ...] | None]) -> bool:
    """Whether several topics may have changed one after the other between two samples, and this was true meanwhile:
    each subtopology has as many tasks as one of them shows, or a number between; any lower one where topics were made
    meanwhile."""
    shown = [TopologyView(one).counts for one in bounds if one is not None]
    if not shown or len(bounds) < 2 or guessed.subtopologies is None:
        return False
    made = any(before is None and after is not None for before, after in pairwise(bounds))
    least = {name: 0 if made else min(one[name] for one in shown) for name in guessed.counts}
    most = {name: max(one[name] for one in shown) for name in guessed.counts}
    return all(least[name] <= count <= most[name] for name, count in guessed.counts.items())


def fits(group: TargetGroup, view: TopologyView) -> bool:
    """Whether the targets hold no other tasks than these."""
    counts = view.counts
    wanted = tasks_in(unit for member in group.members.values() for unit in member.wanted())
    return all(number < counts.get(name, 0) for _, name, number in wanted)


def holed(group: TargetGroup) -> bool:
    """Whether nobody is to run a task of a subtopology of which somebody runs a later one: the coordinator gives out
    all of them, however many there are."""
    given: dict[str, set[int]] = {}
    for role, name, number in tasks_in(unit for member in group.members.values() for unit in member.wanted()):
        if role == ACTIVE:
            given.setdefault(name, set()).add(number)
    return any(max(of) + 1 != len(of) for of in given.values())


def shown(group: TargetGroup, history: TopicHistory, at_ms: int) -> dict[str, int]:
    """The number of tasks by subtopology, by the last sample until then; of no subtopology where none tells."""
    if group.topology is None:
        return {}
    names = topics_of(group.topology)
    counts = {name: len(racks) for name, racks in history.shown(names, at_ms).items()}
    return TopologyView(counted(group.topology, counts)).counts


def turns_ms(group: TargetGroup, history: TopicHistory) -> list[int]:
    """The times in order from which on `shown` may give something else than before."""
    names = () if group.topology is None else topics_of(group.topology)
    return sorted({change.at_ms for name in names for change in history.topics.get(name, ())})


def inferred(group: TargetGroup, topology: Topology) -> TopologyView | None:
    """The subtopologies as the targets show them, if these leave no hole; None if they do, or if there is a task of
    another subtopology."""
    given: dict[str, set[int]] = {one.id: set() for one in topology.subtopologies}
    for role, name, number in tasks_in(unit for member in group.members.values() for unit in member.wanted()):
        if name not in given:
            return None
        if role == ACTIVE:
            given[name].add(number)
    if not any(given.values()):
        return None if group.topics_there else TopologyView(None, NOT_READY, sampled=False)
    if any(not of or max(of) + 1 != len(of) for of in given.values()):
        return None
    stateful = {one.id for one in topology.subtopologies if one.changelogs}
    guessed = (Subtopology(id=name, partitions=len(of), stateful=name in stateful) for name, of in given.items())
    return TopologyView(tuple(guessed), INFERRED, sampled=False)


def _sampled(history: TopicHistory, names: list[str], times_ms: Iterable[int]) -> Iterator[dict[str, int]]:
    """Partition counts of these topics as samples show them at these times; of none that was not there."""
    for shown_ms in times_ms:
        yield {name: len(racks) for name, racks in history.shown(names, shown_ms).items()}


def reads(group: TargetGroup, history: TopicHistory, at_ms: int) -> dict[str, dict[str, int | None]]:
    """The source topics of each subtopology with their partition counts, None where no sample tells."""
    if group.topology is None:
        return {}
    counts = {name: len(racks) for name, racks in history.shown(topics_of(group.topology), at_ms).items()}
    return {one.id: {name: counts.get(name) for name in sources_of(one)} for one in group.topology.subtopologies}
