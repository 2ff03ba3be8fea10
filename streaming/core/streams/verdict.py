"""Was this Streams assignment right? The leader's whole computation, run again under what no record holds.

*match*: what is known decides the answer, and it is the record's. Samples of end offsets may be part of what is known;
they only ever turn *explainable* into *match*. *explainable*: some value of what is not known gives
it (end offsets, settings, which sub-topologies have state). *unexplained*: none does, and all were tried. *not judged*:
there are more possibilities than are tried, or something that the computation needs is missing.
"""

from collections.abc import Mapping
from functools import partial

from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.eras import NEWEST, era_of
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.leader import ASSIGNMENT_ERROR, INCOMPLETE_SOURCE_TOPICS
from rebalance_monitor.assignors.streams.members import newest_version
from rebalance_monitor.assignors.streams.tasks import TaskId
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.streams_tasks import NEWEST_VERSION, PROTOCOL
from rebalance_monitor.streaming.core.cluster.end_offsets import EndBounds
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from . import error_answers, observed, plugged_verdict, rack_modes
from .described import store_names
from .differences import roles_of
from .grading import NOT_KNOWN, Judged, expected_of, not_judged, unknown_settings
from .hypotheses import (
    Remembered,
    all_tags_tried,
    assignors,
    contradicted,
    first_of,
    frames,
    possible_tags,
    releases,
    stateful_sets,
)
from .observed import ObservedRecord
from .plug_ins import NO_PLUG_INS, PlugInRun, PlugIns
from .rounds import Hypothesis
from .search import FEWEST_RUNS, Found, Missed, Search, runs_of
from .words import ON_END_OFFSETS

MOST_FRAMES = 300
_FITS = (Grade.MATCH, Grade.EXPLAINABLE)
CANNOT_READ = "it is the answer of a leader that could not read the end offsets of changelogs"
_POOLED = "the leader takes all members of a newer version for one process, whose id no record shows"


def judge(
    settings: StreamsSettings,
    record: ObservedRecord,
    at_ms: int,
    remembered: Remembered,
    floor: Mapping[TaskId, int],
    plug_ins: PlugIns = NO_PLUG_INS,
    bounds: Mapping[TaskId, EndBounds] | None = None,
) -> Judged:
    """The verdict on one generation whose members can all be read. `floor`: the least end offset sum of each task by
    earlier records; `bounds`: between which it lay by samples, of some tasks. `plug_ins` run the application's own
    assignor. The configured release is not believed against the leader's payload, and it accuses no leader whose answer
    is that of another release that the payload allows."""
    found = _of(settings, record, at_ms, remembered, floor, plug_ins, bounds)
    if settings.release is None:
        return found
    if contradicted(settings, record):
        return _of_other_release(settings.release, found)
    if found.verdict.grade is not Grade.UNEXPLAINED or found.certain or settings.plug_in is not None:
        return found
    upgraded = replace(settings, release=None)
    if not releases(upgraded, record):
        return found
    other = _of(upgraded, record, at_ms, remembered, floor, plug_ins, bounds)
    if other.verdict.grade in _FITS:
        return _of_other_release(settings.release, other)
    return found if _open(upgraded, record, remembered) is None else other


def _of_other_release(configured: str, found: Judged) -> Judged:
    """The verdict by what leaders of another release than the configured one answer: no match."""
    if found.verdict.grade not in _FITS:
        return found
    more = "" if found.verdict.reason is None else f"; {found.verdict.why}"
    text = f"the leader runs another release than the configured {configured}{more}"
    reason = Reason(ReasonKind.OTHER_RELEASE, text)
    return replace(found, verdict=replace(found.verdict, grade=Grade.EXPLAINABLE, reason=reason))


def _of(
    settings: StreamsSettings,
    record: ObservedRecord,
    at_ms: int,
    remembered: Remembered,
    floor: Mapping[TaskId, int],
    plug_ins: PlugIns,
    bounds: Mapping[TaskId, EndBounds] | None,
) -> Judged:
    """The verdict by leaders of the releases that the settings leave."""
    record = replace(record, threads=observed.pooled(record.threads, newest_known(settings, record)))
    by_code = None if _undescribed(record) else error_answers.judged(record.threads, releases(settings, record))
    if by_code is not None:
        return Judged(verdict=by_code, certain=True)
    why = _cannot(settings, record)
    if why is not None:
        return Judged(verdict=not_judged(*why))
    try:
        if settings.plug_in is not None:
            if observed.in_pool(record):
                return Judged(verdict=not_judged(ReasonKind.CANNOT_RUN, _POOLED))
            plug_ins.begin(settings.plug_in)
            run = PlugInRun(settings.plug_in, plug_ins, store_names(settings.topology or ""))
            return plugged_verdict.judged(settings, record, at_ms, remembered, floor, run, bounds)
        if observed.in_pool(record):
            return _with_pool(settings, record, at_ms, remembered, floor)
        return _judged(settings, record, at_ms, remembered, floor, bounds=bounds)
    except LeaderFailed as failed:
        return Judged(verdict=not_judged(ReasonKind.CANNOT_RUN, f"the leader's computation fails: {failed}"))


def newest_known(settings: StreamsSettings, record: ObservedRecord) -> int:
    """The newest version of the payloads that the leader can read, as far as that is known."""
    return newest_version(min(releases(settings, record), default=NEWEST.since))


def _with_pool(
    settings: StreamsSettings, record: ObservedRecord, at_ms: int, remembered: Remembered, floor: Mapping[TaskId, int]
) -> Judged:
    """The first place of the pool among the processes that gives the record's answer."""
    places = observed.pool_places(record.processes())
    if FEWEST_RUNS * len(places) > runs_of(record):
        text = f"{_POOLED}: among {len(places)} places there are more possibilities than are tried"
        return Judged(verdict=not_judged(ReasonKind.TOO_MANY_POSSIBILITIES, text))
    tried = [
        _judged(settings, observed.with_pool(record, place), at_ms, remembered, floor, parts=len(places))
        for place in places
    ]
    fits = next((each for each in tried if each.verdict.grade in _FITS), None)
    if fits is not None:
        more = "" if fits.verdict.reason is None else f"; {fits.verdict.why}"
        reason = Reason(ReasonKind.UNKNOWN_PROCESS_ID, f"{_POOLED}: an id that is possible gives this answer{more}")
        return replace(fits, verdict=replace(fits.verdict, grade=Grade.EXPLAINABLE, reason=reason))
    if all(each.verdict.grade is Grade.UNEXPLAINED for each in tried) and _by_lag(settings):
        return tried[0]
    return Judged(verdict=not_judged(ReasonKind.CANNOT_RUN, f"{_POOLED}; no id that was tried gives this answer"))


def _by_lag(settings: StreamsSettings) -> bool:
    return assignors(settings) == (BuiltIn.HIGH_AVAILABILITY,)


def _judged(
    settings: StreamsSettings,
    record: ObservedRecord,
    at_ms: int,
    remembered: Remembered,
    floor: Mapping[TaskId, int],
    *,
    bounds: Mapping[TaskId, EndBounds] | None = None,
    parts: int = 1,
) -> Judged:
    """The verdict by all that can be tried, with one of so many `parts` of the runs that a record may cost."""
    missed: Missed | None = None
    concludes = _open(settings, record, remembered) is None
    for modes in rack_modes.tried(settings, record):
        weight = rack_modes.weight(modes)
        tried, whole = first_of(frames(settings, record, remembered, modes=modes), MOST_FRAMES)
        if not tried:
            continue
        searching = partial(
            Search,
            record,
            at_ms,
            floor,
            settings.java_version,
            bounds=bounds or {},
            parts=parts,
            weight=weight,
            concludes=concludes,
        )
        first = searching()
        found = first.run(tried)
        if isinstance(found, Found):
            return _found(settings, record, found, first)
        less_likely, rest = first_of(frames(settings, record, remembered, doubted=True, modes=modes), MOST_FRAMES)
        doubting = searching()
        again = doubting.run(less_likely) if less_likely else found
        if isinstance(again, Found):
            shown = {part.key for part in record.seen if part.stateful} | doubting.sampled_state
            if again.hypothesis.stateful <= shown:
                return _found(settings, record, again, doubting)
            return Judged(verdict=_with_silent_state(again))
        exhausted = found.exhausted and again.exhausted and whole and rest and all_tags_tried(settings, record)
        # What was expected is what the likeliest modes give.
        missed = replace(missed or found, exhausted=exhausted and (missed is None or missed.exhausted))
    if missed is None:
        text = f"task assignor {settings.assignor} is not in any release that the leader can be of"
        return Judged(verdict=not_judged(ReasonKind.ASSIGNOR_UNKNOWN, text))
    return Judged(verdict=_missed(settings, record, remembered, missed))


def _found(settings: StreamsSettings, record: ObservedRecord, found: Found, search: Search) -> Judged:
    reason = _unknown(settings, record, found, search)
    own = found.hypothesis.release
    alike = {
        release: release == own or search.gives(replace(found.hypothesis, release=release))
        for release in releases(settings, record)
    }
    # Of a large group not every release can be asked: then none is named.
    asked = None not in alike.values()
    verdict = Verdict(
        grade=Grade.MATCH if reason is None else Grade.EXPLAINABLE,
        assignor=PROTOCOL,
        eras=tuple(dict.fromkeys(era_of(release).name for release, gives in alike.items() if gives and asked)),
        reason=reason,
        expected=expected_of(found.answer) if found.hypothesis.exact else None,
    )
    by_lag = found.hypothesis.assignor is BuiltIn.HIGH_AVAILABILITY and not found.hypothesis.blind
    return Judged(
        verdict=verdict,
        hypothesis=found.hypothesis,
        answer=found.answer,
        roles=roles_of(record, found.answer) if found.hypothesis.exact else None,
        ideal=search.ideal(found.hypothesis) if by_lag else None,
    )


def _with_silent_state(found: Found) -> Verdict:
    """An answer that fits only if a sub-topology has state of which members reported nothing."""
    with_state = ", ".join(str(number) for number, _ in sorted(found.hypothesis.stateful))
    text = f"members reported no state of a sub-topology that must have some; it fits with state in {with_state}"
    return Verdict(grade=Grade.EXPLAINABLE, assignor=PROTOCOL, reason=Reason(ReasonKind.UNKNOWN_STATE, text))


def _cannot(settings: StreamsSettings, record: ObservedRecord) -> tuple[ReasonKind, str] | None:
    if not assignors(settings):
        return ReasonKind.ASSIGNOR_UNKNOWN, f"task assignor {settings.assignor} is not recomputed by this version"
    plugged = settings.plug_in is not None
    if not releases(settings, record):
        oldest = "3.8, the first that runs an application's own assignor" if plugged else "2.4"
        return ReasonKind.ASSIGNOR_UNKNOWN, f"the leader's release is not known, or older than {oldest}"
    errors = {thread.told.error for thread in record.threads}
    # A plug-in may find no assignment: then error 3 is the answer.
    if errors & ({INCOMPLETE_SOURCE_TOPICS} if plugged else {INCOMPLETE_SOURCE_TOPICS, ASSIGNMENT_ERROR}):
        return ReasonKind.CANNOT_RUN, f"the leader answered with error {max(errors)} instead of an assignment"
    newer = _undescribed(record)
    if newer is not None:
        text = f"the leader knows version {newer} of the payloads, which nobody has described"
        return ReasonKind.CANNOT_RUN, text
    unread = record.unread()
    if unread:
        return ReasonKind.TOPOLOGY_UNKNOWN, f"no record has shown yet which task reads {', '.join(unread[:3])}"
    if not record.tasks and not any(errors):
        return ReasonKind.TOPOLOGY_UNKNOWN, "no record has shown a task yet"
    return None


def _undescribed(record: ObservedRecord) -> int | None:
    """The newest version that the leader knows, if nobody has described it."""
    leader = next((thread for thread in record.threads if thread.id == record.leader), None)
    newest = NEWEST_VERSION if leader is None else leader.said.latest_supported
    return newest if newest > NEWEST_VERSION else None


def _open(settings: StreamsSettings, record: ObservedRecord, remembered: Remembered) -> Verdict | None:
    """The verdict where no answer is found, if that proves nothing, whatever is tried; None if it may prove that the
    record's answer is wrong."""
    if not any(era_of(release).high_availability for release in releases(settings, record)):
        return not_judged(ReasonKind.CANNOT_RUN, "what leaders up to 2.5 answer is not known exactly")
    unknown = rack_modes.missing(settings, record, releases(settings, record))
    if unknown is not None:
        return not_judged(unknown.kind, unknown.text)
    if settings.assignor is None and not remembered.built_in:
        text = "none of Kafka's own assignors gives this answer: the application may have a task.assignor.class"
        return not_judged(ReasonKind.ASSIGNOR_UNKNOWN, text)
    names = unknown_settings(settings, record)
    if names:
        text = f"no value that was tried gives this answer; not known: {', '.join(names)}"
        return not_judged(ReasonKind.UNKNOWN_SETTINGS, text)
    return None


def _missed(settings: StreamsSettings, record: ObservedRecord, remembered: Remembered, missed: Missed) -> Verdict:
    if missed.answer is None and missed.failed:
        return not_judged(ReasonKind.CANNOT_RUN, f"the leader's computation fails: {missed.failed}")
    said = _open(settings, record, remembered)
    if said is not None:
        return said
    if not missed.exhausted or not stateful_sets(settings, record)[1]:
        text = "there are more possible end offsets of the changelogs than are tried"
        return not_judged(ReasonKind.TOO_MANY_POSSIBILITIES, text)
    text = missed.nearest or "no end offsets of the changelogs can place the tasks so"
    expected = None if missed.answer is None else expected_of(missed.answer)
    reason = Reason(ReasonKind.OTHER_ANSWER, text)
    return Verdict(grade=Grade.UNEXPLAINED, assignor=PROTOCOL, reason=reason, expected=expected)


def _with_tags(hypothesis: Hypothesis, tags: tuple[str, ...]) -> Hypothesis:
    return replace(hypothesis, configs=replace(hypothesis.configs, rack_aware_assignment_tags=tags))


def _unknown(settings: StreamsSettings, record: ObservedRecord, found: Found, search: Search) -> Reason | None:
    """On what the answer rests that is not known; None where it follows from what is known."""
    hypothesis = found.hypothesis
    if not era_of(hypothesis.release).high_availability:
        text = "leaders up to 2.5: the processes' tasks are as computed; how their threads share them is not recomputed"
        return Reason(ReasonKind.OTHER_RELEASE, text)
    told = search.sampled_state
    sets = [one for one in stateful_sets(settings, record)[0] if one >= told and one != hypothesis.stateful]
    if not hypothesis.stateful >= told or not all(search.gives(replace(hypothesis, stateful=other)) for other in sets):
        with_state = ", ".join(str(number) for number, _ in sorted(hypothesis.stateful)) or "none"
        text = f"which sub-topologies have state is not known yet; it fits with {with_state}"
        return Reason(ReasonKind.UNKNOWN_STATE, text)
    names = unknown_settings(settings, record)
    if found.only:  # then nothing was moved because of a lag
        names = {name: value for name, value in names.items() if name == NOT_KNOWN["standbys"]}
    if names and hypothesis.stateful:
        configs = hypothesis.configs
        values = {
            NOT_KNOWN["standbys"]: configs.num_standby_replicas,
            NOT_KNOWN["warm_ups"]: configs.max_warmup_replicas,
            NOT_KNOWN["acceptable_lag"]: configs.acceptable_recovery_lag,
        }
        listed = ", ".join(f"{name} {values[name]}" for name in names)
        return Reason(
            ReasonKind.UNKNOWN_SETTINGS, f"settings that are not known give this answer with these values: {listed}"
        )
    tags = hypothesis.configs.rack_aware_assignment_tags
    others = [_with_tags(hypothesis, other) for other in possible_tags(settings, record) if other != tags]
    if not all(map(search.gives, others)) or not all_tags_tried(settings, record):
        listed = ",".join(tags) or "empty"
        text = f"settings that are not known give this answer with these values: {rack_modes.TAGS} {listed}"
        return Reason(ReasonKind.UNKNOWN_SETTINGS, text)
    rests_on = rack_modes.rests_on(settings, record, hypothesis.release, hypothesis.assignor, hypothesis.configs)
    if rests_on is not None:
        return rests_on
    if hypothesis.copies_unsure:
        text = "the public sticky assignor places copies by memory address; all else is as it gives it"
        return Reason(ReasonKind.EQUAL_CHOICE, text)
    if hypothesis.blind:
        return Reason(ReasonKind.UNKNOWN_END_OFFSETS, CANNOT_READ)
    if not found.only and not found.sampled:
        return Reason(ReasonKind.UNKNOWN_END_OFFSETS, ON_END_OFFSETS)
    return None
