"""One record of a group becomes a published generation, and moves the group's incidents."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from schemas.connect_protocol import WorkerState
from schemas.connect_topics import ConnectorConfigured, ConnectorDeleted, TasksCommitted
from schemas.consumer_protocol import ConsumerAssignment
from streaming.core import attention, evidence, judge_connect, judge_consumer, leader, rules, timers, unassigned, waits
from streaming.core.causes import connect_causes
from streaming.core.configured import configured_at, unsure_at
from streaming.core.incidents import Moment, settle
from streaming.core.intent import intent_of, remembered
from streaming.core.leader_answers import answered_as
from streaming.core.leader_rounds import Case
from streaming.core.observed import Observed, WorkerView, job_name, observe
from streaming.core.published import body_of, diff_of, published_as, source_of
from streaming.core.records import GroupGeneration, Row
from streaming.core.results import (
    Cause,
    Certainty,
    Evidence,
    Generation,
    Grade,
    Incident,
    Result,
    Subject,
    Verdict,
)
from streaming.core.routing import connect_settings
from streaming.core.rules import headers, sinks
from streaming.core.rules.catalogue import CONSUMER_UNDECODABLE
from streaming.core.rules.catalogue_status import RUNNING_TWICE
from streaming.core.rules.memory import RuleMemory
from streaming.core.rules.remembering import remember
from streaming.core.settings import ClusterSettings, ConnectSettings
from streaming.core.state import GroupState

CONNECT, CONSUMER = "connect", "consumer"
Outcome = tuple[GroupState, list[Result]]


def generation(
    settings: ClusterSettings, group: str, state: GroupState, row: Row, *, missing: str | None, historic: bool
) -> Outcome:
    """Judge one record whose turn has come; `missing` is the reason why its evidence never came."""
    body = body_of(row)
    state = replace(_incarnated(state, body), historic=historic)
    results: list[Result] = []
    if body.members:
        state, found = timers.overdue(settings, group, state, row.timestamp_ms, historic=historic)
        results.extend(found)
    again = _written_again(settings, group, state, row)
    if again is not None:
        judged: list[Result] = [again]
    elif body.protocol_type == CONNECT:
        state, judged = _connect(settings, group, state, row, missing)
    else:
        state, judged = _consumer(settings, group, state, row)
    state, judged = attention.follow(settings, state, judged, row.timestamp_ms)
    results.extend(judged)
    ids = frozenset(member.member_id for member in body.members)
    return replace(state, generation=body.generation, member_ids=ids, deleted=False), results


def _incarnated(state: GroupState, body: GroupGeneration) -> GroupState:
    """A tombstone, a lower number, or the same number with other members starts a new life of the group id.

    What leaders remember outlives the group: it disappears ten minutes after its last member, processes stay.
    """
    if state.generation is None:
        return replace(state, seen_from_start=state.seen_from_start or body.generation <= 1)
    ids = frozenset(member.member_id for member in body.members)
    reused = body.generation == state.generation and bool(ids) and not (ids & state.member_ids)
    if not state.deleted and body.generation >= state.generation and not reused:
        return state
    return replace(
        state,
        incarnation=state.incarnation + 1,
        generation=None,
        seen_from_start=state.deleted or body.generation <= 1,
        last=None,
        unassigned_since_ms={},
        holds={},
        declared={},
        rule_memory=RuleMemory(),
    )


def _connect(settings: ClusterSettings, group: str, state: GroupState, row: Row, missing: str | None) -> Outcome:
    body, source = body_of(row), source_of(row)
    observed = observe(body, source, row.timestamp_ms, state.last)
    if not body.members:
        incidents, transitions = settle(
            state.incidents, (), _moment(settings, group, state, row), frozenset(_codes(state))
        )
        return (
            replace(
                state, last=observed, incidents=incidents, unassigned_since_ms={}, holds={}, rule_memory=RuleMemory()
            ),
            list(transitions),
        )
    topics = connect_settings(settings, group)
    last = state.last
    case: Case | None = None
    gap = body.generation - state.generation - 1 if state.generation is not None else 0
    carries_on = last is not None and (last.error or last.blind)
    skipped = max(gap, 0)
    if state.generation is None and (state.seen_from_start or state.processes):
        skipped = max(
            body.generation - 1, 0
        )  # a life of the group begins with 1, whether its record was written or not
    if skipped or carries_on:
        observed = replace(observed, unseen=skipped + (last.unseen if last is not None and carries_on else 0))
    eras = leader.eras_of(state.eras, topics)
    state = replace(state, processes=leader.met(state.processes, observed, last, eras, topics))
    known = evidence.of(observed, state, topics, group, missing, again=gap < 0)
    if known.reason is not None:
        judgement = judge_connect.not_judged(known.reason)
    else:
        view = observed.views.get(body.leader or "")
        carried = (
            _carried_into(view, observed, last, state, eras, topics) if view else leader.Carried((), complete=True)
        )
        case = Case(
            body=body,
            observed=observed,
            last=last if last is not None and last.views else None,
            history=state.history,
            settings=topics,
            carried=carried,
            missing_generations=observed.unseen,
        )
        judgement = judge_connect.judge(case)
        if view and judgement.hypotheses:
            process = leader.Process.of(view.member_id, judgement.hypotheses, cut=judgement.cut)
            state = replace(
                state, processes=leader.remembered(state.processes, observed.process_of(view.member_id), process)
            )
            seen = not observed.unseen and judgement.verdict.era != "eager"
            if judgement.verdict.grade is Grade.MATCH and seen:
                state = replace(state, eras=tuple(dict.fromkeys(one.era for one in judgement.hypotheses)))
    if (unread := evidence.unread(observed, state, topics)) and judgement.verdict.grade is Grade.UNEXPLAINED:
        judgement, known = judge_connect.not_judged(unread), replace(known, blind=True)
    state = replace(state, sides=state.sides.after(observed, judgement.verdict.grade, foreign=known.foreign))
    if judgement.verdict.grade is Grade.NOT_JUDGED and gap >= 0:
        state, observed = _unfollowed(state, observed, last, topics)
    configured = None if known.blind else configured_at(state.history, observed)
    causes = connect_causes(observed, last, topics.config_topic, None if known.blind else state.history)
    idle = unassigned.without_holder(observed, configured) if configured is not None else ()
    diff = diff_of(state.holds if last is None else _held_by_worker(last), _held_by_worker(observed))
    published = published_as(settings, group, state, row, verdict=judgement.verdict, diff=diff, cause=causes)
    published = replace(published, delay_ms=observed.delay_ms, unassigned=tuple(subject.id for subject in idle))
    before = last if last is not None and last.views else None
    waiting, published = waits.follow(state.waits, published, observed, before, configured)
    state = replace(state, waits=waiting)
    scene = rules.Scene(
        group=group,
        body=body,
        observed=observed,
        last=before,
        gap=max(gap, 0),
        configured=configured,
        configured_before=configured_at(state.history, before)
        if configured is not None and before is not None
        else None,
        grade=judgement.verdict.grade,
        era=judgement.verdict.era,
        settings=topics,
        memory=state.rule_memory,
        config_changes=_config_changes(state, before, observed) if configured is not None else 0,
        unsure=unsure_at(state.history, observed, before) if configured is not None else frozenset(),
        intent=intent_of(body, observed, topics.placements, state.declared, configured)
        if configured is not None
        else None,
        declared=state.declared,
        answered_as=partial(answered_as, case),
        reason=judgement.verdict.reason,
        foreign=known.foreign,
    )
    found, evaluated = rules.examine(scene)
    moment = _moment(settings, group, state, row)
    incidents, transitions = settle(state.incidents, found, moment, evaluated)
    state = replace(
        state,
        last=observed,
        incidents=incidents,
        holds={},
        rule_memory=remember(scene),
        declared=remembered(state.declared, body, observed),
        timeouts_ms=_timeouts_ms(body),
    )
    if configured is None and not observed.error:
        state, ended = unassigned.without_evidence(state, row, observed, foreign=known.foreign)
        transitions.extend(ended)
    if configured is not None and not observed.error:
        state, ended = unassigned.noted(
            settings,
            group,
            state,
            row,
            unassigned.placeable(body, idle, configured),
            observed=observed,
            before=before,
            window=scene.memory.window,
        )
        transitions.extend(ended)
        if observed.config_offset is not None:
            state = replace(
                state, history=state.history.trimmed(min(observed.config_offset, *_member_offsets(body)) - 1)
            )
    return state, [published, *transitions]


def _held_by_worker(observed: Observed) -> dict[str, tuple[str, ...]]:
    """Names of the jobs each worker has in its hands after the round."""
    return {
        observed.process_of(member_id): tuple(sorted(map(job_name, view.holds)))
        for member_id, view in observed.views.items()
    }


def _carried_into(
    view: WorkerView,
    observed: Observed,
    last: Observed | None,
    state: GroupState,
    eras: tuple[str, ...],
    topics: ConnectSettings,
) -> leader.Carried:
    return leader.carried_into(
        view, state.processes, eras, topics, seen_from_start=state.seen_from_start,
        nameless=observed.nameless(view.member_id), new=last is not None and view.member_id not in last.views,
    )  # fmt: skip


def _written_again(settings: ClusterSettings, group: str, state: GroupState, row: Row) -> Generation | None:
    """The round before as it is published once more, if this record is only a copy of it: the leader's request was
    repeated before the first record was replicated. It is no round, and moves nothing."""
    last, body = state.last, body_of(row)
    if last is None or not body.members or body.generation != state.generation:
        return None
    observed = observe(body, source_of(row), row.timestamp_ms, last)
    copy = replace(last, source=observed.source, at_ms=observed.at_ms, unseen=observed.unseen, blind=observed.blind)
    if copy != observed:
        return None
    verdict = judge_connect.not_judged("the same generation was written again").verdict
    cause = Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=(Evidence(source=last.source),))
    return replace(
        published_as(settings, group, state, row, verdict=verdict, cause=(cause,)), delay_ms=observed.delay_ms
    )


def _unfollowed(
    state: GroupState, observed: Observed, last: Observed | None, topics: ConnectSettings
) -> tuple[GroupState, Observed]:
    """A round that could not be run again moved its leader's memory all the same: as if it had left no record."""
    observed = replace(observed, unseen=observed.unseen + 1, blind=True)
    view = observed.views.get(observed.leader or "")
    if view is None:
        return state, observed
    eras = leader.eras_of(state.eras, topics)
    carried = _carried_into(view, observed, last, state, eras, topics)
    if not carried.complete:
        return state, observed
    process = leader.Process.of(view.member_id, carried.hypotheses, cut=carried.cut)
    processes = leader.remembered(state.processes, observed.process_of(view.member_id), process)
    return replace(state, processes=processes), observed


def _timeouts_ms(body: GroupGeneration) -> int:
    """Until then a member that went away is noticed, and the rebalance without it has ended."""
    longest = (max(member.rebalance_timeout_ms, 0) for member in body.members)
    return max(longest, default=0) + max((max(member.session_timeout_ms, 0) for member in body.members), default=0)


def _config_changes(state: GroupState, before: Observed | None, now: Observed) -> int:
    """Records between the two generations that make every worker ask for a rebalance."""
    if before is None or before.config_offset is None or now.config_offset is None:
        return 0
    between = state.history.between(before.config_offset, now.config_offset)
    return sum(isinstance(one.record, ConnectorConfigured | ConnectorDeleted | TasksCommitted) for one in between)


def _member_offsets(body: GroupGeneration) -> list[int]:
    return [one.subscription.config_offset for one in body.members if isinstance(one.subscription, WorkerState)] or [0]


def _codes(state: GroupState) -> Iterator[str]:
    return (incident.code for incident in state.incidents.values())


def _moment(settings: ClusterSettings, group: str, state: GroupState, row: Row) -> Moment:
    return Moment(
        cluster=settings.name,
        group=group,
        incarnation=state.incarnation,
        generation=body_of(row).generation,
        at_ms=row.timestamp_ms,
        historic=state.historic,
    )


def pending(
    settings: ClusterSettings, group: str, state: GroupState, row: Row, until_ms: int, *, historic: bool
) -> Generation:
    """The record as published while its evidence is on the way."""
    missing = evidence.missing(settings, group, state, row) or "an earlier generation of the group"
    verdict = Verdict(grade=Grade.NOT_JUDGED, reason=f"pending: {missing}", pending_until_ms=until_ms)
    return replace(published_as(settings, group, state, row, verdict=verdict), historic=historic)


def _consumer(settings: ClusterSettings, group: str, state: GroupState, row: Row) -> Outcome:
    body = body_of(row)
    moment = _moment(settings, group, state, row)
    if not body.members:
        incidents, ended = settle(state.incidents, (), moment, frozenset(_codes(state)))
        return replace(state, incidents=incidents, holds={}, last=None), list(ended)
    verdict = judge_consumer.judge(
        settings,
        body,
        row.timestamp_ms,
        repeated=body.generation == state.generation,
        first=state.generation is None,
    )
    holds = {
        member.instance_id or member.member_id: tuple(
            f"{topic}-{number}" for topic, number in member.assignment.partitions
        )
        for member in body.members
        if isinstance(member.assignment, ConsumerAssignment)
    }
    published = published_as(
        settings,
        group,
        state,
        row,
        verdict=verdict,
        diff=diff_of(state.holds, holds),
        cause=_consumer_causes(state, holds, row),
    )
    incidents = dict(state.incidents)
    transitions: list[Incident] = []
    if body.protocol_type == CONSUMER:
        here = Evidence(source=source_of(row))
        unreadable = headers.unreadable_blobs(body, here, CONSUMER_UNDECODABLE)
        found = (*unreadable, *sinks.consumed_twice(group, body, here))
        evaluated = frozenset({CONSUMER_UNDECODABLE.code, RUNNING_TWICE.code})
        incidents, transitions = settle(state.incidents, found, moment, evaluated)
    return replace(state, incidents=incidents, holds=holds), [published, *transitions]


def _consumer_causes(state: GroupState, holds: Mapping[str, object], row: Row) -> tuple[Cause, ...]:
    evidence = (Evidence(source=source_of(row)),)
    changes = (
        ("member_joined", sorted(set(holds) - set(state.holds))),
        ("member_left", sorted(set(state.holds) - set(holds))),
    )
    found = tuple(
        Cause(kind=kind, subjects=tuple(Subject("member", one) for one in members), evidence=evidence)
        for kind, members in changes
        if members
    )
    return found or (Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=evidence),)
