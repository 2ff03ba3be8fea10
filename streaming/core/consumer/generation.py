"""One generation of a consumer group, or of any other classic group: verdict, causes, what its rules find."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment
from rebalance_monitor.streaming.core.consumer import unowned
from rebalance_monitor.streaming.core.consumer.answer import KNOWN, Answer, answer_of
from rebalance_monitor.streaming.core.consumer.answer_laws import ANSWER_LAWS
from rebalance_monitor.streaming.core.consumer.catalogue import CONTESTED
from rebalance_monitor.streaming.core.consumer.laws import CONSUMER, ConsumerLaw
from rebalance_monitor.streaming.core.consumer.member_shares import shares_of
from rebalance_monitor.streaming.core.consumer.read_members import ReadMembers
from rebalance_monitor.streaming.core.consumer.state import ConsumerState, LastJoin
from rebalance_monitor.streaming.core.consumer.unowned import Waits
from rebalance_monitor.streaming.core.fold import departures, missing_members, static_members
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.missing_members import NOBODY_MISSED, MissedMembers
from rebalance_monitor.streaming.core.fold.published import body_of, diff_of, published_as, source_of
from rebalance_monitor.streaming.core.fold.state import LastRecord
from rebalance_monitor.streaming.core.fold.timeouts import timeouts_of
from rebalance_monitor.streaming.core.fold.written_again import first_may_be_missing, first_verdict
from rebalance_monitor.streaming.core.incidents.monitor_error import MONITOR_ERROR
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.transitions import Moment
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence, Subject, Verdict


def judged(
    view: GroupView,
    state: ConsumerState,
    row: Row,
    laws: Iterable[ConsumerLaw],
    verdict: Verdict,
    *,
    again: bool,
    read: ReadMembers | str,
) -> tuple[ConsumerState, list[Output]]:
    """The state after this record with this verdict, what is published of it, and what it says of incidents. `again`:
    it repeats the record before. `read`: its members."""
    body, source = body_of(row), source_of(row)
    moment = view.moment(row.timestamp_ms, generation=body.generation)
    last = LastRecord(source, row.timestamp_ms)
    if not body.members:
        over = frozenset(one.code for one in view.open().values()) - {MONITOR_ERROR.code}
        known = ConsumerState(last=last if body.protocol_type else None)
        return known, [Notice(moment=moment, evaluated=over)]
    first = view.envelope.generation is None
    holds = {
        member.instance_id or member.member_id: tuple(
            f"{topic}-{number}" for topic, number in member.assignment.partitions
        )
        for member in body.members
        if isinstance(member.assignment, ConsumerAssignment)
    }
    sightings = static_members.seen(state.sightings, body, row.timestamp_ms)
    published = published_as(
        view.settings,
        view.group,
        view.envelope,
        row,
        shares=shares_of,
        verdict=verdict,
        diff=diff_of(state.holds, holds),
        cause=_causes(view, state, holds, static_members.replaced(state.sightings, sightings), row),
    )
    outputs: list[Output] = [published]
    waits = state.waits if again else Waits()
    missed = NOBODY_MISSED
    if body.protocol_type == CONSUMER:
        asked, here = tuple(laws), Evidence(source=source)
        found = tuple(finding for law in asked for finding in law.broken(view.group, body, here))
        outputs.append(Notice(moment=moment, found=found, evaluated=frozenset(law.rule.code for law in asked)))
        contested = tuple(static_members.contested(CONTESTED, sightings, row.timestamp_ms, here))
        outputs.append(Notice(moment=moment, found=contested, evaluated=frozenset({CONTESTED.code})))
        missed = _missed(view, state, row)
        outputs.append(missing_members.still(view, missed, moment))
        answer = answer_of(view.group, body, state.holds, here, view.settings.client_libraries, read)
        outdated = _outdated(body) or first_may_be_missing(view.envelope, row)
        if not (again or (first and body.generation > 1)):
            outputs += _answered(answer, body, moment, outdated=outdated)
        if not again and answer is not None and not outdated:
            timeouts = timeouts_of(view.settings, view.group, body)
            before = state.waits if body.sampled is None else unowned.seen_again(state.waits)
            waits = unowned.noted(before, answer, view.knowledge.topics, row.timestamp_ms, timeouts, source)
        if not (again or outdated) and (answer is not None or body.protocol not in KNOWN):
            outputs.append(Notice(moment=moment, found=unowned.still(waits), evaluated=unowned.CODES))
    joined = LastJoin(body.state_ms, departures.shortest_ms(body.members))
    kept = state.first if again else first_verdict(body, source, verdict)
    since_ms = row.timestamp_ms if state.held_since_ms is None else state.held_since_ms
    after = ConsumerState(
        last=last,
        holds=holds,
        held_since_ms=since_ms,
        last_join=joined,
        waits=waits,
        sightings=sightings,
        missed=missed,
        first=kept,
    )
    return after, outputs


def _missed(view: GroupView, state: ConsumerState, row: Row) -> MissedMembers:
    """Static members that went and did not come back, after this record."""
    body, last = body_of(row), state.last_join
    return missing_members.after_record(
        state.missed,
        view,
        body,
        state.sightings,
        state.holds,
        asked=departures.left(last.ended_ms, body.state_ms, last.shortest_ms),
        at_ms=row.timestamp_ms,
        source=source_of(row),
    )


def _answered(answer: Answer | None, body: GroupGeneration, moment: Moment, *, outdated: bool) -> Iterator[Notice]:
    """What the laws of the assignor find. Nothing is said of an answer that cannot be read to its end. `outdated`: what
    members subscribe to may be newer than what they were given."""
    if answer is not None or body.protocol not in KNOWN:
        asked = [law for law in ANSWER_LAWS if not (law.subscribed and outdated)]
        found = () if answer is None else tuple(one for law in asked for one in law.broken(answer))
        yield Notice(moment=moment, found=found, evaluated=frozenset(law.rule.code for law in asked))


def _outdated(body: GroupGeneration) -> bool:
    """Whether a member may have been given its share before it sent what is polled now: a static member that is
    replaced keeps its share, and its group writes the same generation again, which a record shows by its number."""
    return body.sampled is not None and any(member.instance_id is not None for member in body.members)


def _causes(
    view: GroupView, state: ConsumerState, holds: Mapping[str, object], replaced: Sequence[str], row: Row
) -> tuple[Cause, ...]:
    evidence = (Evidence(source=source_of(row)),)
    joined, gone = sorted(set(holds) - set(state.holds)), sorted(set(state.holds) - set(holds))
    found = []
    if replaced:
        found.append(Cause(kind="member_replaced", subjects=_members(replaced), evidence=evidence))
    if joined:
        found.append(Cause(kind="member_joined", subjects=_members(joined), evidence=evidence))
    if gone:
        found += _gone(view, state, gone, body_of(row).state_ms, evidence)
    return tuple(found) or (Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=evidence),)


def _gone(
    view: GroupView, state: ConsumerState, gone: Sequence[str], now_ms: int, evidence: tuple[Evidence, ...]
) -> Iterator[Cause]:
    """Members of the record before that are missing now. Static ones go by their instance id, which is no member id."""
    last = state.last_join
    asked = departures.left(last.ended_ms, now_ms, last.shortest_ms)
    if asked is not None:
        why = Evidence(text=departures.too_soon(last.ended_ms, now_ms, last.shortest_ms))
        yield Cause(kind="member_left", subjects=_members(gone), certainty=asked, evidence=(*evidence, why))
        return
    for text, members in (
        (departures.CANNOT_TELL, [one for one in gone if one in view.envelope.member_ids]),
        (departures.NO_LEAVE_REQUEST, [one for one in gone if one not in view.envelope.member_ids]),
    ):
        if members:
            why = Evidence(text=text)
            yield Cause(kind="member_gone", subjects=_members(members), evidence=(*evidence, why))


def _members(names: Iterable[str]) -> tuple[Subject, ...]:
    return tuple(Subject("member", one) for one in names)
