"""Was this Connect assignment right? Re-runs the leader's round and compares byte for byte.

carried hypotheses x {clock readings} x {sync applied, missed}, with the config at the stated offset
    one gives the observed bytes          -> match
    only another setting or history does  -> explainable, and by what
    none does                             -> unexplained; memory restarts from what the record determines
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

from rebalance_monitor.assignors.connect import eager
from rebalance_monitor.assignors.connect.model import ConnectResult, ConnectRound
from rebalance_monitor.schemas.connect_protocol import WorkerState
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.leader.answers import (
    difference,
    equal_bytes,
    fitting,
    same_but_for_choice,
    same_but_for_names,
    same_sets,
)
from rebalance_monitor.streaming.core.connect.leader.fallback import after_gap, after_unknown, recounted
from rebalance_monitor.streaming.core.connect.leader.packed import LeaderHypothesis
from rebalance_monitor.streaming.core.connect.leader.rounds import (
    Case,
    flagged_rounds,
    revived_rounds,
    rounds_of,
    rounds_with_lost,
)
from rebalance_monitor.streaming.core.connect.leader.runs import Run, runs_of
from rebalance_monitor.streaming.core.connect.leader.unseen_rounds import freedom_of, reported_round
from rebalance_monitor.streaming.core.model.candidates import Candidate, Fitting, explanation, those
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import ConnectShare, ExpectedShare, Grade, Verdict
from .configured import configured_at, hidden_at, jobs_of_counts
from .intent import declared_by
from .leader import hypotheses, unknown_memory
from .observed import EAGER, ConnectorOrTask
from .reasons import (
    ARRAY_ORDER,
    CLOCKS_APART,
    COMPACTED,
    CONFIG_BEHIND,
    CONFIG_FLAGGED,
    EQUAL_CHOICE,
    HISTORY_MISSING,
    MARKER_OR_RECORD,
    MISSING_GENERATIONS,
    REVIVED,
    TOO_MANY,
    UNKNOWN_MAXIMUM,
    UNSEEN_REBALANCES,
    other_answer,
    other_release,
)

__all__ = ["Case", "Judgement", "judge", "not_judged"]

EAGER_ASSIGNOR = "eager"
EAGER_ALONE = (EAGER_ASSIGNOR,)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, and what the leader may remember after the round; `cut`: the bound left something out.
    `expected_era`: the family whose answer an unexplained verdict expects."""

    verdict: Verdict
    hypotheses: tuple[LeaderHypothesis, ...] = ()
    cut: bool = False
    expected_era: str | None = None

    @property
    def eras(self) -> tuple[str, ...]:
        """The families that the answer is measured by: those that can have given it, else the expected one."""
        return self.verdict.eras or ((self.expected_era,) if self.expected_era is not None else ())


def not_judged(reason: Reason, *, assignor: str | None = None) -> Judgement:
    return Judgement(Verdict(grade=Grade.NOT_JUDGED, assignor=assignor, reason=reason))


def judge(case: Case) -> Judgement:
    """The verdict on one generation with members whose config records have arrived.

    A configured release is what the user knows of, and workers are upgraded without the monitor. So what a leader of
    any other release may remember is followed beside it, and counts where the configured one explains nothing.
    """
    judgement = _judged(case)
    if case.settings.release is None or judgement.verdict.grade in (Grade.MATCH, Grade.NOT_JUDGED):
        return judgement
    first, second = judgement, _as_any_release(case)
    if judgement.verdict.grade is Grade.UNEXPLAINED and second.verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE):
        reason = other_release(case.settings.release)
        second = replace(second, verdict=replace(second.verdict, grade=Grade.EXPLAINABLE, reason=reason))
        first, second = second, judgement
    after, cut = hypotheses.bounded((*first.hypotheses, *second.hypotheses))
    return replace(first, hypotheses=after, cut=cut or first.cut or second.cut)


def _as_any_release(case: Case) -> Judgement:
    """As if no release were configured."""
    carried = replace(case.carried, hypotheses=(*case.carried.hypotheses, *case.carried.other_releases))
    carried = replace(carried, other_releases=())
    return _judged(replace(case, carried=carried, settings=replace(case.settings, release=None)))


def _judged(case: Case) -> Judgement:
    body = case.body
    if body.leader not in case.observed.views:
        return not_judged(Reason(ReasonKind.NO_LEADER, "the record names no leader among its members"))
    for member in body.members:
        if not isinstance(member.subscription, WorkerState):
            text = f"subscription of {member.member_id} cannot be decoded"
            return not_judged(Reason(ReasonKind.MEMBER_UNREADABLE, text))
    rounds = tuple(rounds_of(case))
    if not rounds:
        text = "the config topic's history does not reach back to this generation"
        return not_judged(Reason(ReasonKind.EVIDENCE_MISSING, text))
    if body.protocol == EAGER:
        return _judge_eager(case, rounds)
    return _judge_incremental(case, rounds)


def with_lost(case: Case, judgement: Judgement, lost: str) -> Judgement:
    """The judgement where `lost` says that records before this one were gone before they were read ("" if none): what
    nothing explains is then as if the history began here, and what missing generations explain says which."""
    verdict = judgement.verdict
    if lost and verdict.grade is Grade.UNEXPLAINED:
        again = judge(replace(case, carried=replace(case.carried, complete=False)))
        if again.verdict.grade is Grade.EXPLAINABLE:  # the eager leader has no memory that could have been missed
            judgement, verdict = again, replace(again.verdict, reason=MISSING_GENERATIONS)
    if not lost or verdict.reason is None or verdict.reason.kind is not ReasonKind.MISSING_GENERATIONS:
        return judgement
    named = Reason(ReasonKind.MISSING_GENERATIONS, f"{MISSING_GENERATIONS.text}: {lost}")
    return replace(judgement, verdict=replace(verdict, reason=named))


def _judge_eager(case: Case, rounds: tuple[ConnectRound, ...]) -> Judgement:
    results = [eager.assign(one) for one in rounds]
    exactly: Fitting[ConnectResult] = those(lambda one: equal_bytes(case, one))
    found = explanation(
        (
            Candidate(results[:1], exactly),
            Candidate(results[1:], exactly, CONFIG_BEHIND),
            Candidate(map(eager.assign, revived_rounds(case, rounds)), exactly, REVIVED),
            Candidate(map(eager.assign, flagged_rounds(case, rounds)), exactly, CONFIG_FLAGGED),
            Candidate(results, those(lambda one: same_but_for_names(case.body, one)), ARRAY_ORDER),
        )
    )
    if found is not None:
        return Judgement(_verdict(found.grade, case, found.runs[0], EAGER_ALONE, found.reason))
    if _compacted(case):
        return not_judged(COMPACTED, assignor=EAGER_ASSIGNOR)
    if any(same_sets(case.body, eager.assign(one)) for one in rounds_with_lost(case, rounds)):
        return not_judged(MARKER_OR_RECORD, assignor=EAGER_ASSIGNOR)
    return Judgement(_verdict(Grade.UNEXPLAINED, case, results[0], (), other_answer(difference(case.body, results[0]))))


def _judge_incremental(case: Case, rounds: tuple[ConnectRound, ...]) -> Judgement:
    runs = list(runs_of(case, rounds[:1], case.carried.hypotheses))
    fits = fitting(case, runs)
    if fits:
        return _fitted(case, rounds, fits)
    if not case.carried.complete:
        return _unexplained(case, rounds, runs)
    found = explanation(_candidates(case, rounds, runs))
    if found is None:
        return _unexplained(case, rounds, runs)
    # A leader of another release is one that fits by chance, if the one expected has made a mistake.
    expected = _eras(case)
    other = found.reason is not None and found.reason.kind is ReasonKind.OTHER_RELEASE
    other = other or any(run.after.era not in expected for run in found.runs)
    wrong = _after_unknown(case, rounds, expected) if other else ()
    return _accepted(found.grade, case, found.runs, found.reason, beside=wrong)


def _fitted(case: Case, rounds: tuple[ConnectRound, ...], fits: list[Run]) -> Judgement:
    """What the leader remembers after an answer that some carried memory gives; the others that it may remember."""
    fits = [*fits, *_other_families(case, rounds, fits)]
    # The first answers of another release may look like those of the old or configured one.
    others = fitting(case, runs_of(case, rounds[:1], _settled(case, case.carried.other_releases)))
    beside: list[LeaderHypothesis] = []
    if case.settings.release is None:
        fits += others
    elif {one.era for one in case.carried.other_releases} <= {run.after.era for run in others}:
        beside += (run.after for run in others)
    elif case.carried.complete:  # what is incomplete, `judge` tries as any release anyway
        beside += _as_any_release(case).hypotheses
    if case.missing_generations:
        fits += _families_after_gap(case, rounds, fits)
    doubted = _doubted_families(case, rounds, fits)
    if case.carried.unsure or not case.carried.complete:
        # The memories that fit may do so by chance, and another one is the true one.
        doubted += _after_unknown(case, rounds, _eras(case))
    if case.carried.complete:
        return _accepted(Grade.MATCH, case, fits, also=doubted, beside=beside)
    return _accepted(Grade.EXPLAINABLE, case, fits, HISTORY_MISSING, doubted, beside)


def _other_families(case: Case, rounds: tuple[ConnectRound, ...], fits: list[Run]) -> list[Run]:
    """Families that give this answer only under the maximum delay it shows, or under none, or with a snapshot one
    record behind, or with the tasks that their releases bring back: they make the verdict no weaker, and must not be
    lost either."""
    families = {run.after.era for run in fits}
    others = [one for one in case.carried.hypotheses if one.era not in families]
    if not others:
        return []
    found = fitting(case, runs_of(case, rounds[:1], hypotheses.guessed(others, case.observed)))
    other_rounds = (*rounds[1:], *revived_rounds(case, rounds))
    return [*found, *fitting(case, runs_of(case, other_rounds, _settled(case, others)))]


def _families_after_gap(case: Case, rounds: tuple[ConnectRound, ...], fits: list[Run]) -> list[Run]:
    """Families that give this answer after some unseen round: what was carried past it may be wrong for all families
    but one, and that one fit by chance."""
    families = {run.after.era for run in fits}
    others = _settled(case, (one for one in case.carried.hypotheses if one.era not in families))
    if not others:
        return []
    unseen = _after_gap(case, rounds, others)
    return fitting(case, runs_of(case, rounds, unseen, both_syncs=True))


def _after_gap(
    case: Case, rounds: tuple[ConnectRound, ...], minds: Iterable[LeaderHypothesis]
) -> Iterator[LeaderHypothesis]:
    """What unseen rounds may have left behind, as far as it goes with what the members report of them."""
    configured, known = _configured(rounds), reported_round(case)
    before = configured_at(case.history, case.last) if case.last is not None else None
    found = after_gap(minds, case.observed, configured, before or frozenset())
    return (one for one in found if known is None or known.admits(one.memory, case.observed))


def _doubted_families(case: Case, rounds: tuple[ConnectRound, ...], fits: list[Run]) -> list[LeaderHypothesis]:
    """Families that do not give this answer, where they would have needed configuration that compaction took away."""
    if not _compacted(case):
        return []
    families = {run.after.era for run in fits}
    eras = dict.fromkeys(one.era for one in case.carried.hypotheses if one.era not in families)
    return _after_unknown(case, rounds, eras)


def _after_unknown(case: Case, rounds: tuple[ConnectRound, ...], eras: Iterable[str]) -> list[LeaderHypothesis]:
    known_ms = hypotheses.agreed_maximum(case.carried.hypotheses) if case.max_delay_ms is None else case.max_delay_ms
    return list(after_unknown(case.observed, _configured(rounds), eras, known_ms, case.observed.delay_ms))


def _candidates(case: Case, rounds: tuple[ConnectRound, ...], runs: list[Run]) -> Iterator[Candidate[Run]]:
    """What else may be behind an answer that nothing carried gives, most likely first. `runs`: of what was carried."""

    exactly = partial(fitting, case)
    if case.carried.uncounted:
        yield Candidate(runs_of(case, rounds[:1], recounted(case.carried.hypotheses)), exactly, UNSEEN_REBALANCES)
    guessed = hypotheses.guessed(case.carried.hypotheses, case.observed)
    if guessed:
        tries = runs_of(case, rounds[:1], guessed)
        if case.missing_generations:  # the rest of a delay that began unseen looks like a maximum
            unseen = _after_gap(case, rounds, case.carried.hypotheses)
            tries = chain(tries, runs_of(case, rounds[:1], unseen, both_syncs=True))
        yield Candidate(tries, exactly, UNKNOWN_MAXIMUM)
    others = _settled(case, case.carried.other_releases)
    yield Candidate(runs_of(case, rounds[:1], others), exactly, other_release(case.settings.release))
    settled = _settled(case, case.carried.hypotheses)
    yield Candidate(runs_of(case, rounds[1:], settled), exactly, CONFIG_BEHIND)
    known = reported_round(case) if case.missing_generations else None
    running = [one for one in settled if known is None or known.admits(one.memory, case.observed)]
    yield Candidate(runs_of(case, rounds[:1], running, clocks_apart=True), exactly, CLOCKS_APART)
    # Which tasks come back tells the release of who leads: it may be another one than before.
    yield Candidate(runs_of(case, tuple(revived_rounds(case, rounds)), [*settled, *others]), exactly, REVIVED)
    if case.missing_generations:
        unseen = _after_gap(case, rounds, [*case.carried.hypotheses, *guessed])
        either = (*rounds, *revived_rounds(case, rounds))
        yield Candidate(runs_of(case, either, unseen, both_syncs=True), exactly, MISSING_GENERATIONS)
    # Behind all others, because it takes away what a leader must place: with it many a mistake would look right.
    yield Candidate(runs_of(case, tuple(flagged_rounds(case, rounds)), [*settled, *others]), exactly, CONFIG_FLAGGED)
    lists = declared_by(case.body)
    yield Candidate(runs, those(lambda run: same_but_for_names(case.body, run.result)), ARRAY_ORDER)
    yield Candidate(runs, those(lambda run: same_but_for_choice(case.body, run.result, lists)), EQUAL_CHOICE)


def _settled(case: Case, carried: Iterable[LeaderHypothesis]) -> list[LeaderHypothesis]:
    """With the maximum delay that the record shows where none is known yet, be it none."""
    known = list(carried)
    return [*known, *hypotheses.guessed(known, case.observed)]


def _accepted(
    grade: Grade,
    case: Case,
    runs: list[Run],
    reason: Reason | None = None,
    also: Iterable[LeaderHypothesis] = (),
    beside: Iterable[LeaderHypothesis] = (),
) -> Judgement:
    """The answer is one of these runs. `also`: what a leader knows afterwards that may have given the same answer from
    a memory that is not known; `beside`: what one knows that the verdict does not count on: a leader that has given a
    wrong answer, or is of another release than the configured one."""
    minds = (*(run.after for run in runs), *also)
    eras = hypotheses.newest_first(one.era for one in minds)
    verdict = _verdict(grade, case, runs[0].result, eras, reason)
    after, cut = hypotheses.bounded(hypotheses.widest((*minds, *beside)))
    return Judgement(verdict, after, cut=cut or case.carried.cut)


def _unexplained(case: Case, rounds: tuple[ConnectRound, ...], runs: list[Run]) -> Judgement:
    if _compacted(case):
        return not_judged(COMPACTED, assignor=_assignor(case))
    lost = tuple(rounds_with_lost(case, rounds))
    minds = hypotheses.usual(case.carried.hypotheses)
    if any(same_sets(case.body, run.result) for run in runs_of(case, lost, minds, both_syncs=True)):
        return not_judged(MARKER_OR_RECORD, assignor=_assignor(case))
    eras = _eras(case)
    if case.settings.release is None:
        eras = tuple(dict.fromkeys((*eras, *hypotheses.all_eras())))
    after, _ = hypotheses.bounded(_after_unknown(case, rounds, eras))
    shown = hypotheses.newest_first(eras)
    if (unseen := _unseen(case)) is not None:
        search = unknown_memory.MemorySearch()
        tries = chain(rounds, revived_rounds(case, rounds), flagged_rounds(case, rounds))
        found = list(unknown_memory.any_memory(case, tries, eras, freedom_of(case), search))
        if found:
            also = after if search.cut else _after_unknown(case, rounds, [run.after.era for run in found])
            return replace(_accepted(Grade.EXPLAINABLE, case, found, unseen, also), cut=False)
        if search.cut:
            verdict = Verdict(grade=Grade.EXPLAINABLE, assignor=_assignor(case), eras=shown, reason=TOO_MANY)
            return Judgement(verdict, after)
    if case.carried.cut:
        verdict = Verdict(
            grade=Grade.EXPLAINABLE, assignor=_assignor(case), eras=shown, reason=hypotheses.BOUND_EXCEEDED
        )
        return Judgement(verdict, after)
    runs = runs or list(runs_of(case, rounds[:1], minds))
    if not runs:
        text = "the leader's assignor cannot be run on this record"
        return not_judged(Reason(ReasonKind.CANNOT_RUN, text), assignor=_assignor(case))
    result = runs[0].result
    reason = other_answer(difference(case.body, result) + _other_maximum(case, rounds, result))
    return Judgement(_verdict(Grade.UNEXPLAINED, case, result, (), reason), after, expected_era=runs[0].after.era)


def _unseen(case: Case) -> Reason | None:
    """Which rounds of the leader's process were not seen, so that it may remember anything; None if all were."""
    if not case.carried.complete:
        return HISTORY_MISSING
    if case.missing_generations:
        return MISSING_GENERATIONS
    return UNSEEN_REBALANCES if case.carried.unsure else None


def _other_maximum(case: Case, rounds: tuple[ConnectRound, ...], expected: ConnectResult) -> str:
    """What to set if the leader's maximum delay is another one than configured; "" where that would not explain it."""
    seen_ms = case.observed.delay_ms
    if case.max_delay_ms is None or expected.delay_ms == seen_ms:
        return ""
    others = [replace(one, max_delay_ms=seen_ms) for one in case.carried.hypotheses]
    if not fitting(case, runs_of(case, rounds[:1], others)):
        return ""
    return (
        f"; right only if scheduled.rebalance.max.delay.ms is {seen_ms} on {case.leader_view.worker}: "
        "then set max_delay_ms_by_worker"
    )


def _eras(case: Case) -> tuple[str, ...]:
    """The families that were carried into the round."""
    return tuple(dict.fromkeys(one.era for one in case.carried.hypotheses))


def _compacted(case: Case) -> bool:
    """Whether the generation, or the one before, shows jobs of which compaction may have taken the configuration."""
    history, last = case.history, case.last
    return bool(hidden_at(history, case.observed) or (last is not None and hidden_at(history, last)))


def _configured(rounds: tuple[ConnectRound, ...]) -> frozenset[ConnectorOrTask]:
    return jobs_of_counts((rounds[0].fresh_config or rounds[0].config).connectors)


def _assignor(case: Case) -> str:
    return EAGER_ASSIGNOR if case.body.protocol == EAGER else "incremental cooperative"


def _verdict(
    grade: Grade, case: Case, result: ConnectResult, eras: tuple[str, ...], reason: Reason | None = None
) -> Verdict:
    expected: Mapping[str, ExpectedShare] = {
        member_id: ExpectedShare(
            assigned=ConnectShare(share.assigned.connectors, share.assigned.tasks),
            revoked=ConnectShare(share.revoked.connectors, share.revoked.tasks),
        )
        for member_id, share in result.shares.items()
    }
    return Verdict(grade=grade, assignor=_assignor(case), eras=eras, reason=reason, expected=expected)
