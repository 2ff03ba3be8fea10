"""A Connect leader's round, run again in every way it may have gone.

Hidden are the leader's memory and release (`leader`), its Java, its clock between the end of the join phase and the
record, and whether its process completed the generation before. Each combination is one run; but most of them cannot
differ, and an answer says what it rests on (`ConnectResult.rests_on`). So the assignor runs once for all hypotheses,
Javas, readings and completions that agree on that: in a steady round once for all releases.

    hypotheses  A5, A4, A3b with one memory; nothing lost, nothing to balance          one run for the three
                A5, A3a; a worker has joined, and balancing begins                     one run each
    clock       a delay is running, its end lies between the two readings              one run each
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from rebalance_monitor.assignors.connect.eras import ERAS, Era
from rebalance_monitor.assignors.connect.model import ConnectResult, ConnectRound, LeaderMemory
from rebalance_monitor.assignors.connect.round import CannotAssign
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.connect.observed import Observed
from . import answered_before
from .packed import LeaderHypothesis
from .rounds import Case

CLOCK_SLACK_MS = 1_000
NOT_KNOWN_MS = 2**31 - 1
"""Stands for a maximum delay that is not known: the largest that Connect accepts, which cuts no other delay short."""


@dataclass(frozen=True, slots=True)
class Run:
    """One execution: the hypothesis it leaves behind, and the answer."""

    after: LeaderHypothesis
    result: ConnectResult


@dataclass(slots=True)
class _Told:
    """All answers of one mind, and what they rest on."""

    memory: LeaderMemory
    era: Era
    max_delay_ms: int
    answers: list[tuple[ConnectResult, LeaderMemory]]
    rests_on: set[str] = field(default_factory=set)

    def serve(self, memory: LeaderMemory, era: Era, max_delay_ms: int) -> bool:
        """Whether another mind would give the same answers."""
        if max_delay_ms != self.max_delay_ms and "max_delay_ms" in self.rests_on:
            return False
        return bool(self.answers) and self.era.alike(era, self.rests_on) and self.memory == memory


def runs_of(
    case: Case,
    rounds: Sequence[ConnectRound],
    hypotheses: Iterable[LeaderHypothesis],
    *,
    both_syncs: bool = False,
    clocks_apart: bool = False,
) -> Iterator[Run]:
    """Every way the round may have gone, for each hypothesis in turn.

    Where the maximum delay is not known, every answer counts that does not show it: the rest of a delay that runs, or a
    back-off that it does not cut short. `both_syncs`: nothing tells what the process completed. `clocks_apart`: the
    coordinator's clock has moved against the leader's since the record before.
    """
    told: list[_Told] = []
    for hypothesis in hypotheses:
        memory, era = hypothesis.memory, ERAS[hypothesis.era]
        max_delay_ms = NOT_KNOWN_MS if hypothesis.max_delay_ms is None else hypothesis.max_delay_ms
        same = next((one for one in told if one.serve(memory, era, max_delay_ms)), None)
        if same is None:
            same = _Told(memory, era, max_delay_ms, [])
            told.append(same)
            completions = _last_completed(case, memory, both=both_syncs)
            readings = (_readings_apart if clocks_apart else _clock_readings)(case, memory)
            for result, after in _answers(rounds, same, completions, readings, case.javas):
                if clocks_apart and after.delay_ms:  # from here on the coordinator's new clock counts
                    after = replace(after, scheduled_ms=case.observed.at_ms + after.delay_ms)
                same.answers.append((result, after))
                same.rests_on |= result.rests_on
        for result, after in same.answers:
            if hypothesis.max_delay_ms is not None:
                yield Run(replace(hypothesis, memory=after), result)
            elif result.delay_ms != NOT_KNOWN_MS:
                least_ms = max(hypothesis.at_least_ms, result.delay_ms)
                yield Run(replace(hypothesis, memory=after, at_least_ms=least_ms), result)


def _answers(
    rounds: Iterable[ConnectRound],
    mind: _Told,
    completions: Iterable[int],
    readings: Sequence[int],
    javas: Sequence[int],
) -> Iterator[tuple[ConnectResult, LeaderMemory]]:
    """One answer for each clock reading, Java release and completed generation that makes a difference."""
    for asked in rounds:
        for completed in completions:
            rests_on: frozenset[str] = frozenset()
            for java, now_ms in product(javas, readings):
                if (java != javas[0] and "java_version" not in rests_on) or (
                    now_ms != readings[0] and "now_ms" not in rests_on
                ):
                    continue
                attempt = replace(asked, now_ms=now_ms, last_completed_generation=completed)
                try:
                    result, after = answered_before.assign(
                        mind.memory, attempt, max_delay_ms=mind.max_delay_ms, era=mind.era, java_version=java
                    )
                except CannotAssign:  # this era does not speak the protocol, or Kafka's class throws here
                    return
                yield result, after
                rests_on |= result.rests_on
            if "last_completed_generation" not in rests_on:
                break


def _last_completed(case: Case, memory: LeaderMemory, *, both: bool) -> tuple[int, ...]:
    """The last generation whose sync the leader's process completed: decides whether its memory holds (3.5 step 1)."""
    led = memory.previous_generation
    last = case.last
    if led == -1:
        return (led,)
    kept, cleared = led, led - 1
    if both or last is None:
        # Without a record before, nothing shows what the process did since: it may have followed another leader.
        return (kept, cleared)
    took = last.shown_by(case.leader_view)
    if took is None or case.missing_generations:
        return (kept, cleared)
    if took:
        return (kept if last.generation == led else cleared,)
    if last.generation == led or _has_taken_another(case, last):
        return (cleared,)
    # It missed one that it did not answer from its memory; the last one that it did may be the one it completed last.
    return (kept, cleared)


def _has_taken_another(case: Case, last: Observed) -> bool:
    """Whether the answer that the leader applied last, which is not that of `last`, is none that a memory was left by:
    one with an error, or one of another member."""
    shown = case.leader_view.shown
    if shown is None:
        return False
    leader, _, error, _ = shown
    return bool(error) or (leader != case.leader_view.member_id and leader in (last.views.keys() | case.observed.views))


def by_timer(now: Observed, last: Observed) -> bool:
    """Whether nothing but the end of a delay can have asked for the round."""
    return now.views.keys() == last.views.keys() and now.config_offset == last.config_offset


def _clock_readings(case: Case, memory: LeaderMemory) -> tuple[int, ...]:
    """The leader's clock lies between the end of the join phase and the record; a running delay pins it."""
    at_ms = case.observed.at_ms
    earliest, latest = case.observed.formed_ms - CLOCK_SLACK_MS, at_ms + CLOCK_SLACK_MS
    scheduled_ms = memory.scheduled_ms
    if scheduled_ms <= 0:
        return (at_ms,)
    readings = [at_ms]
    if case.observed.delay_ms and earliest <= scheduled_ms - case.observed.delay_ms <= latest:
        readings.insert(0, scheduled_ms - case.observed.delay_ms)
    if at_ms < scheduled_ms <= latest:
        readings.append(scheduled_ms)
    return tuple(readings)


def _readings_apart(case: Case, memory: LeaderMemory) -> tuple[int, ...]:
    """The leader's clock as the answer itself shows it, where the records' own times cannot be right for it.

    When another broker takes over whose clock is ahead, the leader has seen less of the delay go by than the records
    tell; when it is behind, more: the records run backwards, or the step hides in the time between them (then a delay
    is over early only if nothing but its end asked for the round, or other clocks tell of the time). A delay that has
    not shrunk at all is no matter of clocks: the leader's own goes on.
    """
    now, last = case.observed, case.last
    if memory.scheduled_ms <= 0 or last is None:
        return ()
    if not now.delay_ms:
        told = case.hidden_ms > 0 and memory.scheduled_ms <= now.at_ms + case.hidden_ms + SKEW_MS
        return (memory.scheduled_ms,) if by_timer(now, last) or told or now.at_ms < last.at_ms else ()
    gone_ms = memory.delay_ms - now.delay_ms
    return (memory.scheduled_ms - now.delay_ms,) if gone_ms > 0 else ()
