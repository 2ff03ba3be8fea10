"""What becomes of a group whose fold failed, so that it costs nobody else anything. Pure: the shell catches and logs.

    records of the failed fold    committed as `not_judged: internal error`, with coordinates and the fingerprint
    the state before              put aside, bounded, for whoever mends the error
    the group                     begins anew, as if seen for the first time; its open incidents end with the reason
    `monitor_error`               opens, and ends as `streaming.core.fold.recovery` says

The configuration so far is carried over where it can be read, because no later record teaches it again; a second error
while `monitor_error` is open begins without it, in case it is what fails.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import assert_never

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.incidents.book import Book, Pages
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.of_every_group import MONITOR_ERROR
from rebalance_monitor.streaming.core.incidents.transitions import Moment
from rebalance_monitor.streaming.core.model.codec import CodecError, dumps, loads
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import (
    Gap,
    GroupDeleted,
    GroupGeneration,
    OtherGroup,
    Row,
    Tick,
    TopicRecord,
    Undecodable,
    Waiting,
)
from rebalance_monitor.streaming.core.model.results import (
    Certainty,
    Evidence,
    GapRecord,
    Generation,
    Grade,
    Incident,
    Result,
    Source,
    Standing,
    Subject,
    UndecodableRecord,
    Verdict,
)
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import FoldError, KeptState
from . import conversion, recovery
from .fold import FoldOutcome
from .parts import bodies_of, left_open, part_of
from .published import MemberShares, blobs_of, member_result, source_of
from .registry import Registry
from .state import NOTHING, STATE_VERSION, Envelope, Failing, Queue, Saved, stored

KEPT_BYTES = 4 * 1024 * 1024
"""Of a state put aside, and of the records with it; what is longer is cut."""
KEPT_FINGERPRINTS = 8
KEPT_EVIDENCE = 8
ENDED_FAILED = (
    "ended because the monitor failed at a record of the group and began it anew (monitor_error): what still holds is "
    "found again"
)
LAST_MS = 253_402_300_799_999
"""The end of the year 9999: no incident is dated behind it, whatever a record says."""


def failed(
    registry: Registry,
    settings: ClusterSettings,
    group: str,
    state: Saved | None,
    rows: Sequence[Row],
    tick: Tick | None,
    error: FoldError,
) -> FoldOutcome:
    """The outcome of a fold of these rows from this state, which failed with `error`."""
    before = state.lines if state is not None else b""
    waiting, queue = _given_up(before, state.waiting if state is not None else NOTHING)
    at_ms = _at_ms(tick, [*waiting, *rows])
    known = part_of(before, "failing", Failing)
    held = left_open(before)
    mine = next((one for one in held if one.code == MONITOR_ERROR.code and one.resolved_at_ms is None), None)
    incarnation = part_of(before, "incarnation", int) or 0
    lives = _lives(incarnation, [*waiting, *rows])
    moment = Moment(cluster=settings.name, group=group, incarnation=incarnation, generation=0, at_ms=at_ms)
    again = mine is not None and known is not None
    anew = Envelope(
        incarnation=max(lives.values(), default=incarnation) + 1,
        topic_ids=part_of(before, "topic_ids", dict[str, str]) or {},
        next_offsets=_next_offsets(before, rows),
        failing=_failing(known if again else None, error, at_ms),
        queue=queue,
        home=part_of(before, "home", str),
    )
    book = Book(registry.catalogue, settings, group, Pages())
    orphans = [one for one in held if one is not mine]
    told = book.end(orphans, moment, ENDED_FAILED)
    if mine is None:
        told += book.note(Notice(moment=moment, found=(_finding(group, error),)))
    else:
        if known is None or error.fingerprint not in known.fingerprints[-KEPT_FINGERPRINTS:]:
            mine = replace(mine, transition="updated", message=_message(group, error), evidence=_evidence(mine, error))
            told.append(mine)
        book.put(mine)
    told += book.attend(at_ms)
    historic = tick is not None and tick.historic
    results = list(_published(settings, group, lives, [*waiting, *rows], error, historic=historic))
    blobs = {
        name: blob for row in rows if isinstance(row.body, GroupGeneration) for name, blob in blobs_of(row.body).items()
    }
    kept = _kept(registry, settings, group, before, rows, error)
    return FoldOutcome(
        stored(replace(anew, book=book.pages()), {} if again else _salvaged(registry, before), _left(state, queue)),
        recovery.due_ms(anew),
        (*results, *told),
        blobs,
        errors=(error,),
        kept=(kept,),
        waits=(queue.first, queue.end),
        wants_waiting=queue.end > 0,
        home=anew.home,
    )


def _given_up(before: bytes, rows: Mapping[int, bytes]) -> tuple[list[Row], Queue]:
    """The waiting records that were given to the failed fold, as far as they can be read, and the queue without them.
    What else waits is judged when its turn comes, by the group begun anew."""
    queue = part_of(before, "queue", Queue) or Queue()
    found, first = [], queue.first
    while first < queue.end and first in rows:
        with suppress(CodecError, UnicodeDecodeError):
            found.append(loads(Waiting, rows[first].decode("utf-8", "surrogatepass")).row)
        first += 1
    if first >= queue.end:
        return found, Queue()
    falls = tuple(one for one in queue.falls if one[0] >= first)
    return found, replace(queue, first=first, announced=max(first, queue.announced), falls=falls)


def _left(state: Saved | None, queue: Queue) -> Mapping[int, bytes]:
    waiting = state.waiting if state is not None else NOTHING
    return {at: row for at, row in waiting.items() if queue.first <= at < queue.end}


def _salvaged(registry: Registry, before: bytes) -> dict[str, str]:
    """What no later record teaches again."""
    found = {name: registry.named(name).salvage(text) for name, text in bodies_of(before) if name in registry.names}
    return {name: text for name, text in found.items() if text is not None}


def _lives(incarnation: int, rows: Iterable[Row]) -> dict[Source, int]:
    """The incarnation of each generation among these records. Nothing ties them to the life before, nor what follows to
    them: each counts as another, in which no number of a generation falls."""
    found: dict[Source, int] = {}
    newest, life = 0, incarnation + 1
    for row in rows:
        if isinstance(row.body, GroupGeneration):
            life += row.body.generation < newest
            newest = row.body.generation
            found[source_of(row)] = life
    return found


def place_of(record: Source | None) -> str:
    return "no record" if record is None else f"{record.topic}-{record.partition} offset {record.offset}"


def _at_ms(tick: Tick | None, rows: Iterable[Row]) -> int:
    at_ms = tick.now_ms if tick is not None else max((row.timestamp_ms for row in rows), default=0)
    return min(max(at_ms, 0), LAST_MS)


def _next_offsets(before: bytes, rows: Iterable[Row]) -> dict[str, int]:
    found = part_of(before, "next_offsets", dict[str, int]) or {}
    for row in rows:
        place = f"{row.topic}-{row.partition}"
        end = row.body.to_offset if isinstance(row.body, Gap) else row.offset + 1
        found[place] = max(found.get(place, 0), end)
    return found


def _failing(known: Failing | None, error: FoldError, at_ms: int) -> Failing:
    if known is None:
        return Failing(at_ms, (error.fingerprint,))
    fingerprints = tuple(dict.fromkeys((*known.fingerprints, error.fingerprint)))[-KEPT_FINGERPRINTS:]
    return Failing(at_ms, fingerprints, known.times + 1)


def _message(group: str, error: FoldError) -> str:
    where = "as time went on" if error.record is None else f"at {place_of(error.record)}"
    return (
        f"the monitor failed {where} while it folded group {group} ({error.fingerprint}): its records there are not "
        "judged, and it was begun anew"
    )


def _evidence(mine: Incident | None, error: FoldError) -> tuple[Evidence, ...]:
    said = Evidence(source=error.record) if error.record is not None else Evidence(text=f"error {error.fingerprint}")
    return tuple(dict.fromkeys((*(mine.evidence if mine is not None else ()), said)))[-KEPT_EVIDENCE:]


def _finding(group: str, error: FoldError) -> Finding:
    return Finding(
        rule=MONITOR_ERROR,
        severity=MONITOR_ERROR.severity,
        certainty=Certainty.CERTAIN,
        subjects=(Subject("group", group),),
        message=_message(group, error),
        evidence=_evidence(None, error),
    )


def _published(
    settings: ClusterSettings,
    group: str,
    lives: Mapping[Source, int],
    rows: Sequence[Row],
    error: FoldError,
    *,
    historic: bool,
) -> Iterator[Result]:
    """What is said of records that could not be folded: that they were there."""
    records = [row for row in rows if isinstance(row.body, GroupGeneration | GroupDeleted | OtherGroup)]
    following = dict(zip(map(source_of, records), records[1:], strict=False))
    for row in rows:
        source, body = source_of(row), row.body
        match body:
            case GroupGeneration(members=members):
                if members:
                    yield _generation(settings, group, lives[source], row, body, error, historic=historic)
                state = "Stable" if members else "Empty"
                yield Standing(cluster=settings.name, group=group, state=state, at_ms=row.timestamp_ms)
            case GroupDeleted():
                if conversion.goes_on(row, following.get(source)):
                    continue
                # The last record read may be the first of a conversion.
                state = "Dead" if source in following else "Unknown"
                yield Standing(cluster=settings.name, group=group, state=state, at_ms=row.timestamp_ms)
            case Undecodable():
                if row.group is not None or not group:
                    yield UndecodableRecord(
                        cluster=settings.name,
                        source=source,
                        reason=body.reason,
                        size_bytes=body.size_bytes,
                        sample=body.sample,
                    )
            case Gap():
                if not group:
                    yield GapRecord(
                        cluster=settings.name,
                        topic=row.topic,
                        partition=row.partition,
                        from_offset=row.offset,
                        to_offset=body.to_offset,
                        reason=body.reason,
                    )
            case TopicRecord() | OtherGroup():
                continue  # they publish nothing by themselves
            case _:
                assert_never(body)


def _generation(
    settings: ClusterSettings,
    group: str,
    incarnation: int,
    row: Row,
    body: GroupGeneration,
    error: FoldError,
    *,
    historic: bool,
) -> Generation:
    text = f"internal error {error.fingerprint} at {place_of(error.record or source_of(row))}"
    return Generation(
        cluster=settings.name,
        group=group,
        incarnation=incarnation,
        protocol_type=body.protocol_type,
        protocol=body.protocol,
        generation=body.generation,
        leader=body.leader,
        at_ms=row.timestamp_ms,
        state_ms=body.state_ms if body.state_ms >= 0 else None,
        source=source_of(row),
        # Nothing that would have to be read out of their bytes.
        members=tuple(member_result(member, MemberShares()) for member in body.members),
        verdict=Verdict(grade=Grade.NOT_JUDGED, reason=Reason(ReasonKind.INTERNAL_ERROR, text)),
        settled=True,
        historic=historic,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeptRow:
    """A row of a lifecycle's topic as text."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    lifecycle: str
    record: str


def _text(registry: Registry, row: Row) -> str:
    if not isinstance(row.body, TopicRecord):
        return dumps(row)
    kept = _KeptRow(
        topic=row.topic,
        partition=row.partition,
        offset=row.offset,
        timestamp_ms=row.timestamp_ms,
        lifecycle=registry.owner(row.body).name,
        record=registry.reader_of(row.body).written(row.body),
    )
    return dumps(kept)


def _kept(
    registry: Registry, settings: ClusterSettings, group: str, before: bytes, rows: Iterable[Row], error: FoldError
) -> KeptState:
    text = bytearray()
    for row in rows:
        if len(text) < KEPT_BYTES:
            text += _text(registry, row).encode("utf-8", "surrogatepass") + b"\n"
    return KeptState(
        cluster=settings.name,
        group=group,
        fingerprint=error.fingerprint,
        record=place_of(error.record),
        version=STATE_VERSION,
        state=before[:KEPT_BYTES],
        rows=bytes(text[:KEPT_BYTES]),
    )
