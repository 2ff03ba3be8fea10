"""Was this Connect assignment right? Re-runs the leader's round and compares byte for byte.

carried hypotheses x {clock readings} x {sync applied, missed}, with the config at the stated offset
    one gives the observed bytes          -> match
    only another setting or history does  -> explainable, and by what
    none does                             -> unexplained; memory restarts from what the record determines
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from assignors import connect_eager, connect_incremental
from assignors.connect_eras import ERAS
from assignors.connect_model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
)
from assignors.connect_round import CannotAssign
from schemas.connect_protocol import ConnectAssignment, WorkerState
from streaming.core import leader
from streaming.core.config_history import ConfigHistory, ConfigState
from streaming.core.connect_bytes import encode_share
from streaming.core.leader import Carried, Hypothesis
from streaming.core.observed import EAGER, Job, Observed, WorkerView
from streaming.core.records import GroupGeneration
from streaming.core.results import ConnectShare, ExpectedShare, Grade, Verdict
from streaming.core.settings import ConnectSettings

CLOCK_SLACK_MS = 1_000
CONFIG_BEHIND = "config snapshot one record behind its offset"
JAVA_BEFORE_19, JAVA_FROM_19 = 17, 21


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, and what the leader may remember after the round."""

    verdict: Verdict
    hypotheses: tuple[Hypothesis, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One generation with everything that is needed to judge it."""

    body: GroupGeneration
    observed: Observed
    last: Observed | None
    history: ConfigHistory
    settings: ConnectSettings
    carried: Carried
    missing_generations: int

    @property
    def leader_view(self) -> WorkerView:
        return self.observed.views[self.body.leader or ""]


@dataclass(frozen=True, slots=True)
class Run:
    """One execution: the hypothesis it leaves behind, and the answer."""

    after: Hypothesis
    result: ConnectResult


def not_judged(reason: str, *, assignor: str | None = None) -> Judgement:
    return Judgement(Verdict(grade=Grade.NOT_JUDGED, assignor=assignor, reason=reason))


def judge(case: Case) -> Judgement:
    """The verdict on one generation with members whose config records have arrived."""
    body = case.body
    if body.leader not in case.observed.views:
        return not_judged("the record names no leader among its members")
    for member in body.members:
        if not isinstance(member.subscription, WorkerState):
            return not_judged(f"subscription of {member.member_id} cannot be decoded")
    rounds = tuple(_rounds(case))
    if not rounds:
        return not_judged("the config topic's history does not reach back to this generation")
    if body.protocol == EAGER:
        return _judge_eager(case, rounds)
    return _judge_incremental(case, rounds)


def _judge_eager(case: Case, rounds: tuple[ConnectRound, ...]) -> Judgement:
    results = [connect_eager.assign(one) for one in rounds]
    java = _java_versions(case.settings)
    for result in results:
        if _equal(case.body, result, java):
            if result is results[0]:
                return Judgement(_verdict(Grade.MATCH, case, result, "eager"))
            return Judgement(_verdict(Grade.EXPLAINABLE, case, result, "eager", CONFIG_BEHIND))
    for result in results:
        if _same_sets(case.body, result):
            return Judgement(_verdict(Grade.EXPLAINABLE, case, result, "eager", "order inside the arrays"))
    return Judgement(_verdict(Grade.UNEXPLAINED, case, results[0], "eager", _difference(case.body, results[0])))


def _judge_incremental(case: Case, rounds: tuple[ConnectRound, ...]) -> Judgement:
    known = [one for one in case.carried.hypotheses if one.max_delay_ms is not None]
    hidden = [one for one in case.carried.hypotheses if one.max_delay_ms is None]
    runs: list[Run] = []
    fitting: list[Run] = []
    for java in _java_versions(case.settings):
        if not fitting:
            exact = rounds[:1]
            runs = list(_runs(case, exact, known, java)) + list(_runs_without_delay(case, exact, hidden, java))
            fitting = [run for run in runs if _equal(case.body, run.result, (java,))]
    versions = _java_versions(case.settings)
    if fitting:
        if case.carried.complete:
            return _accepted(Grade.MATCH, case, fitting)
        return _accepted(Grade.EXPLAINABLE, case, fitting, "history missing before the first record")
    for reason, tries in _explanations(case, rounds, hidden):
        more = [run for run in tries if _equal(case.body, run.result, versions)]
        if more:
            return _accepted(Grade.EXPLAINABLE, case, more, reason)
    loosely = [run for run in runs if _same_sets(case.body, run.result)]
    if loosely:
        return _accepted(Grade.EXPLAINABLE, case, loosely, "order inside the arrays")
    return _unexplained(case, rounds, runs)


def _explanations(
    case: Case, rounds: tuple[ConnectRound, ...], hidden: list[Hypothesis]
) -> Iterator[tuple[str, Iterable[Run]]]:
    """What else may be behind an answer that nothing carried gives, most likely first; each yields its runs."""
    seen_ms = case.observed.delay_ms
    java = _java_versions(case.settings)[0]
    if hidden:
        guesses = dict.fromkeys((leader.DEFAULT_MAX_DELAY_MS, seen_ms, 0))
        tries = [replace(one, max_delay_ms=ms) for one in hidden for ms in guesses]
        yield "unknown setting: scheduled.rebalance.max.delay.ms of the leader", _runs(case, rounds, tries, java)
    settled = [
        one if one.max_delay_ms is not None else replace(one, max_delay_ms=seen_ms or leader.DEFAULT_MAX_DELAY_MS)
        for one in case.carried.hypotheses
    ]
    yield CONFIG_BEHIND, _runs(case, rounds[1:], settled, java)
    if case.missing_generations:
        yield "missing generations", _runs(case, rounds, leader.after_gap(settled), java, both_syncs=True)


def _accepted(grade: Grade, case: Case, runs: list[Run], reason: str | None = None) -> Judgement:
    first = runs[0]
    verdict = _verdict(grade, case, first.result, first.after.era, reason)
    return Judgement(verdict, leader.collapsed(run.after for run in runs))


def _unexplained(case: Case, rounds: tuple[ConnectRound, ...], runs: list[Run]) -> Judgement:
    snapshot = rounds[0].fresh_config or rounds[0].config
    configured: frozenset[Job] = frozenset(snapshot.connectors) | {
        (name, number) for name, count in snapshot.connectors.items() for number in range(count)
    }
    eras = tuple(dict.fromkeys(one.era for one in case.carried.hypotheses))
    after = leader.collapsed(leader.after_unknown(case.observed, configured, eras, case.settings.max_delay_ms))
    if not case.carried.complete:
        reason = "history missing before the first record"
        verdict = Verdict(grade=Grade.EXPLAINABLE, assignor=_assignor(case), era=eras[0], reason=reason)
        return Judgement(verdict, after)
    if not runs:
        return not_judged("the leader's round cannot be run on this record", assignor=_assignor(case))
    result = runs[0].result
    verdict = _verdict(Grade.UNEXPLAINED, case, result, runs[0].after.era, _difference(case.body, result))
    return Judgement(verdict, after)


def _rounds(case: Case) -> Iterator[ConnectRound]:
    """The round's inputs: first with the config at the stated offsets, then with one record less (connect.md 4.3).

    A worker publishes its new offset just before it applies the record, so a snapshot may lack the last one. That
    explains an answer but proves nothing: a leader that forgot the record's jobs looks the same.
    """
    body = case.body
    members = tuple(
        ConnectMember(
            id=member.member_id,
            url=state.url,
            config_offset=state.config_offset,
            held=Jobs(allocation.connectors, allocation.tasks) if allocation else Jobs(),
            static=Jobs(state.static_connectors, state.static_tasks),
        )
        for member in body.members
        if isinstance(state := member.subscription, WorkerState)
        for allocation in (state.allocation if body.protocol != EAGER else None,)
    )
    own = case.leader_view.config_offset or 0
    top = max(member.config_offset for member in members)
    fresh_offset = case.observed.config_offset if own < top and case.observed.error == 0 else None
    for config in _states(case.history, own):
        for fresh in _states(case.history, fresh_offset) if fresh_offset is not None else (None,):
            yield ConnectRound(
                now_ms=case.observed.at_ms,
                generation=body.generation,
                last_completed_generation=-1,
                protocol=body.protocol or "",
                leader=body.leader or "",
                config=ConfigSnapshot(own, config.connectors()),
                fresh_config=ConfigSnapshot(fresh_offset, fresh.connectors())
                if fresh is not None and fresh_offset is not None
                else None,
                members=members,
            )


def _states(history: ConfigHistory, offset: int) -> Iterator[ConfigState]:
    exact = history.state_at(offset)
    if exact is None:
        return
    yield exact
    earlier = history.state_at(offset - 1)
    if earlier is not None and earlier.connectors() != exact.connectors():
        yield earlier


def _runs_without_delay(
    case: Case, rounds: tuple[ConnectRound, ...], hidden: list[Hypothesis], java: int
) -> Iterator[Run]:
    """Rounds of leaders whose maximum delay is not known, where the answer shows no sign of it."""
    assumed = [replace(one, max_delay_ms=leader.DEFAULT_MAX_DELAY_MS) for one in hidden]
    for run in _runs(case, rounds, assumed, java):
        if run.result.delay_ms == 0:
            yield replace(run, after=replace(run.after, max_delay_ms=None))


def _runs(
    case: Case,
    rounds: tuple[ConnectRound, ...],
    hypotheses: Iterable[Hypothesis],
    java: int,
    *,
    both_syncs: bool = False,
) -> Iterator[Run]:
    for hypothesis in hypotheses:
        max_delay_ms = hypothesis.max_delay_ms
        if max_delay_ms is None:
            continue
        for completed in _last_completed(case, hypothesis, both=both_syncs):
            for now_ms in _clock_readings(case, hypothesis):
                for one in rounds:
                    attempt = replace(one, now_ms=now_ms, last_completed_generation=completed)
                    try:
                        result, memory = connect_incremental.assign(
                            hypothesis.memory,
                            attempt,
                            max_delay_ms=max_delay_ms,
                            era=ERAS[hypothesis.era],
                            java_version=java,
                        )
                    except CannotAssign:  # this family does not speak the protocol, or Kafka's class throws here
                        continue
                    yield Run(replace(hypothesis, memory=memory), result)


def _last_completed(case: Case, hypothesis: Hypothesis, *, both: bool) -> tuple[int, ...]:
    """The last generation whose sync the leader's process completed: decides whether its memory holds (3.5 step 1)."""
    led = hypothesis.memory.previous_generation
    last = case.last
    if last is None or led == -1:
        return (led,)
    kept, cleared = led, led - 1
    if both:
        return (kept, cleared)
    applied = _applied(case, last)
    if applied is None or case.missing_generations:
        return (kept, cleared)
    completed = last.generation if applied else kept - 1
    return (kept if completed == led else cleared,)


def _applied(case: Case, last: Observed) -> bool | None:
    """Whether the leader's allocation shows the last recorded assignment; None where the one before looks the same."""
    now, before = case.leader_view, last.views.get(case.body.leader or "")
    if before is None or now.shown is None:
        return None
    given = (last.leader, last.config_offset, last.error, last.delay_ms)
    if now.shown != given or now.held != before.holds:
        return False
    return None if (before.shown, before.held) == (now.shown, now.held) else True


def _clock_readings(case: Case, hypothesis: Hypothesis) -> tuple[int, ...]:
    """The leader's clock lies between the end of the join phase and the record; a running delay pins it."""
    at_ms = case.observed.at_ms
    state_ms = case.observed.state_ms if case.observed.state_ms > 0 else at_ms
    earliest, latest = state_ms - CLOCK_SLACK_MS, at_ms + CLOCK_SLACK_MS
    scheduled_ms = hypothesis.memory.scheduled_ms
    if scheduled_ms <= 0:
        return (at_ms,)
    readings = [at_ms]
    if case.observed.delay_ms and earliest <= scheduled_ms - case.observed.delay_ms <= latest:
        readings.insert(0, scheduled_ms - case.observed.delay_ms)
    if at_ms < scheduled_ms <= latest:
        readings.append(scheduled_ms)
    return tuple(readings)


def _java_versions(settings: ConnectSettings) -> tuple[int, ...]:
    return (settings.java_version,) if settings.java_version else (JAVA_BEFORE_19, JAVA_FROM_19)


def _equal(body: GroupGeneration, result: ConnectResult, java_versions: tuple[int, ...]) -> bool:
    """Whether every member's bytes are exactly these, under one of the Java versions."""
    return any(
        all(
            member.member_id in result.shares
            and member.assignment_bytes == encode_share(result, result.shares[member.member_id], java)
            for member in body.members
        )
        for java in java_versions
    )


def _same_sets(body: GroupGeneration, result: ConnectResult) -> bool:
    for member in body.members:
        share, given = result.shares.get(member.member_id), member.assignment
        if share is None or not isinstance(given, ConnectAssignment):
            return False
        if (given.error, given.config_offset, given.delay_ms) != (result.error, result.config_offset, result.delay_ms):
            return False
        if {*given.connectors, *given.tasks} != {*share.assigned.connectors, *share.assigned.tasks}:
            return False
        if {*given.revoked_connectors, *given.revoked_tasks} != {*share.revoked.connectors, *share.revoked.tasks}:
            return False
    return True


def _difference(body: GroupGeneration, result: ConnectResult) -> str:
    """One sentence naming the first member whose assignment differs from the expected one."""
    for member in body.members:
        share, given = result.shares.get(member.member_id), member.assignment
        if not isinstance(given, ConnectAssignment):
            return f"{member.member_id} was given bytes that cannot be decoded"
        if share is None:
            return f"{member.member_id} was left out of the expected round"
        if given.delay_ms != result.delay_ms:
            return f"delay is {given.delay_ms} ms, expected {result.delay_ms} ms"
        if {*given.connectors, *given.tasks} != {*share.assigned.connectors, *share.assigned.tasks}:
            return f"{member.member_id} was given other jobs than expected"
        if {*given.revoked_connectors, *given.revoked_tasks} != {*share.revoked.connectors, *share.revoked.tasks}:
            return f"{member.member_id} has to stop other jobs than expected"
    return "the headers or the order inside the arrays differ from the expected ones"


def _assignor(case: Case) -> str:
    return "eager" if case.body.protocol == EAGER else "incremental cooperative"


def _verdict(grade: Grade, case: Case, result: ConnectResult, era: str, reason: str | None = None) -> Verdict:
    expected: Mapping[str, ExpectedShare] = {
        member_id: ExpectedShare(
            assigned=ConnectShare(share.assigned.connectors, share.assigned.tasks),
            revoked=ConnectShare(share.revoked.connectors, share.revoked.tasks),
        )
        for member_id, share in result.shares.items()
    }
    return Verdict(grade=grade, assignor=_assignor(case), era=era, reason=reason, expected=expected)
