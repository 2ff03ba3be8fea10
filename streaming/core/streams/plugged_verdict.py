"""The verdict where the application has a task assignor of its own, which is run as a plug-in (KIP-924).

What the plug-in did not look at cannot have changed its answer. So an answer that is not the record's is *unexplained*
if everything that it looked at is known, *not judged* otherwise; and nothing is judged by a plug-in that failed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

from rebalance_monitor.assignors.streams.eras import era_of
from rebalance_monitor.assignors.streams.tasks import TaskId
from rebalance_monitor.schemas.streams_tasks import PROTOCOL
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.streams_settings import PlugIn, StreamsSettings
from rebalance_monitor.streaming.core.streams.grading import (
    NOT_KNOWN,
    Judged,
    expected_of,
    not_judged,
    unknown_settings,
)
from rebalance_monitor.streaming.core.streams.hypotheses import Remembered, frames, stateful_sets
from rebalance_monitor.streaming.core.streams.observed import ObservedRecord
from rebalance_monitor.streaming.core.streams.plug_ins import (
    LAGS,
    RACKS,
    FailureKind,
    PlugInFailed,
    PlugInRun,
)
from rebalance_monitor.streaming.core.streams.rounds import roles_of
from rebalance_monitor.streaming.core.streams.search import Found, Missed, Search

MOST_FRAMES = 100
_FIELD = {
    "num.standby.replicas": "num_standby_replicas",
    "max.warmup.replicas": "max_warmup_replicas",
    "acceptable.recovery.lag": "acceptable_recovery_lag",
}
assert _FIELD.keys() == set(NOT_KNOWN.values())
_LAGS = "the plug-in looks at lags, and no end offsets of the changelogs that were tried give this answer"
_RACKS = "the plug-in looks at the racks of partitions, which no record holds"


def name_of(plug_in: PlugIn) -> str:
    """The plug-in in a sentence."""
    return f"task assignor {plug_in.name}"


def _unusable(plug_in: PlugIn, failure: PlugInFailed) -> Verdict:
    """No verdict, because the plug-in failed."""
    if failure.kind is FailureKind.NOT_DETERMINISTIC:
        text = f"assignor not deterministic: {failure.text}"
        return not_judged(ReasonKind.ASSIGNOR_NOT_DETERMINISTIC, text)
    return not_judged(ReasonKind.PLUG_IN_FAILED, f"{name_of(plug_in)}: {failure.text}")


def judged(
    settings: StreamsSettings,
    record: ObservedRecord,
    at_ms: int,
    remembered: Remembered,
    floor: Mapping[TaskId, int],
    run: PlugInRun,
) -> Judged:
    """The verdict by the plug-in. Its callback is called once, with the answer that is compared with the record."""
    search = Search(record, at_ms, floor, settings.java_version, run)
    found = search.run(list(islice(frames(settings, record, remembered), MOST_FRAMES)))
    if isinstance(found, Missed):
        doubted = found
        if found.answer is not None:
            again = Search(record, at_ms, floor, settings.java_version, run)
            tried = again.run(list(islice(frames(settings, record, remembered, doubted=True), MOST_FRAMES)))
            if isinstance(tried, Found):
                return _found(settings, record, tried, again, run, silent=True)
            doubted = replace(found, exhausted=found.exhausted and tried.exhausted)
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
    names = _looked_at(run, unknown_settings(settings, record))
    if names:
        listed = ", ".join(f"{name} {getattr(hypothesis.configs, _FIELD[name])}" for name in names)
        text = f"settings that are not known give this answer with these values: {listed}"
        return Reason(ReasonKind.UNKNOWN_SETTINGS, text)
    if LAGS in run.read:
        text = "it depends on the end offsets of changelogs, which no record holds: possible ones give this answer"
        return Reason(ReasonKind.UNKNOWN_END_OFFSETS, text)
    return Reason(ReasonKind.UNKNOWN_SETTINGS, _RACKS) if RACKS in run.read else None


def _looked_at(run: PlugInRun, names: Iterable[str]) -> list[str]:
    """Those of Kafka's names of settings that the plug-in has looked at."""
    return [name for name in names if _FIELD[name] in run.read]


def _missed(settings: StreamsSettings, record: ObservedRecord, run: PlugInRun, found: Missed) -> Verdict:
    """The verdict where no answer of the plug-in is the record's."""
    if run.failure is not None and (run.lost or found.answer is None):
        return _unusable(run.plug_in, run.failure)
    if found.answer is None:
        return not_judged(ReasonKind.CANNOT_RUN, f"the leader's computation fails: {found.failed}")
    names = _looked_at(run, unknown_settings(settings, record))
    if names:
        text = f"no value that was tried gives this answer; not known: {', '.join(names)}"
        return not_judged(ReasonKind.UNKNOWN_SETTINGS, text)
    if RACKS in run.read:
        return not_judged(ReasonKind.CANNOT_RUN, _RACKS)
    if LAGS in run.read:
        return not_judged(ReasonKind.TOO_MANY_POSSIBILITIES, _LAGS)
    if not found.exhausted or not stateful_sets(settings, record)[1]:
        return not_judged(ReasonKind.UNKNOWN_STATE, "which sub-topologies have state is not known")
    reason = Reason(ReasonKind.OTHER_ANSWER, found.nearest)
    return Verdict(grade=Grade.UNEXPLAINED, assignor=PROTOCOL, reason=reason, expected=expected_of(found.answer))
