"""A Connect leader's round, run again from what a record shows: its inputs, every way it may have gone, the bytes.

The record tells members, jobs and offsets; hidden are the leader's memory (`leader`), its clock between the end of the
join phase and the record, whether its process completed the generation before, and whether its config snapshot lacked
the last record. Each combination is one run; who wants a verdict compares its bytes with the record's.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assignors import connect_incremental
from assignors.connect_eras import ERAS, Era
from assignors.connect_model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
    LeaderMemory,
    MemberShare,
)
from assignors.connect_round import CannotAssign
from schemas.connect_protocol import ConnectAssignment, WorkerState
from streaming.core.config_history import ConfigHistory, ConfigState
from streaming.core.configured import doubted_connectors, has_applied
from streaming.core.connect_bytes import encode_share
from streaming.core.leader import DEFAULT_MAX_DELAY_MS, Carried, Hypothesis, jobs
from streaming.core.observed import EAGER, Job, Observed, WorkerView
from streaming.core.records import GroupGeneration
from streaming.core.settings import ConnectSettings

CLOCK_SLACK_MS = 1_000
MAX_FLAGGED = 8
"""Connectors in doubt that are tried one by one."""
JAVA_BEFORE_19, JAVA_FROM_19 = 17, 21


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


def rounds_of(case: Case) -> Iterator[ConnectRound]:
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
    # A leader that has read less than some member uses a newer snapshot, or answers with the error: never its own.
    settled = _states(case, own) if own >= top else (case.history.state_at(own) or ConfigState(),)
    for config in settled:
        for fresh in _states(case, fresh_offset) if fresh_offset is not None else (None,):
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


def flagged_rounds(case: Case, rounds: Sequence[ConnectRound]) -> Iterator[ConnectRound]:
    """The round for a leader that judges otherwise which connectors' tasks are consistent: each alone, then all.

    A worker that starts on a compacted topic may have read other records between two commits (connect.md 4.3).
    """
    offset = case.observed.config_offset
    state = case.history.state_at(offset) if offset is not None else None
    if state is None or not rounds:
        return
    doubted = doubted_connectors(state)
    now = state.connectors()
    other = {name: (state.counts[name] or 0) if name in state.inconsistent else 0 for name in sorted(doubted)}
    choices = [{name: count} for name, count in other.items()][:MAX_FLAGGED]
    for changed in [*choices, other] if len(other) > 1 else choices:
        counts = {**now, **changed}
        exact = rounds[0]
        if exact.fresh_config is not None:
            yield replace(exact, fresh_config=ConfigSnapshot(exact.fresh_config.offset, counts))
        else:
            yield replace(exact, config=ConfigSnapshot(exact.config.offset, counts))


def _states(case: Case, offset: int) -> Iterator[ConfigState]:
    exact = case.history.state_at(offset)
    if exact is None:
        return
    yield exact
    earlier = None if has_applied(case.body.leader, offset, case.last) else case.history.state_at(offset - 1)
    if earlier is not None and earlier.connectors() != exact.connectors():
        yield earlier


def runs_without_delay(
    case: Case, rounds: tuple[ConnectRound, ...], hidden: list[Hypothesis], java: int
) -> Iterator[Run]:
    """Rounds of leaders whose maximum delay is not known, where the answer shows no sign of it."""
    assumed = [replace(one, max_delay_ms=DEFAULT_MAX_DELAY_MS) for one in hidden]
    for run in runs_of(case, rounds, assumed, java):
        if run.result.delay_ms == 0:
            yield replace(run, after=replace(run.after, max_delay_ms=None))


def runs_of(
    case: Case,
    rounds: tuple[ConnectRound, ...],
    hypotheses: Iterable[Hypothesis],
    java: int,
    *,
    both_syncs: bool = False,
    clocks_apart: bool = False,
) -> Iterator[Run]:
    """Every way the round may have gone. Minds that differ in nothing that matters to it share one computation.

    `clocks_apart`: the coordinator's clock has moved against the leader's since the record before.
    """
    known: list[tuple[Era, int, LeaderMemory, list[tuple[ConnectResult, LeaderMemory]]]] = []
    for hypothesis in hypotheses:
        max_delay_ms, memory = hypothesis.max_delay_ms, hypothesis.memory
        if max_delay_ms is None:
            continue
        era = ERAS[hypothesis.era].acting(max_delay_ms)
        answers = next((one[3] for one in known if one[0] is era and one[1] == max_delay_ms and one[2] == memory), None)
        if answers is None:
            answers = list(_answers(case, rounds, hypothesis, era, max_delay_ms, java, both_syncs, clocks_apart))
            known.append((era, max_delay_ms, memory, answers))
        for result, after in answers:
            if clocks_apart and after.delay_ms:  # from here on the coordinator's new clock counts
                after = replace(after, scheduled_ms=case.observed.at_ms + after.delay_ms)
            yield Run(replace(hypothesis, memory=after), result)


def _answers(
    case: Case,
    rounds: tuple[ConnectRound, ...],
    hypothesis: Hypothesis,
    era: Era,
    max_delay_ms: int,
    java: int,
    both_syncs: bool,
    clocks_apart: bool,
) -> Iterator[tuple[ConnectResult, LeaderMemory]]:
    completions = _last_completed(case, hypothesis, both=both_syncs)
    if not era.checks_generation or _all_shown(case.observed, hypothesis.memory, rounds):
        completions = completions[:1]
    for completed in completions:
        for now_ms in (_readings_apart if clocks_apart else _clock_readings)(case, hypothesis):
            for one in rounds:
                attempt = replace(one, now_ms=now_ms, last_completed_generation=completed)
                try:
                    yield connect_incremental.assign(
                        hypothesis.memory, attempt, max_delay_ms=max_delay_ms, era=era, java_version=java
                    )
                except CannotAssign:  # this family does not speak the protocol, or Kafka's class throws here
                    continue


def _last_completed(case: Case, hypothesis: Hypothesis, *, both: bool) -> tuple[int, ...]:
    """The last generation whose sync the leader's process completed: decides whether its memory holds (3.5 step 1)."""
    led = hypothesis.memory.previous_generation
    last = case.last
    if led == -1:
        return (led,)
    kept, cleared = led, led - 1
    if both or last is None:
        # Without a record before, nothing shows what the process did since: it may have followed another leader.
        return (kept, cleared)
    applied = _applied(case, last)
    if applied is None or case.missing_generations:
        return (kept, cleared)
    completed = last.generation if applied else kept - 1
    return (kept if completed == led else cleared,)


def _all_shown(observed: Observed, memory: LeaderMemory, rounds: tuple[ConnectRound, ...]) -> bool:
    """Whether all that the leader remembers is still configured and held: forgetting it then changes nothing."""
    held = frozenset[Job]().union(*(view.held for view in observed.views.values()))
    connectors, tasks = memory.previous.connectors, memory.previous.tasks
    if not (held.issuperset(connectors) and held.issuperset(tasks)):
        return False
    snapshots = [config for one in rounds for config in (one.config, one.fresh_config) if config is not None]
    return all(
        all(name in config.connectors for name in connectors)
        and all(number < config.connectors.get(name, 0) for name, number in tasks)
        for config in snapshots
    )


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


def _readings_apart(case: Case, hypothesis: Hypothesis) -> tuple[int, ...]:
    """The leader's clock as the answer itself shows it, where the records' own times cannot be right for it.

    They run backwards when another broker takes over whose clock is behind. When it is ahead, the leader has seen less
    of the delay go by than the records tell, never more: a leader whose window ends earlier is no matter of clocks.
    """
    memory, now, last = hypothesis.memory, case.observed, case.last
    if memory.scheduled_ms <= 0 or last is None:
        return ()
    backwards = now.at_ms < last.at_ms
    if not now.delay_ms:
        return (memory.scheduled_ms,) if backwards else ()
    gone_ms = memory.delay_ms - now.delay_ms
    if gone_ms >= 0 and (backwards or gone_ms < now.at_ms - last.at_ms):
        return (memory.scheduled_ms - now.delay_ms,)
    return ()


def java_versions(settings: ConnectSettings) -> tuple[int, ...]:
    return (settings.java_version,) if settings.java_version else (JAVA_BEFORE_19, JAVA_FROM_19)


def equal_bytes(body: GroupGeneration, result: ConnectResult, java_versions: tuple[int, ...]) -> bool:
    """Whether every member's bytes are exactly these, under one of the Java versions."""
    return any(_encoded_alike(body, result, java) for java in java_versions)


def _encoded_alike(body: GroupGeneration, result: ConnectResult, java: int) -> bool:
    encoded: dict[MemberShare, bytes] = {}  # most members of most rounds are told the same: nothing new
    for member in body.members:
        share = result.shares.get(member.member_id)
        if share is None:
            return False
        if share not in encoded:
            encoded[share] = encode_share(result, share, java)
        if member.assignment_bytes != encoded[share]:
            return False
    return True


def fitting(body: GroupGeneration, runs: Iterable[Run], java_versions: tuple[int, ...]) -> list[Run]:
    """The runs whose bytes are the record's; equal answers are encoded once."""
    told: list[tuple[ConnectResult, bool]] = []
    found = []
    for run in runs:
        fits = next((known for result, known in told if result == run.result), None)
        if fits is None:
            fits = equal_bytes(body, run.result, java_versions)
            told.append((run.result, fits))
        if fits:
            found.append(run)
    return found


def _version(body: GroupGeneration) -> int | None:
    return next((one.assignment.version for one in body.members if isinstance(one.assignment, ConnectAssignment)), None)


def answered_as(case: Case | None, protocol: str, lists: Mapping[str, frozenset[Job]]) -> bool:
    """Whether the record's bytes, but for the version in them, are the answer of a leader of this protocol to whom the
    members declare these jobs. False where the round cannot be run again."""
    exact = next(rounds_of(case), None) if case is not None else None
    version = _version(case.body) if case is not None else None
    if case is None or exact is None or version is None:
        return False
    members = tuple(replace(one, static=jobs(lists.get(one.id, ()))) for one in exact.members)
    round_ = replace(exact, protocol=protocol, members=members)
    tries = [
        replace(one, max_delay_ms=case.observed.delay_ms or DEFAULT_MAX_DELAY_MS) if one.max_delay_ms is None else one
        for one in case.carried.hypotheses
    ]
    return any(
        equal_bytes(case.body, replace(run.result, version=version), (java,))
        for java in java_versions(case.settings)
        for run in runs_of(case, (round_,), tries, java)
    )
