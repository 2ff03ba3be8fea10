"""The verdict where the application has a task assignor of its own, which is run as a plug-in (KIP-924).

What the plug-in did not look at cannot have changed its answer. So an answer that is not the record's is *unexplained*
if everything that it looked at is known, *not judged* otherwise; and nothing is judged by a plug-in that failed.

It is shown the racks and end offsets of the same samples as Kafka's own assignors (`replica_racks`, `sampled_ends`),
and they count as long: racks where no sample leaves a doubt, end offsets where all of those between the samples before
and after the record were tried and give the same answer. Samples of end offsets turn *explainable* into *match*, and
nothing into *unexplained*.
"""

from collections.abc import Collection, Mapping
from dataclasses import fields
from enum import Enum

from rebalance_monitor.assignors.streams.application import AssignmentConfigs
from rebalance_monitor.assignors.streams.eras import era_of
from rebalance_monitor.assignors.streams.tasks import TaskId
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.streams_tasks import PROTOCOL
from rebalance_monitor.streaming.core.cluster.end_offsets import EndBounds
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import PlugIn, StreamsSettings
from .differences import roles_of
from .grading import NOT_KNOWN, Judged, expected_of, not_judged
from .hypotheses import Remembered, first_of, frames, stateful_sets
from .looked_at import CHANGELOG_RACKS, LAGS
from .observed import ObservedRecord
from .plug_ins import FailureKind, PlugInFailed, PlugInRun, sentence_of
from .rack_modes import COSTS, STRATEGY, TAGS, shown_to_plug_in
from .rounds import Hypothesis
from .search import Found, Missed, Search
from .words import ON_END_OFFSETS

MOST_FRAMES = 2_000
"""Most of them differ in what the plug-in does not look at, and cost no call."""
_SETTINGS: Mapping[str, tuple[str, str]] = {
    "num_standby_replicas": ("standbys", NOT_KNOWN["standbys"]),
    "max_warmup_replicas": ("warm_ups", NOT_KNOWN["warm_ups"]),
    "acceptable_recovery_lag": ("acceptable_lag", NOT_KNOWN["acceptable_lag"]),
    "probing_rebalance_interval_ms": ("probing_interval_ms", "probing.rebalance.interval.ms"),
    "rack_aware_assignment_tags": ("rack_tags", TAGS),
    "rack_aware_assignment_strategy": ("rack_strategy", STRATEGY),
    "rack_aware_traffic_cost": ("rack_traffic_cost", COSTS["rack_traffic_cost"]),
    "rack_aware_non_overlap_cost": ("rack_non_overlap_cost", COSTS["rack_non_overlap_cost"]),
}
"""Fields of AssignmentConfigs, each with the field of StreamsSettings that tells it and Kafka's name."""
assert _SETTINGS.keys() == {field.name for field in fields(AssignmentConfigs)}
_LAGS = "the plug-in looks at lags, and no end offsets of the changelogs that were tried give this answer"
_RACKS = "the plug-in looks at the racks of partitions"


def _unusable(plug_in: PlugIn, failure: PlugInFailed) -> Verdict:
    doubtful = failure.kind is FailureKind.NOT_DETERMINISTIC
    kind = ReasonKind.ASSIGNOR_NOT_DETERMINISTIC if doubtful else ReasonKind.PLUG_IN_FAILED
    return not_judged(kind, sentence_of(plug_in, failure))


def judged(
    settings: StreamsSettings,
    record: ObservedRecord,
    at_ms: int,
    remembered: Remembered,
    floor: Mapping[TaskId, int],
    run: PlugInRun,
    bounds: Mapping[TaskId, EndBounds] | None = None,
) -> Judged:
    """The verdict by the plug-in. Its callback is called once, with the answer that is compared with the record."""
    modes = shown_to_plug_in(settings, record)
    search = Search(record, at_ms, floor, settings.java_version, run, bounds=bounds)
    listed, whole = first_of(frames(settings, record, remembered, modes=modes), MOST_FRAMES)
    found = search.run(listed)
    if isinstance(found, Missed):
        doubted = replace(found, exhausted=found.exhausted and (whole or not run.saw_racks))
        if found.answer is not None:
            again = Search(record, at_ms, floor, settings.java_version, run, bounds=bounds)
            unlikely = frames(settings, record, remembered, doubted=True, modes=modes)
            listed, whole = first_of(unlikely, MOST_FRAMES)
            tried = again.run(listed)
            if isinstance(tried, Found):
                return _found(settings, record, tried, again, run, silent=True)
            doubted = replace(doubted, exhausted=doubted.exhausted and tried.exhausted and (whole or not run.saw_racks))
        verdict = _missed(settings, record, run, doubted)
        if found.answer is not None:
            run.answered()
        if found.tried is not None:
            search.perform(found.tried)
        return Judged(verdict=verdict, plugged=run)
    return _found(settings, record, found, search, run, silent=False)


def _found(
    settings: StreamsSettings, record: ObservedRecord, found: Found, search: Search, run: PlugInRun, *, silent: bool
) -> Judged:
    """The verdict where an answer of the plug-in is the record's. `silent`: members reported no state that there is."""
    reason = _unknown(settings, record, found, search, run, silent=silent)
    run.answered()
    search.perform(found.hypothesis)
    verdict = Verdict(
        grade=Grade.MATCH if reason is None else Grade.EXPLAINABLE,
        assignor=PROTOCOL,
        eras=(era_of(found.hypothesis.release).name,),
        reason=reason,
        expected=expected_of(found.answer),
    )
    return Judged(
        verdict=verdict,
        hypothesis=found.hypothesis,
        answer=found.answer,
        roles=roles_of(record, found.answer),
        plugged=run,
    )


def _unknown(
    settings: StreamsSettings, record: ObservedRecord, found: Found, search: Search, run: PlugInRun, *, silent: bool
) -> Reason | None:
    """On what the answer rests that is not known; None where it follows from what is known."""
    hypothesis = found.hypothesis
    sets, _ = stateful_sets(settings, record)
    if silent or not all(search.gives(replace(hypothesis, stateful=other)) for other in sets[1:]):
        with_state = ", ".join(str(number) for number, _ in sorted(hypothesis.stateful)) or "none"
        text = f"which sub-topologies have state is not known yet; it fits with {with_state}"
        return Reason(ReasonKind.UNKNOWN_STATE, text)
    names = _unknown_settings(settings, record, run)
    if names:
        listed = ", ".join(f"{name} {_value(getattr(hypothesis.configs, field))}" for field, name in names.items())
        text = f"settings that are not known give this answer with these values: {listed}"
        return Reason(ReasonKind.UNKNOWN_SETTINGS, text)
    racks = _unknown_racks(record, run, hypothesis)
    if racks is not None:
        return racks
    if LAGS in run.read and not (found.sampled and len(sets) == 1):
        return Reason(ReasonKind.UNKNOWN_END_OFFSETS, ON_END_OFFSETS)
    return None


def _unknown_settings(settings: StreamsSettings, record: ObservedRecord, run: PlugInRun) -> dict[str, str]:
    """Kafka's names of the settings that the plug-in has looked at and that nobody has told, by the fields. Without any
    client tag there are no rack tags: Kafka refuses to start with a rack tag that the client does not have."""
    tagged = any(thread.said.client_tags for thread in record.threads)
    return {
        field: name
        for field, (setting, name) in _SETTINGS.items()
        if field in run.read and getattr(settings, setting) is None and (tagged or name != TAGS)
    }


def _value(value: object) -> str:
    """The value of a setting as Kafka's configuration has it."""
    match value:
        case Enum():
            return str(value.value)
        case tuple():
            return ",".join(map(str, value)) or "empty"
        case None:
            return "not set"
        case _:
            return str(value)


def _unknown_racks(record: ObservedRecord, run: PlugInRun, hypothesis: Hypothesis) -> Reason | None:
    """What is not known of the racks that the plug-in has looked at; None where they are known."""
    if not run.saw_racks:
        return None
    why = _doubt(record, run.read)
    if hypothesis.racks is None:
        text = "this is its answer where nothing is known of the racks of partitions"
        return Reason(ReasonKind.UNKNOWN_RACKS, f"{text}; {why}" if why else text)
    return (
        Reason(ReasonKind.UNKNOWN_RACKS, f"with the racks that samples tell it is this answer; {why}") if why else None
    )


def _doubt(record: ObservedRecord, read: Collection[str]) -> str:
    """Why the racks that the plug-in has looked at may be others; empty where they are sure."""
    return record.racks.why(with_changelogs=CHANGELOG_RACKS in read)


def _missed(settings: StreamsSettings, record: ObservedRecord, run: PlugInRun, found: Missed) -> Verdict:
    """The verdict where no answer of the plug-in is the record's."""
    if run.failure is not None and (run.lost or found.answer is None):
        return _unusable(run.plug_in, run.failure)
    if found.answer is None:
        return not_judged(ReasonKind.CANNOT_RUN, f"the leader's computation fails: {found.failed}")
    names = _unknown_settings(settings, record, run)
    if names:
        text = f"no value that was tried gives this answer; not known: {', '.join(names.values())}"
        return not_judged(ReasonKind.UNKNOWN_SETTINGS, text)
    doubt = _doubt(record, run.read) if run.saw_racks else ""
    if doubt:
        return not_judged(ReasonKind.UNKNOWN_RACKS, f"{_RACKS}; {doubt}")
    if LAGS in run.read:
        return not_judged(ReasonKind.TOO_MANY_POSSIBILITIES, _LAGS)
    if not found.exhausted or not stateful_sets(settings, record)[1]:
        return not_judged(ReasonKind.UNKNOWN_STATE, "which sub-topologies have state is not known")
    reason = Reason(ReasonKind.OTHER_ANSWER, found.nearest)
    return Verdict(grade=Grade.UNEXPLAINED, assignor=PROTOCOL, reason=reason, expected=expected_of(found.answer))
