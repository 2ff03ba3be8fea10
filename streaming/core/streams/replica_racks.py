"""What samples tell of the racks that a Streams leader may have looked at, and how sure that is.

Theory (streams.md 6.4.1, 6.4.2). A leader with a rack strategy counts the partitions of a task that have no replica in
a process's rack. It looks at racks only if it knows the rack of every replica: of all source partitions, and of all
changelog partitions if there are standbys. Otherwise it places tasks as without a strategy.

No record holds racks. A sample of the topics does, but a leader's own metadata may be older or newer than the sample:

    10:00:00 sample      in-0: racks a, b
    10:00:07 record      the leader may know this, or what holds from some time before 10:00:30 on
    10:00:30 sample      in-0: racks a, c

Both contents are tried, and then neither is sure. Which changelogs a sub-topology has, the topology's text tells: it
names the stores, and a store with a log has the topic `<application>-<store>-changelog`. Without a text a changelog
goes to the only sub-topology that has as many tasks as it has partitions, which is a guess.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rebalance_monitor.streaming.core.cluster.changelogs import is_changelog
from rebalance_monitor.streaming.core.cluster.topics import (
    CLOCKS_APART_MS,
    METADATA_MAX_AGE_MS,
    RacksByReplica,
    TopicHistory,
)
from .sampled_ends import changelogs_of
from .topology import Key, Seen, SubtopologySeen

MOST_VIEWS = 3
"""Contents of samples that are tried for one record."""

TopicsByReplica = Mapping[str, RacksByReplica]

_NO_SAMPLE = "no sample of the topics tells the racks of their replicas at this time"
_OLD = "the last sample of the topics is too old to tell the racks of their replicas"
_NO_LATER = (
    "no sample of the topics was taken after the record, so the racks of their replicas may have changed before it"
)
_CHANGED = "replicas or the racks of brokers changed around this time"
_TOPICS = "no sample shows all partitions of {}"
_CHANGELOGS = "which changelogs sub-topology {} has is not known"


@dataclass(frozen=True, slots=True)
class RackView:
    """What a leader may have known: the racks of the replicas of each source topic, and of the changelogs of each
    sub-topology that has some."""

    sources: TopicsByReplica
    changelogs: Mapping[Key, TopicsByReplica] = field(default_factory=dict)

    def tells(self, stateful: Iterable[Key], *, with_changelogs: bool) -> bool:
        """Whether everything that a leader looks at is there, known or not known."""
        return not with_changelogs or all(self.changelogs.get(key) for key in stateful)

    def complete(self, stateful: Iterable[Key], *, with_changelogs: bool) -> bool:
        """Whether the rack of every replica that counts is known, so that a leader looks at racks."""
        topics = [*self.sources.values()]
        if with_changelogs:
            topics += [racks for key in stateful for racks in self.changelogs.get(key, {}).values()]
        return all(replicas and None not in replicas for partitions in topics for replicas in partitions)


@dataclass(frozen=True, slots=True)
class KnownRacks:
    """The contents that are possible, the likeliest first. `doubt`: why they may be others, empty where the one there
    is is sure; `of_changelogs`: the same of changelogs alone, which count only where there are standbys."""

    views: tuple[RackView, ...] = ()
    doubt: str = _NO_SAMPLE
    of_changelogs: str = ""

    def why(self, *, with_changelogs: bool) -> str:
        """The doubt; empty where there is none."""
        return self.doubt or (self.of_changelogs if with_changelogs else "")


NO_RACKS = KnownRacks()


def known_racks(
    topics: TopicHistory, text: str | None, application: str, seen: Seen, at_ms: int, until_ms: int | None = None
) -> KnownRacks:
    """The racks around this time. `text`: the topology's text; `until_ms`: when the record was surely written, by the
    monitor's clock."""
    told = {key: frozenset(names) for key, names in changelogs_of(text, application).items()}
    guessed = [name for name in topics.topics if is_changelog(name, application)] if text is None else []
    sources = [topic for part in seen for topic in part.topics]
    wanted = [*sources, *(name for names in told.values() for name in names), *guessed]
    contents = _contents(topics, wanted, at_ms)
    if not contents:
        return NO_RACKS
    missing = [
        topic
        for part in seen
        for topic, count in part.topics.items()
        if any(len(one.get(topic, ())) < count for one in contents)
    ]
    if missing:
        return KnownRacks(doubt=_TOPICS.format(missing[0]))
    views = tuple(
        RackView(
            {topic: one[topic][:count] for part in seen for topic, count in part.topics.items()},
            {part.key: _changelogs(part, one, told, guessed, seen) for part in seen},
        )
        for one in contents
    )
    doubt = ""
    if topics.answered_ms is None or topics.answered_ms < at_ms - METADATA_MAX_AGE_MS:
        doubt = _OLD
    elif topics.asked_ms is None or topics.asked_ms < (at_ms if until_ms is None else until_ms):
        doubt = _NO_LATER
    elif any(view.sources != views[0].sources for view in views) or not topics.shown(sources, at_ms).keys() >= set(
        sources
    ):
        doubt = _CHANGED
    unsure = [part for part in seen if not _changelogs_known(part, told, views)]
    number = next((f"{part.name}__{part.number}" if part.name else str(part.number) for part in unsure), "")
    of_changelogs = _CHANGELOGS.format(number) if unsure else "" if len(views) == 1 else _CHANGED
    return KnownRacks(views, doubt, of_changelogs)


def _changelogs_known(part: SubtopologySeen, told: Mapping[Key, frozenset[str]], views: Iterable[RackView]) -> bool:
    names = told.get(part.key, frozenset())
    if names:
        return all(view.changelogs[part.key].keys() == names for view in views)
    return not part.stateful if told else part.state_known is False


def _contents(topics: TopicHistory, wanted: Sequence[str], at_ms: int) -> list[dict[str, RacksByReplica]]:
    """What samples around this time show of these topics, each content once, the last one before the time first. A
    topic that one of them does not show was created since, with the replicas that the next one shows."""
    moments = topics.moments(wanted)
    before = [one.at_ms for one in moments if one.at_ms <= at_ms]
    oldest_ms = at_ms - METADATA_MAX_AGE_MS - CLOCKS_APART_MS
    held = before[-1:] + [one for one, until in pairwise(before) if until > oldest_ms][::-1]
    later = [one.at_ms for one in moments if one.at_ms > at_ms and one.after_ms <= at_ms + CLOCKS_APART_MS]
    shown = [topics.replica_racks(wanted, at) for at in (*held, *later)]
    everything = {name: racks for one in reversed(shown) for name, racks in one.items()}
    found: list[dict[str, RacksByReplica]] = []
    for by_topic in shown:
        whole = {**everything, **by_topic}
        if whole not in found:
            found.append(whole)
    return found[:MOST_VIEWS]


def _changelogs(
    part: SubtopologySeen,
    content: TopicsByReplica,
    told: Mapping[Key, frozenset[str]],
    guessed: Sequence[str],
    seen: Seen,
) -> TopicsByReplica:
    """The changelogs of a sub-topology as far as the content shows all their partitions."""
    count = max(part.topics.values(), default=0)
    names: Iterable[str] = told.get(part.key, frozenset())
    if guessed:
        alike = [one for one in seen if one.state_known is not False and max(one.topics.values(), default=0) == count]
        names = guessed if alike == [part] else ()
    return {name: content[name] for name in sorted(names) if len(content.get(name, ())) == count}
