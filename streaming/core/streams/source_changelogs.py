"""Which sub-topologies may have a source topic as changelog, instead of a changelog topic of their own.

With `topology.optimization` a table that is read from a topic has no changelog: the topic itself is restored from. Its
end offset is then the group's committed offset (streams.md 3.6.1), and a member may report more than that: it counts as
a process that holds nothing.

    Source: S (topics: [in])  -->  Processor: P (stores: [in-store])      app-in-store-changelog exists: no
                                                                          it does not: `in` may be the changelog

Where nobody samples topics, the text alone suggests it of a store that the DSL calls a table's. Without the text, a
sub-topology has a changelog of its own if a sampled changelog of the application has as many partitions as the
sub-topology has tasks.
"""

from collections.abc import Iterator

from rebalance_monitor.streaming.core.cluster.changelogs import is_changelog
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.streams.described import stores_read_directly
from rebalance_monitor.streaming.core.streams.sampled_ends import changelog_of
from rebalance_monitor.streaming.core.streams.topology import Key, Seen


def from_sources(topics: TopicHistory, text: str | None, application: str, seen: Seen) -> frozenset[Key]:
    """Those sub-topologies, as far as the text and the samples of topics do not exclude it."""
    if text is None:
        counts = set(_changelog_counts(topics, application))
        return frozenset(part.key for part in seen if topics.topics and len(part.tasks()) not in counts)
    stores = stores_read_directly(text, tables=not topics.topics)
    return frozenset(
        part.key
        for part in seen
        if any(changelog_of(application, part.key, store) not in topics.topics for store in stores.get(part.key, ()))
    )


def _changelog_counts(topics: TopicHistory, application: str) -> Iterator[int]:
    for name, changes in topics.topics.items():
        if is_changelog(name, application):
            yield from (len(change.content) for change in changes if change.content is not None)
