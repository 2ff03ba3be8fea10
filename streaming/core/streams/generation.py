"""One generation of a Streams group: verdict, causes, detail, what its rules find."""

from collections.abc import Iterator, Mapping

from rebalance_monitor.assignors.streams.tasks import TaskId, task_of
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.changelogs import ends_at, sampled_ends
from rebalance_monitor.streaming.core.cluster.end_offsets import EndBounds
from rebalance_monitor.streaming.core.fold import departures, missing_members, static_members, written_again
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import MemberShares, body_of, diff_of, published_as, source_of
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.of_every_group import OF_EVERY_GROUP, OUTLIVE_EMPTY
from rebalance_monitor.streaming.core.incidents.transitions import Moment
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Row
from rebalance_monitor.streaming.core.model.results import Certainty, ConsumerShare, Evidence, Grade, Severity, Subject
from rebalance_monitor.streaming.core.model.settings import NOTHING_SAID, StreamsSettings
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from .catalogue import PLUG_IN_FAILED, STREAMS_CONTESTED, STREAMS_UNDECODABLE
from .caught_up import INCREDIBLE
from .causes import asked_by, causes_of
from .deadlines import joined_at, with_deadline, wrong_deadline
from .described import misfit
from .facts import Facts
from .grading import Judged, not_judged
from .hypotheses import Remembered
from .laws import examined
from .members import UnreadableThread, later_version, thread_of, threads_of
from .observed import ObservedRecord, existing, holds_of, observed, pooled
from .past import after
from .plug_ins import NO_PLUG_INS, PlugIns, name_of
from .replica_racks import known_racks
from .rules import RULES
from .sampled_ends import bounds_by_task, from_sources, held_at_most, written_until_ms
from .state import StreamsState, read_by
from .topology import (
    Leftovers,
    cut,
    learnt,
    leftovers,
    renumbered,
    reported,
    restarted,
    shrunk,
    tasks_of,
    without_state,
)
from .verdict import judge, newest_known
from .views import viewed

_OWN = frozenset(rule.code for rule in (*RULES, *OF_EVERY_GROUP))


def shares_of(member: MemberRow) -> MemberShares:
    """The partitions that a thread is given, and those it owned when it joined."""
    wanted, given = member.subscription, member.assignment
    return MemberShares(
        assigned=ConsumerShare(given.partitions) if isinstance(given, ConsumerAssignment) else None,
        owned=ConsumerShare(wanted.owned) if isinstance(wanted, ConsumerSubscription) else None,
    )


def judged(
    view: GroupView, state: StreamsState, row: Row, plug_ins: PlugIns = NO_PLUG_INS
) -> tuple[StreamsState, list[Output]]:
    """The state after this record, what is published of it, and what it says of incidents."""
    body, source = body_of(row), source_of(row)
    moment = view.moment(row.timestamp_ms, generation=body.generation)
    last = LastRecord(source, row.timestamp_ms)
    if not body.members:
        over = frozenset(one.code for one in view.open().values()) - OUTLIVE_EMPTY
        return StreamsState(last=last, seen=state.seen), [Notice(moment=moment, evaluated=over)]
    here = Evidence(source=source)
    sightings = static_members.seen(state.sightings, body, row.timestamp_ms)
    replaced = static_members.replaced(state.sightings, sightings)
    reading = read_by(state.reading, body, replaced, row.timestamp_ms)
    missed = missing_members.after_record(
        state.missed,
        view,
        body,
        state.sightings,
        state.holds,
        asked=departures.left(state.asked.ended_ms, body.state_ms, state.asked.shortest_ms),
        at_ms=row.timestamp_ms,
        source=source,
    )
    contested = tuple(static_members.contested(STREAMS_CONTESTED, sightings, row.timestamp_ms, here))
    # A release that took Streams groups for consumers left incidents of rules that nobody looks for any more.
    foreign = tuple(key for key, one in view.open().items() if one.code not in _OWN)
    outputs: list[Output] = [
        Notice(moment=moment, found=tuple(_unreadable(body, here)), evaluated=frozenset({STREAMS_UNDECODABLE.code})),
        Notice(moment=moment, found=contested, evaluated=frozenset({STREAMS_CONTESTED.code}), over=foreign),
        missing_members.still_missing(view, missed, moment),
    ]
    again = written_again.repeats(view.envelope, state.first, body)
    threads = threads_of(body)
    if isinstance(threads, UnreadableThread):
        text = f"the {threads.what} of {threads.member_id} cannot be decoded: {threads.reason}"
        verdict = not_judged(ReasonKind.MEMBER_UNREADABLE, text)
        published = published_as(view, row, shares=shares_of, verdict=verdict, repeats=again)
        first = state.first if again else written_again.first_verdict(body, source, verdict)
        state = replace(state, last=last, sightings=sightings, missed=missed, first=first, reading=reading)
        return state, [published, *outputs]
    other_topology = renumbered(state.seen, threads)
    known_left = leftovers(state.leftovers, threads, anew=other_topology or restarted(threads))
    left = reported(known_left, threads)
    if other_topology:
        state = replace(state, seen=(), floor={})
    elif restarted(threads):
        state = replace(state, seen=without_state(state.seen), floor={})
    seen = learnt(state.seen, threads, left if other_topology else {})
    # What is left of another topology may be taken for this one's state, and only for this record.
    proved = learnt(state.seen, threads, left)
    record = observed(view.group, body.leader, threads, seen)
    holds = holds_of(record)
    settings = view.settings.streams.get(view.group, NOTHING_SAID)
    wrong = None if settings.topology is None else misfit(settings.topology, view.group, seen)
    if wrong is not None:
        settings = replace(settings, topology=None)
    sources = from_sources(view.knowledge.topics, settings.topology, view.group, seen)
    record = replace(record, from_sources=sources)
    counts = _counts(view, record, row.timestamp_ms)
    found = Judged(verdict=written_again.taken_over(state.first, body))
    joined_ms = joined_at(body, row.timestamp_ms)
    deadline = wrong_deadline(state.past.deadlines, record, joined_ms, row.timestamp_ms, settings.probing_interval_ms)
    if not again:
        until_ms = written_until_ms(row, view.waiting.head())
        racks = known_racks(view.knowledge.topics, settings.topology, view.group, seen, row.timestamp_ms, until_ms)
        found = _judged(view, settings, state, replace(record, racks=racks), row, plug_ins)
        if settings.plug_in is None and _by_other_tasks(found):  # a plug-in is told of each generation once
            now_there = {topic: counts.get(topic, 0) for topic in view.knowledge.topics.topics}
            less = replace(existing(record, cut(seen, threads, now_there)), racks=racks)
            if less.seen != seen:
                again_found = _judged(view, settings, state, less, row, plug_ins)
                if again_found.verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE):
                    found, record, seen, proved = again_found, less, less.seen, cut(proved, threads, now_there)
        found = _with_fewer(_believed(_doubted(found, left), record), shrunk(state.seen, seen), counts)
        found = with_deadline(found, deadline, settings, state.remembered)
        if written_again.first_may_be_missing(view.envelope, row):
            found = replace(found, verdict=written_again.not_the_first(found.verdict))
        outputs.append(_of_plug_in(view, settings, found, moment, here))
    verdict = found.verdict
    published = published_as(
        view,
        row,
        shares=shares_of,
        verdict=verdict,
        diff=diff_of(state.holds, holds),
        cause=causes_of(view, state, record, replaced, row),
        repeats=again,
    )
    # Laws look at what the leader knew; people see what the members said.
    facts = Facts(
        record=replace(record, threads=pooled(record.threads, newest_known(settings, record)), seen=proved),
        left=left,
        judged=found,
        settings=settings,
        here=here,
        at_ms=row.timestamp_ms,
        joined_ms=joined_ms,
        deadline=deadline,
        misfit=wrong,
        remembered=tasks_of(state.seen),
        counts=counts,
        ends=ends_at(view.knowledge.changelogs.get(view.group, ()), row.timestamp_ms),
        sampled=sampled_ends(view.knowledge.topics, view.group, row.timestamp_ms),
        held=held_at_most(view.knowledge.topics, settings.topology, view.group, _bounds(view, settings, record, row)),
    )
    now, grades = state.past, dict[str, str]()
    if not again and not written_again.is_unknown(verdict):
        now = after(state.past, facts, source)
        examination = examined(facts, state.past, now)
        grades = dict(examination.grades)
        outputs.append(Notice(moment=moment, found=examination.found, evaluated=examination.evaluated))
    detail = replace(viewed(replace(facts, record=record), now, row.timestamp_ms), laws=grades)
    next_state = StreamsState(
        last=last,
        holds=holds,
        seen=proved,
        asked=asked_by(record, body.state_ms, departures.shortest_ms(body.members)),
        sightings=sightings,
        missed=missed,
        remembered=_remembered(state.remembered, found),
        floor=_floor(state.floor, record),
        past=now,
        first=state.first if again else written_again.first_verdict(body, source, verdict),
        leftovers=known_left,
        looked_at=state.looked_at if found.plugged is None else tuple(sorted(found.plugged.read)),
        reading=reading,
    )
    return next_state, [replace(published, detail=detail), *outputs]


def _counts(view: GroupView, record: ObservedRecord, at_ms: int) -> dict[str, int]:
    """Partitions of the topics that the application reads, by the last sample of the topics."""
    topics = [topic for part in record.seen for topic in part.topics]
    return {topic: len(racks) for topic, racks in view.knowledge.topics.shown(topics, at_ms).items()}


def _judged(
    view: GroupView,
    settings: StreamsSettings,
    state: StreamsState,
    record: ObservedRecord,
    row: Row,
    plug_ins: PlugIns,
) -> Judged:
    """The verdict by the record itself and what samples show."""
    newest, body = view.envelope.generation, body_of(row)
    bounds = _bounds(view, settings, record, row)
    floor = {task_of(task): total for task, total in state.floor.items()}
    found = judge(settings, record, row.timestamp_ms, state.remembered, floor, plug_ins, bounds)
    if found.verdict.grade is Grade.UNEXPLAINED and newest is None and body.generation > 1:
        text = "first record of the group: it may come from a conversion, not from an assignor"
        return Judged(verdict=not_judged(ReasonKind.CONVERSION, text), plugged=found.plugged)
    return replace(found, verdict=written_again.otherwise(state.first, body, found.verdict))


def _bounds(view: GroupView, settings: StreamsSettings, record: ObservedRecord, row: Row) -> dict[TaskId, EndBounds]:
    """Between which end offsets the changelogs ended by samples."""
    head = view.waiting.head()
    return bounds_by_task(view.knowledge.topics, settings.topology, view.group, record.seen, row, head)


def _doubted(found: Judged, left: Leftovers) -> Judged:
    """The verdict where members report what may be of another topology, or of changelogs that are gone."""
    if found.verdict.grade is not Grade.UNEXPLAINED or found.certain or not left:
        return found
    text = (
        f"directories of {', '.join(sorted(left)[:3])} may be left of another topology, or of changelogs that are gone"
    )
    return Judged(verdict=not_judged(ReasonKind.UNKNOWN_STATE, text), plugged=found.plugged)


def _believed(found: Judged, record: ObservedRecord) -> Judged:
    """The verdict where a member reports more than any changelog holds: no leader knows what the process has."""
    incredible = [
        f"{thread.id} reports {total} of {task}"
        for thread in record.threads
        for task, total in thread.offset_sums.items()
        if total >= INCREDIBLE
    ]
    if found.verdict.grade is not Grade.MATCH or not incredible:
        return found
    reason = Reason(ReasonKind.UNKNOWN_END_OFFSETS, f"{incredible[0]}, which is more than any changelog holds")
    return replace(found, verdict=replace(found.verdict, grade=Grade.EXPLAINABLE, reason=reason))


def _by_other_tasks(found: Judged) -> bool:
    """Whether the leader may have had other tasks: with those that are known there is no answer."""
    verdict = found.verdict
    searched = verdict.reason is not None and verdict.reason.kind is ReasonKind.TOO_MANY_POSSIBILITIES
    return verdict.grade is Grade.UNEXPLAINED or searched


def _with_fewer(found: Judged, fewer: Mapping[str, tuple[int, int]], counts: Mapping[str, int]) -> Judged:
    """The verdict where topics have fewer partitions than before: only a sample makes sure of that."""
    unsure = {topic: of for topic, of in sorted(fewer.items()) if counts.get(topic) != of[1]}
    if found.verdict.grade is not Grade.MATCH or not unsure:
        return found
    listed = ", ".join(f"{topic} ({now}, before {before})" for topic, (before, now) in list(unsure.items())[:3])
    reason = Reason(ReasonKind.UNKNOWN_TOPICS, f"no sample shows yet that topics have fewer partitions: {listed}")
    return replace(found, verdict=replace(found.verdict, grade=Grade.EXPLAINABLE, reason=reason))


def _remembered(before: Remembered, found: Judged) -> Remembered:
    if found.hypothesis is None or found.plugged is not None:
        return before
    configs = found.hypothesis.configs
    return Remembered(standbys=configs.num_standby_replicas, warm_ups=configs.max_warmup_replicas, built_in=True)


def _floor(before: Mapping[str, int], record: ObservedRecord) -> dict[str, int]:
    """With the sums of this record; of tasks that are no longer there nothing is kept."""
    found = {str(task): before.get(str(task), 0) for task in record.tasks}
    for thread in record.threads:
        for task, total in thread.offset_sums.items():
            if str(task) in found and total < INCREDIBLE:
                found[str(task)] = max(found[str(task)], total)
    return {task: total for task, total in found.items() if total > 0}


def _of_plug_in(view: GroupView, settings: StreamsSettings, found: Judged, moment: Moment, here: Evidence) -> Notice:
    """What went wrong with the application's own assignor. Where it was not run, nothing is known of it."""
    run = found.plugged
    if run is None:
        return Notice(moment=moment, evaluated=frozenset() if settings.plug_in else frozenset({PLUG_IN_FAILED.code}))
    findings: tuple[Finding, ...] = ()
    if run.failure is not None:
        findings = (
            Finding(
                rule=PLUG_IN_FAILED,
                severity=PLUG_IN_FAILED.severity,
                certainty=Certainty.CERTAIN,
                subjects=(Subject("group", view.group),),
                message=f"{name_of(run.plug_in)} of application {view.group} fails: {run.failure.text}",
                evidence=(here,),
            ),
        )
    return Notice(moment=moment, found=findings, evaluated=frozenset({PLUG_IN_FAILED.code}))


def _unreadable(body: GroupGeneration, here: Evidence) -> Iterator[Finding]:
    """Members that cannot be read, the Streams payloads in their bytes included. A payload of a later release harms
    nobody but the monitor."""
    for member in body.members:
        if not member.subscription_bytes and not member.assignment_bytes:
            continue
        read = thread_of(member)
        found = read if isinstance(read, UnreadableThread) else later_version(read)
        if found is not None:
            yield Finding(
                rule=STREAMS_UNDECODABLE,
                severity=Severity.INFO if found.later else STREAMS_UNDECODABLE.severity,
                certainty=Certainty.CERTAIN,
                subjects=(Subject("member", found.member_id),),
                message=f"the {found.what} of {found.member_id} cannot be decoded: {found.reason}",
                evidence=(here,),
            )
