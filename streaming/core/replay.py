"""A capture through the fold, without Spark: every generation once and final, every violation once, then the sums."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.connect.topic_names import connect_settings
from rebalance_monitor.streaming.core.connect.whole_inputs import Stamps, Witnesses, lives_of
from rebalance_monitor.streaming.core.incidents.transitions import key_of
from rebalance_monitor.streaming.core.model.printed import OffsetCommit, Summary
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.records import PASSED_OVER, OtherGroup, Row, Tick
from rebalance_monitor.streaming.core.model.results import (
    Aftermath,
    GapRecord,
    Generation,
    Grade,
    Incident,
    Part,
    Result,
    Severity,
    Source,
    UndecodableRecord,
)
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.commits import decode_commit
from rebalance_monitor.streaming.core.reading.decoding import wanted_key_prefix
from rebalance_monitor.streaming.core.reading.other_groups import OtherGroups
from .incidents import grouping
from .lifecycles import REGISTRY, FoldGroup, decode_offsets_record, fold_group, route
from .reading import holes

OFFSETS_TOPIC = "__consumer_offsets"
NO_DIGESTS = b""
HARMFUL = frozenset({Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecord:
    """One captured record; what the capture lacks is None or 0."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    append_time: bool = False
    """Whether `timestamp_ms` is the time of the append, by the clock of the partition's broker."""
    leader_epoch: int | None = None


@dataclass(slots=True)
class Replayed:
    """What came out, and whether something was found (exit code 1). `topics` counts the records of each topic;
    `groups`: whether any record was a group's. `results` are those that the objects are made of, as they came;
    `end_ms`: the latest time that a record carries."""

    objects: list[dict[str, Any]] = field(default_factory=list)
    found: bool = False
    topics: Mapping[str, int] = field(default_factory=dict)
    groups: bool = False
    results: Sequence[Result] = ()
    end_ms: int = 0


def decode(record: RawRecord, settings: ClusterSettings) -> Row | None:
    """The row of a record, by the role its topic has; None for records that never matter."""
    place = (record.topic, record.partition, record.offset, record.timestamp_ms, record.key, record.value)
    if record.topic == OFFSETS_TOPIC:
        row = decode_offsets_record(*place)
        return row if row is None else replace(row, leader_epoch=record.leader_epoch)
    kind = REGISTRY.kind_of(settings, record.topic)
    return None if kind is None else kind.decoder(NO_DIGESTS)(*place)


def replay(
    records: Iterable[RawRecord],
    settings: ClusterSettings,
    *,
    knowledge: Knowledge = NOTHING_KNOWN,
    with_commits: bool = False,
    until_ms: int | None = None,
    fold: FoldGroup = fold_group,
    read: Callable[[RawRecord, ClusterSettings], Row | None] = decode,
) -> Replayed:
    """Everything the fold says about these records; the clock ends at a time that more than one of the clocks they
    carry has reached. `knowledge`: what is known of the cluster beside its groups. `with_commits` decodes the
    offset commits too and lists them, in the records' order, before the sums. `until_ms`: what was known then, without
    the records of later moments; the clock ends there."""
    topics, stamps, groups = Counter[str](), Stamps(), False
    rows: list[Row] = []
    commits: list[OffsetCommit | UndecodableRecord] = []
    others = OtherGroups(settings.name)
    offsets: dict[tuple[str, int], list[int]] = defaultdict(list)
    for record in records:
        if until_ms is not None and record.timestamp_ms > until_ms:
            continue
        topics[record.topic] += 1
        if record.topic == OFFSETS_TOPIC:
            offsets[record.topic, record.partition].append(record.offset)
            place = (record.topic, record.partition, record.offset, record.timestamp_ms)
            stamps.logged(*place, exact=wanted_key_prefix(record.key))
        if with_commits and record.topic == OFFSETS_TOPIC:
            source = Source(record.topic, record.partition, record.offset)
            commit = decode_commit(settings.name, source, record.key, record.value)
            if commit is not None:
                commits.append(commit)
        row = read(record, settings)
        if row is None:
            rows.extend(_passed_over(record, settings))
            continue
        groups = groups or record.topic == OFFSETS_TOPIC
        if isinstance(row.body, OtherGroup) and row.body.record is None:
            others.add(row.body.kind, row.group or "", record.timestamp_ms, record.key, record.value)
            continue
        rows.append(row)
        if record.append_time:
            stamps.appended.add(record.topic)
        stamps.written(row)
    rows = holes.marked(rows, offsets)
    results = folded(rows, stamps, settings, fold, knowledge, until_ms)
    told = replayed(topics.total(), results, commits, others)
    told.topics, told.groups, told.end_ms = dict(topics), groups, stamps.newest_ms()
    return told


def folded(
    rows: Sequence[Row],
    stamps: Stamps,
    settings: ClusterSettings,
    fold: FoldGroup = fold_group,
    knowledge: Knowledge = NOTHING_KNOWN,
    until_ms: int | None = None,
) -> list[Result]:
    """What the fold says of all groups with these rows, a whole input with the `stamps` of all its records. The clock
    ends at `until_ms` where that is given."""
    results: list[Result] = []
    for group, own in route(rows, settings).items():
        witnesses = Witnesses.of(stamps, own)
        end = Tick(witnesses.end_ms() if until_ms is None else until_ms)
        state = None
        *before, last = lives_of(own, connect_settings(settings, group).config_topic)
        for rows_of_a_life in before:
            outcome = fold(settings, group, state, rows_of_a_life, None, knowledge=knowledge, witnesses=witnesses)
            state = outcome.state
            results.extend(outcome.results)
        outcome = fold(settings, group, state, last, end, knowledge=knowledge, end_of_input=True, witnesses=witnesses)
        results.extend(outcome.results)
    return results


def _passed_over(record: RawRecord, settings: ClusterSettings) -> Iterator[Row]:
    """What the status topic says of topics is of no interest, but leaves no hole either."""
    if record.topic == OFFSETS_TOPIC:
        return
    for group in REGISTRY.groups_of_topic(settings, record.topic):
        yield Row(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            timestamp_ms=record.timestamp_ms,
            group=group,
            body=PASSED_OVER,
        )


def replayed(
    count: int,
    results: Sequence[Result],
    commits: Sequence[OffsetCommit | UndecodableRecord] = (),
    others: OtherGroups | None = None,
) -> Replayed:
    """What came out of so many records, by the results of the fold."""
    others = others or OtherGroups("")
    told = Replayed(results=results)
    last_words = {one.source: one for one in results if isinstance(one, Aftermath)}
    generations = sorted(
        (
            last_words[one.source].completed(one) if one.source in last_words else one
            for one in results
            if isinstance(one, Generation)
        ),
        key=lambda one: (one.at_ms, one.source),
    )
    parts = parts_of(one for one in results if isinstance(one, Part))
    last_states = _last_states(one for one in results if isinstance(one, Incident))
    incidents = [
        grouping.whole(one, own) if one.resolved_at_ms is not None and (own := parts.get(one.incident_id)) else one
        for one in last_states
    ]
    results = [*results, *(one for one in commits if isinstance(one, UndecodableRecord))]
    undecodable = sorted((one for one in results if isinstance(one, UndecodableRecord)), key=lambda one: one.source)
    gaps = [one for one in results if isinstance(one, GapRecord)]
    told.objects.extend(map(as_object, generations))
    told.objects.extend(as_object(with_findings(one, parts.get(one.incident_id, ()))) for one in incidents)
    rest: list[Result] = [*undecodable, *gaps]
    told.objects.extend(map(as_object, rest))
    told.objects.extend(as_object(one) for one in commits if isinstance(one, OffsetCommit))
    told.objects.extend(map(as_object, others.seen()))
    grades = Counter(one.verdict.grade.value for one in generations)
    told.found = bool(grades[Grade.UNEXPLAINED.value]) or any(one.severity in HARMFUL for one in incidents)
    told.objects.append(
        as_object(
            Summary(
                records=count,
                generations=len(generations),
                grades={grade.value: grades[grade.value] for grade in Grade},
                violations=dict(sorted(Counter(one.rule for one in incidents).items())),
                undecodable=len(undecodable),
                gaps=len(gaps),
                other_groups=others.counts(),
            )
        )
    )
    return told


def parts_of(published: Iterable[Part]) -> dict[str, list[Part]]:
    """Every finding of each incident as it was last, in the order of their first records."""
    latest: dict[tuple[str, str, int], Part] = {}
    for part in published:
        key = part.incident_id, key_of(part.code, part.subjects), part.opened_at_ms
        said = latest.get(key)
        if said is not None and not part.message:  # the end of a part whose texts are not stored any more
            part = replace(part, message=said.message, evidence=said.evidence, next_step=said.next_step)
        latest[key] = part
    found: dict[str, list[Part]] = {}
    for part in sorted(latest.values(), key=lambda part: (part.opened_at_ms, part.subjects)):
        found.setdefault(part.incident_id, []).append(part)
    return found


def with_findings(incident: Incident, parts: Sequence[Part]) -> Incident:
    """The incident, with its findings where it does not show all of them itself."""
    return replace(incident, findings=tuple(parts)) if len(parts) > 1 or incident.more else incident


def _last_states(incidents: Iterable[Incident]) -> Iterator[Incident]:
    latest: dict[str, Incident] = {}
    for incident in incidents:
        latest[incident.incident_id] = incident
    yield from sorted(latest.values(), key=lambda one: (one.opened_at_ms, one.incident_id))
