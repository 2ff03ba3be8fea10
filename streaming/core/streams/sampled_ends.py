"""Between which sums the end offsets of a task's changelogs lay when the leader asked for them, by samples.

A leader asks after the join phase has ended, and before the record is written:

    sample answered   join phase ends   leader asks   record    sample asked
    least             (in the record)                 (its time)  most

Both times in the record are of the coordinator's clock, so each may be `SKEW_MS` off; but what was read was written
before. Which changelogs a task has, only the topology's text tells: `<application>-<store>-changelog` of each store of
its sub-topology. Where one of them was not sampled (a store without a log, or one whose changelog is a source topic),
nothing is known of that sub-topology.

A member may report more than `most` only if its report is of another changelog (`held_at_most`). This can be, and is
nobody's mistake, where samples saw a changelog made anew or cut; and a directory may still have a store that the text
does not name any more.

A sub-topology may have a source topic as changelog, instead of a topic of its own (`from_sources`). With
`topology.optimization` a table that is read from a topic has no changelog: the topic itself is restored from. Its end
offset is then the group's committed offset (streams.md 3.6.1), and a member may report more than that: it counts as a
process that holds nothing.

    Source: S (topics: [in])  -->  Processor: P (stores: [in-store])      app-in-store-changelog exists: no
                                                                          it does not: `in` may be the changelog

Where nobody samples topics, the text alone suggests it of a store that the DSL calls a table's. Without the text, a
sub-topology has a changelog of its own if a sampled changelog of the application has as many partitions as the
sub-topology has tasks.
"""

from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import chain, pairwise
from operator import add

from rebalance_monitor.assignors.streams.tasks import TaskId
from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.cluster.changelogs import is_changelog
from rebalance_monitor.streaming.core.cluster.end_offsets import EndBounds, bounds_of
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.fold.published import body_of
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Waiting
from .described import store_names, stores_read_directly
from .topology import Key, Seen, key_of


def changelogs_of(text: str | None, application: str) -> dict[Key, tuple[str, ...]]:
    """The changelog topics of each sub-topology that has stores, by the topology's text."""
    return {
        key: tuple(changelog_of(application, key, store) for store in sorted(stores))
        for key, stores in store_names(text or "").items()
        if stores
    }


def changelog_of(application: str, key: Key, store: str) -> str:
    """The changelog topic of a store, as Kafka Streams names it."""
    _, topology = key
    return "-".join(part for part in (application, topology, store, "changelog") if part)


def bounds_by_task(
    topics: TopicHistory, text: str | None, application: str, seen: Seen, row: Row, head: Waiting | None
) -> dict[TaskId, EndBounds]:
    """The bounds of each task of which all changelogs were sampled before and after."""
    asked_ms = asked_from_ms(body_of(row))
    if asked_ms is None:
        return {}
    found: dict[TaskId, EndBounds] = {}
    changelogs = changelogs_of(text, application)
    for part in seen:
        names, tasks = changelogs.get(part.key, ()), part.tasks()
        told = [bounds_of(topics.ends_of(name), asked_ms, written_until_ms(row, head)) for name in names]
        known = [bounds for bounds in told if bounds is not None and len(bounds) == len(tasks)]
        if names and len(known) == len(names):
            found.update({task: reduce(add, (bounds[task.partition] for bounds in known)) for task in tasks})
    return found


def held_at_most(
    topics: TopicHistory, text: str | None, application: str, bounds: Mapping[TaskId, EndBounds]
) -> dict[TaskId, int]:
    """The most that members can report of each task of `bounds` whose changelogs have lived on."""
    changelogs = changelogs_of(text, application)
    named = frozenset(chain(*changelogs.values()))
    if any(is_changelog(name, application) and name not in named for name in topics.topics):
        return {}
    lived = {key for key, names in changelogs.items() if all(_unbroken(topics, name) for name in names)}
    return {task: its.most for task, its in bounds.items() if key_of(task) in lived}


def _unbroken(topics: TopicHistory, name: str) -> bool:
    """Whether no sample saw the topic anew, gone or shorter than before. It may get more partitions."""
    samples = pairwise(topics.ends_of(name))
    return (
        len(topics.ids.get(name, ())) == 1
        and all(change.content is not None for change in topics.topics.get(name, ()))
        and all(end <= later for one, next_ in samples for end, later in zip(one.ends, next_.ends, strict=False))
    )


def written_until_ms(row: Row, head: Waiting | None) -> int:
    """When the record was surely written, by the monitor's clock."""
    until_ms = row.timestamp_ms + SKEW_MS
    return min(until_ms, head.arrived_ms) if head is not None and head.row is row and head.ticked else until_ms


def asked_from_ms(body: GroupGeneration) -> int | None:
    """When the leader asked at the earliest, by the monitor's clock; None for a record that does not tell when the
    join phase ended."""
    return body.state_ms - SKEW_MS if body.state_ms > 0 else None


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
