"""One generation of a consumer group, or of any other classic group: verdict, causes, what its rules find."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment
from rebalance_monitor.streaming.core.fold import departures, missing_members, static_members
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.missing_members import NOBODY_MISSED, MissedMembers
from rebalance_monitor.streaming.core.fold.published import body_of, diff_of, published_as, source_of
from rebalance_monitor.streaming.core.fold.written_again import first_verdict
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.of_every_group import OUTLIVE_EMPTY
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence, Subject, Verdict
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from . import presumed_client
from .answer import answer_of
from .answered import after_answer
from .catalogue import CONTESTED
from .laws import CONSUMER, ConsumerLaw
from .members import ReadMembers
from .state import ConsumerState, LastJoin
from .subscriptions import shares_of, subscribed
from .unowned import Waits


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
        over = frozenset(one.code for one in view.open().values()) - OUTLIVE_EMPTY
        known = ConsumerState(last=last if body.protocol_type else None)
        return known, [Notice(moment=moment, evaluated=over)]
    holds = {
        member.instance_id or member.member_id: tuple(
            f"{topic}-{number}" for topic, number in member.assignment.partitions
        )
        for member in body.members
        if isinstance(member.assignment, ConsumerAssignment)
    }
    topics = subscribed(body)
    sightings = static_members.seen(state.sightings, body, row.timestamp_ms)
    published = published_as(
        view,
        row,
        shares=shares_of,
        verdict=verdict,
        diff=diff_of(state.holds, holds),
        cause=_causes(view, state, holds, static_members.replaced(state.sightings, sightings), topics, row),
        repeats=again,
    )
    outputs: list[Output] = [published]
    waits, habits = state.waits if again else Waits(), state.habits
    missed = NOBODY_MISSED
    if body.protocol_type == CONSUMER:
        asked, here = tuple(laws), Evidence(source=source)
        found = tuple(finding for law in asked for finding in law.broken(view.group, body, here))
        outputs.append(Notice(moment=moment, found=found, evaluated=frozenset(law.rule.code for law in asked)))
        contested = tuple(static_members.contested(CONTESTED, sightings, row.timestamp_ms, here))
        outputs.append(Notice(moment=moment, found=contested, evaluated=frozenset({CONTESTED.code})))
        missed = _missed(view, state, row)
        outputs.append(missing_members.still_missing(view, missed, moment))
        answer = answer_of(view.group, body, state.holds, here, view.settings.client_libraries, read)
        if answer is not None and not again:
            told = after_answer(view, state, row, answer, moment)
            outputs += told.notices
            waits, habits = told.waits, told.habits
    joined = LastJoin(body.state_ms, departures.shortest_ms(body.members))
    kept = state.first if again else first_verdict(body, source, verdict)
    libraries = view.settings.client_libraries
    answers = state.answers if again else presumed_client.noted(state.answers, body, verdict, libraries)
    since_ms = row.timestamp_ms if state.held_since_ms is None else state.held_since_ms
    after = ConsumerState(
        last=last,
        holds=holds,
        subscribed=tuple(topics[name] for name in holds),
        held_since_ms=since_ms,
        last_join=joined,
        waits=waits,
        sightings=sightings,
        missed=missed,
        first=kept,
        answers=answers,
        habits=habits,
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


def _causes(
    view: GroupView,
    state: ConsumerState,
    holds: Mapping[str, object],
    replaced: Sequence[str],
    topics: Mapping[str, int],
    row: Row,
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
    before = zip(state.holds, state.subscribed, strict=False)
    if changed := [name for name, digest in before if digest and topics.get(name, 0) not in (0, digest)]:
        subjects = _members(sorted(changed))
        found.append(
            Cause(kind="subscription_changed", subjects=subjects, certainty=Certainty.LIKELY, evidence=evidence)
        )
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
