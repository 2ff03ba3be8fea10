"""One generation of a Connect group: what it shows, its verdict, why it happened, and which rules it breaks.

record -> round       observed; whether there is evidence to judge it
round -> hypotheses   what its leader may have known, each run again      leader.carry, verdict
verdict               published with causes, moves and waits
rules                 examined; incidents open, change and end; jobs without a holder are timed
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from rebalance_monitor.schemas.connect_protocol import WorkerState
from rebalance_monitor.schemas.connect_topics import ConnectorConfigured, ConnectorDeleted, TasksCommitted
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.leader.answers import answered_as
from rebalance_monitor.streaming.core.connect.leader.rounds import Case
from rebalance_monitor.streaming.core.connect.rules.catalogue_across import ALL_WORKERS_GONE
from rebalance_monitor.streaming.core.connect.rules.context import Scene
from rebalance_monitor.streaming.core.connect.rules.examine import examine
from rebalance_monitor.streaming.core.connect.rules.memory import RuleMemory
from rebalance_monitor.streaming.core.connect.rules.remembering import remember
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import body_of, diff_of, published_as, source_of
from rebalance_monitor.streaming.core.fold.timeouts import timeouts_of
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.of_every_group import OUTLIVE_EMPTY
from rebalance_monitor.streaming.core.incidents.transitions import Moment
from rebalance_monitor.streaming.core.model.details import ConnectDetail, GroupEmptied
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence, Generation, Grade
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from rebalance_monitor.streaming.core.model.subjects import Subject
from . import config_sanity, evidence, last_config_record, moves, unassigned, verdict, workers_gone
from .causes import connect_causes
from .configured import configured_at, hidden_of, unsure_at
from .intent import intent_of, remembered
from .leader import carry
from .member_bytes import shares_of
from .observed import ConnectorOrTask, Observed, job_name, observe, of_jobs
from .state import ConnectState
from .topic_names import connect_settings
from .verdict import Judgement

AfterRecord = tuple[ConnectState, list[Output]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One record whose turn has come. `before` is the record before it, if that had members; `gap` counts generation
    numbers between the two; `configured` are the jobs that exist, None where that is not known, `blind` where it cannot
    be: no evidence came, or the leader is `foreign`."""

    view: GroupView
    topics: ConnectSettings
    row: Row
    body: GroupGeneration
    observed: Observed
    before: Observed | None
    gap: int
    judgement: Judgement
    case: Case | None
    foreign: bool
    blind: bool
    configured: frozenset[ConnectorOrTask] | None


def judged(view: GroupView, state: ConnectState, row: Row, never_came: Reason | None) -> AfterRecord:
    """The state after this record, what is published of it, and what it says of incidents.

    `never_came`: the evidence that was waited for in vain.
    """
    if not body_of(row).members:
        return _emptied(view, state, row)
    moment = _moment(view, row)
    emptied = _emptied_before(view, state)
    came_back = Notice(moment=moment, over=workers_gone.open_keys(view))
    state, turn = _run_again(view, replace(state, emptied=None), row, never_came)
    idle = unassigned.without_holder(turn.observed, turn.configured) if turn.configured is not None else ()
    state, doubts = _waits_unseen(state, turn, idle)
    published = _published(state, turn, idle, emptied)
    waiting, published = moves.follow(state.waits, published, turn.observed, turn.before, turn.configured)
    state, notices = _examined(replace(state, waits=waiting), turn, idle)
    return state, [came_back, published, Notice(moment=moment, found=doubts), *notices]


def copy_of_last(view: GroupView, state: ConnectState, row: Row) -> Generation | None:
    """The round before as it is published once more, if this record is only a copy of it: the leader's request was
    repeated before the first record was replicated. It is no round, and moves nothing."""
    last, body = state.last, body_of(row)
    if last is None or not body.members or body.generation != view.envelope.generation:
        return None
    observed = observe(body, source_of(row), row.timestamp_ms, last)
    copy = replace(last, source=observed.source, at_ms=observed.at_ms, unseen=observed.unseen, blind=observed.blind)
    if copy != observed:
        return None
    cause = Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=(Evidence(source=last.source),))
    result = verdict.not_judged(evidence.WRITTEN_AGAIN).verdict
    published = published_as(view, row, shares=shares_of, verdict=result, cause=(cause,), repeats=True)
    return replace(published, detail=ConnectDetail(delay_ms=observed.delay_ms))


def _moment(view: GroupView, row: Row) -> Moment:
    return view.moment(row.timestamp_ms, generation=body_of(row).generation)


def _emptied_before(view: GroupView, state: ConnectState) -> GroupEmptied | None:
    """That the group had no members when this record came, and may have had some before; None where a record with
    members is the last one, and where nothing comes before: generation 0 is a group that nobody has joined yet."""
    last, emptied = state.last, state.emptied
    if last is not None and (last.views or last.generation == 0):
        return None
    if emptied is not None:
        return GroupEmptied(emptied.since_ms)
    if last is not None:
        return GroupEmptied(last.at_ms)
    return GroupEmptied(None) if view.envelope.incarnation else None


def _waits_unseen(
    state: ConnectState, turn: Turn, idle: tuple[Subject, ...]
) -> tuple[ConnectState, tuple[Finding, ...]]:
    """A generation that left no record may have placed a job that waits at both ends: how long it waits is not known,
    and is counted from this record on. What would have been too long is possible, no more."""
    if not turn.gap and not evidence.lost(turn.observed, state, turn.view.envelope):
        return state, ()
    doubts = unassigned.doubted(turn.view, state, idle, turn.row.timestamp_ms) if turn.gap else []
    return replace(state, unassigned_since_ms={}), tuple(doubts)


def _emptied(view: GroupView, state: ConnectState, row: Row) -> AfterRecord:
    observed = observe(body_of(row), source_of(row), row.timestamp_ms, state.last)
    missed = _skipped(view, state, body_of(row))
    state = carry.with_new_processes(state, observed, connect_settings(view.settings, view.group), missed)
    state = carry.passed(state, observed, missed)
    moment = _moment(view, row)
    state, still_empty = workers_gone.emptied(view, state, source_of(row), moment)
    kept = {*OUTLIVE_EMPTY, *((ALL_WORKERS_GONE.code,) if still_empty else ())}
    over = frozenset(one.code for one in view.open().values()) - kept
    after = replace(state, last=observed, unassigned_since_ms={}, rule_memory=RuleMemory())
    return after, [Notice(moment=moment, evaluated=over)]


def _run_again(view: GroupView, state: ConnectState, row: Row, never_came: Reason | None) -> tuple[ConnectState, Turn]:
    """The record's round with its verdict, and the state with what its leader knows now."""
    body, last, topics = body_of(row), state.last, connect_settings(view.settings, view.group)
    known_generation, from_start = view.envelope.generation, view.envelope.seen_from_start
    before = last if last is not None and last.views else None
    gap = body.skipped_since(known_generation) if known_generation is not None else 0
    observed = observe(body, source_of(row), row.timestamp_ms, last)
    unseen, missed = _unseen(view, state, body), _skipped(view, state, body)
    observed = replace(observed, unseen=unseen) if unseen else observed
    state = replace(
        carry.with_new_processes(state, observed, topics, missed), history=state.history.referred(_stated(observed))
    )
    known = evidence.of(observed, state, view, topics, never_came, again=gap < 0)
    case: Case | None = None
    if known.reason is not None:
        judgement = verdict.not_judged(known.reason)
    else:
        carried = carry.carried(state, observed, topics, seen_from_start=from_start)
        case = Case(
            body=body,
            observed=observed,
            last=before,
            history=state.history,
            settings=topics,
            carried=carried,
            missing_generations=observed.unseen,
            hidden_ms=state.hidden_ms,
        )
        judgement = verdict.with_lost(case, verdict.judge(case), evidence.lost(observed, state, view.envelope))
        state = carry.after_verdict(state, observed, carried, judgement)
        if judgement.verdict.grade is Grade.MATCH and any(view.assigned for view in observed.views.values()):
            state = replace(state, history=config_sanity.confirmed(state.history, observed.config_offset))
    state = carry.passed(state, observed, missed)
    if judgement.verdict.grade is Grade.UNEXPLAINED and (unread := evidence.unread(observed, state, topics)):
        judgement, known = verdict.not_judged(unread), replace(known, blind=True)
    state = replace(state, sides=state.sides.after(observed, judgement.verdict.grade, foreign=known.foreign))
    if judgement.verdict.grade is Grade.NOT_JUDGED and gap >= 0:
        state, observed = carry.after_no_verdict(state, observed, topics, seen_from_start=from_start)
    return state, Turn(
        view=view,
        topics=topics,
        row=row,
        body=body,
        observed=observed,
        before=before,
        gap=max(gap, 0),
        judgement=judgement,
        case=case,
        foreign=known.foreign,
        blind=known.blind,
        configured=None if known.blind else configured_at(state.history, observed),
    )


def _unseen(view: GroupView, state: ConnectState, body: GroupGeneration) -> int:
    """Generations without a record since a leader's memory last moved before our eyes: see `Observed`."""
    last = state.last
    carries_on = last is not None and (last.error or last.blind)
    return max(_skipped(view, state, body), 0) + (last.unseen if last is not None and carries_on else 0)


def _skipped(view: GroupView, state: ConnectState, body: GroupGeneration) -> int:
    """Generations of this life that left no record before this one; below zero if this one was there before.

    A life of the group begins with 1, whether its record was written or not.
    """
    known = view.envelope.generation
    if known is not None:
        return body.skipped_since(known)
    return max(body.generation - 1, 0) if view.envelope.seen_from_start or state.processes else 0


def _published(state: ConnectState, turn: Turn, idle: tuple[Subject, ...], emptied: GroupEmptied | None) -> Generation:
    """The generation with its verdict, its causes, what each worker gained and lost, and what is `idle`."""
    observed, last = turn.observed, state.last
    history = None if turn.blind else state.history
    return replace(
        published_as(
            turn.view,
            turn.row,
            shares=shares_of,
            verdict=turn.judgement.verdict,
            diff=diff_of({} if last is None else _held_by_worker(last), _held_by_worker(observed)),
            cause=connect_causes(observed, last, turn.topics.config_topic, history),
        ),
        detail=ConnectDetail(
            delay_ms=observed.delay_ms, emptied=emptied, unassigned=tuple(subject.id for subject in idle)
        ),
    )


@of_jobs
def _held_by_worker(observed: Observed) -> Mapping[str, tuple[str, ...]]:
    """Names of the jobs each worker has in its hands after the round."""
    return {
        observed.process_of(member_id): tuple(sorted(map(job_name, view.holds)))
        for member_id, view in observed.views.items()
    }


def _examined(state: ConnectState, turn: Turn, idle: tuple[Subject, ...]) -> tuple[ConnectState, list[Notice]]:
    """What the rules find; the state then holds what the next record needs."""
    observed, configured, view = turn.observed, turn.configured, turn.view
    scene = _scene(state, turn)
    found, evaluated = examine(scene)
    moment = _moment(view, turn.row)
    notices = [Notice(moment=moment, found=tuple(found), evaluated=evaluated)]
    timeouts = timeouts_of(view.settings, view.group, turn.body)
    state = replace(
        state,
        last=observed,
        rule_memory=replace(remember(scene), withheld=last_config_record.withheld(turn.case, scene, found)),
        declared=remembered(state.declared, turn.body, observed),
        timeouts_ms=timeouts.both_ms,
        session_ms=timeouts.session_ms,
    )
    if observed.error:
        return state, notices
    if configured is None or not observed.readable:
        unsure = turn.foreign or not observed.readable
        state, over = unassigned.without_evidence(view, state, observed, unsure=unsure)
        return state, [*notices, Notice(moment=moment, over=over)]
    state, over = unassigned.noted(
        view,
        state,
        turn.row,
        idle,
        nobody_may_run=unassigned.without_worker(turn.body, idle, configured),
        observed=observed,
        before=turn.before,
        window=scene.memory.window,
    )
    if observed.config_offset is not None:
        needed = min(observed.config_offset, *_member_offsets(turn.body)) - 1
        state = replace(state, history=config_sanity.trimmed(state.history, needed))
    return state, [*notices, Notice(moment=moment, over=over)]


def _scene(state: ConnectState, turn: Turn) -> Scene:
    observed, before, configured, history = turn.observed, turn.before, turn.configured, state.history
    known = configured is not None
    return Scene(
        group=turn.view.group,
        body=turn.body,
        observed=observed,
        last=before,
        gap=turn.gap,
        configured=configured,
        configured_before=configured_at(history, before) if known and before is not None else None,
        hidden_before=hidden_of(history, before, configured) if configured and before is not None else frozenset(),
        grade=turn.judgement.verdict.grade,
        eras=turn.judgement.eras,
        settings=turn.topics,
        memory=state.rule_memory,
        config_changes=_config_changes(state, before, observed, read=known),
        unsure=unsure_at(history, observed, before) if known else frozenset(),
        intent=None
        if configured is None
        else intent_of(turn.body, observed, turn.topics.placements, state.declared, configured),
        declared=state.declared,
        answered_as=partial(answered_as, turn.case),
        why=turn.judgement.verdict.why,
        foreign=turn.foreign,
    )


def _stated(observed: Observed) -> Iterator[int]:
    """The config offsets that the generation refers to."""
    offsets = (observed.config_offset, *(view.config_offset for view in observed.views.values()))
    return (one for one in offsets if one is not None)


def _config_changes(state: ConnectState, before: Observed | None, now: Observed, *, read: bool) -> int:
    """Records between the two generations that make every worker ask for a rebalance; where the config topic is not
    `read`, all that the generations' offsets show, and where it was compacted, those of which nothing is left."""
    if before is None or before.config_offset is None or now.config_offset is None:
        return 0
    if not read:
        return max(now.config_offset - before.config_offset, 0)
    between = state.history.between(before.config_offset, now.config_offset)
    told = sum(isinstance(one.record, ConnectorConfigured | ConnectorDeleted | TasksCommitted) for one in between)
    hole = state.history.hole_offset
    if hole is None or hole >= now.config_offset:
        return told
    markers = sum(before.config_offset <= one < now.config_offset for one in state.history.markers)
    return told + max(now.config_offset - before.config_offset - len(between) - markers, 0)


def _member_offsets(body: GroupGeneration) -> list[int]:
    return [one.subscription.config_offset for one in body.members if isinstance(one.subscription, WorkerState)] or [0]
