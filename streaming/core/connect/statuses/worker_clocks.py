"""How far each worker's clock is from the coordinator's, as an interval, and when a status can have been written.

Theory. The coordinator stamps a group's records, each worker its own statuses. The offset of a worker (its clock minus
the coordinator's) is never stated, but some orders cannot be otherwise:

    A status that carries generation g was written after the record of g           offset <= its time - the record's
    A worker that takes part in a second round after g writes no more with g       offset >= its time - that record's
    A status that was read was written before (or while it was read: QUICK_MS)     offset >= its time - the read

    A worker starts at once what a record gives it          offset >= its time - the record's - QUICK_MS

The last one is presumed, so it needs a start that the record asked for, and either two generations whose starts are
equally late, or one whose start is late by no more than QUICK_MS. A worker that is given nothing writes its first
status at any time, often when the next rebalance stops its jobs: that says nothing of its clock. Else the interval is
open on that side.

So each worker has [low, high], and a status with time t was written between t - high and t - low by the coordinator's
clock. **Certain is what holds for every offset in the interval.** A status is told at the time nearest to the one it
states that can be, so where nothing speaks against a clock, all times stay as they are.

    record 5 at 10:00:00    A RUNNING 5 at 10:00:00.2    high of A 0.2 s, low -4.8 s     told at 10:00:00.2
    record 7 at 10:01:00    B RUNNING 7 at 10:00:59.9    high of B -0.1 s: it is behind  told at 10:01:00
    A FAILED 5 at 10:01:03  from 10:01:02.8 on; B may have started until 10:01:05        who was first is not known
    A FAILED 5 at 10:01:09  from 10:01:08.8 on, whatever the clocks                      A ran beside B: certain

A clock that is set, or a coordinator that moves to another broker, contradicts the interval: a new one begins with that
generation. If in a generation everybody's first status is late, the record's time may be wrong, and only what follows
on a worker's own clock counts there. State: one interval for each worker, one time for each of the last generations.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.span import NOT_KNOWN, QUICK_MS, ClockOffset, of_known
from .facts import STARTED, Claim, JobKey, Sighting
from .round_change import RecordStep

MOST_RECORDS = 32
"""Generations whose record's time is kept for statuses that come later."""

Recorded = tuple[tuple[int, int], ...]
"""Generation and time of the last records, oldest first."""


def nobody(_worker: str, _job: JobKey) -> int | None:
    return None


class Offsets:
    """The intervals of all workers as far as statuses and records have come; those of each generation for its own
    statuses. `known` and `recorded` are what was remembered, in this `incarnation`, `members` who was in the group,
    and `given` tells the generation from which on a worker has a job by the records before `steps`."""

    def __init__(
        self,
        known: Mapping[str, ClockOffset],
        recorded: Recorded,
        incarnation: int = 0,
        members: Iterable[str] = (),
        sightings: Sequence[Sighting] = (),
        steps: Sequence[RecordStep] = (),
        given: Callable[[str, JobKey], int | None] = nobody,
    ) -> None:
        self.known = dict(known)
        self.recorded_ms = times = _times(recorded, incarnation, steps)
        self._of: dict[tuple[str, int], ClockOffset] = {}
        self._learn(_by_generation(sightings, times, _Asked(steps, given)), times, _Rounds(members, steps))
        self._own = {(one.partition, one.offset): at_ms for one, at_ms, _ in self.with_times(sightings)}
        for step in steps:
            if step.jump_ms and not any(place[1] >= step.generation for place in self._of):
                self.known.clear()

    def recorded(self) -> Recorded:
        return tuple(self.recorded_ms.items())[-MOST_RECORDS:]

    def of(self, worker: str, generation: int) -> ClockOffset:
        """The interval that holds for the worker's statuses of this generation."""
        return self._of.get((worker, generation)) or self.known.get(worker, NOT_KNOWN)

    def early_ms(self, worker: str) -> int | None:
        """How much earlier than told the worker's newest statuses may have been written at most."""
        return self.known.get(worker, NOT_KNOWN).early_ms

    def with_times(self, statuses: Iterable[Sighting]) -> Iterator[tuple[Sighting, int, int | None]]:
        """Each status, when to tell of it, and how much later than told by its own clock it was written at most."""
        known: dict[tuple[str, int], tuple[int, int | None]] = {}
        for status in statuses:
            place = (status.worker, status.generation)
            if place not in known:
                clock = self.of(*place)
                known[place] = clock.best_ms, clock.late_ms
            best_ms, late_ms = known[place]
            at_ms = status.at_ms - best_ms
            yield (
                status,
                at_ms if status.read_ms is None or at_ms <= status.read_ms + QUICK_MS else status.read_ms,
                late_ms,
            )

    def earliest_ms(self, status: Sighting) -> int | None:
        """Before this time the status was surely not written; None where nobody knows."""
        early_ms = self.of(status.worker, status.generation).early_ms
        return None if early_ms is None else self.own_ms(status) - early_ms

    def latest_ms(self, said: Sighting | Claim) -> int | None:
        """After this time the status was surely not written; None where nobody knows."""
        late_ms = self.of(said.worker, said.generation).late_ms
        return None if late_ms is None else self.own_ms(said) + late_ms

    def own_ms(self, said: Sighting | Claim) -> int:
        """The time of the status by the worker's clock, read as the coordinator's: it may be told later than that,
        because others of its job or of its generation are."""
        return self._own.get((said.partition, said.offset), said.at_ms)

    def given_ms(self, step: RecordStep, worker: str) -> int:
        """From when on this worker surely knew what the record gives it, by the clock that its statuses are told by."""
        own = next((self._of[place] for place in self._words(worker) if place[1] >= step.generation), None)
        early_ms = (own or self.known.get(worker, NOT_KNOWN)).early_ms
        return step.at_ms + max(early_ms or 0, 0)

    def _words(self, worker: str) -> list[tuple[str, int]]:
        return [place for place in self._of if place[0] == worker]

    def _learn(self, words: "Words", times: Mapping[int, int], rounds: "_Rounds") -> None:
        heard_until = max((one.generation for one in self.known.values()), default=-1)
        for generation in sorted(words):
            if rounds.jumped_until(generation):
                self.known.clear()
            told = {}
            for worker, said in words[generation].items():
                over_ms = rounds.over_ms(worker, generation)
                last_ms = None if over_ms is None else said.last_ms - over_ms
                told[worker] = ClockOffset(
                    low_ms=of_known(max, last_ms, said.ahead_ms),
                    high_ms=said.first_ms - times[generation],
                    generation=generation,
                    start_ms=None if said.start_ms is None else said.start_ms - times[generation],
                    quick=said.start_ms is not None and abs(said.start_ms - times[generation]) <= QUICK_MS,
                )
            prompt = any(_prompt(self.known.get(worker), one) for worker, one in told.items())
            vouched = prompt or generation <= heard_until
            for worker, bounds in told.items():
                before = self.known.get(worker, NOT_KNOWN)
                known = self.known[worker] = before.narrowed(bounds)
                if known.quick and not before.quick and before.allows(bounds):
                    self._confirm(worker, known)
                self._of[worker, generation] = known if vouched else replace(known, slow_ms=bounds.high_ms)

    def _confirm(self, worker: str, known: ClockOffset) -> None:
        """Two starts were equally late: the first one was quick, too."""
        for place in self._words(worker):
            if self._of[place].start_ms is not None and self._of[place].allows(known):
                self._of[place] = replace(self._of[place], start_ms=known.start_ms, quick=True)


@dataclass(frozen=True, slots=True)
class Said:
    """A worker's statuses of one generation: the times of the first and the last, how far one of them is ahead of its
    read, and the time of the first start that the generation's record asked for."""

    first_ms: int
    last_ms: int
    ahead_ms: int | None = None
    start_ms: int | None = None


Words = dict[int, dict[str, Said]]
"""By generation and worker."""


def _by_generation(sightings: Iterable[Sighting], times: Mapping[int, int], asked: "_Asked") -> Words:
    said: dict[int, dict[str, list[Sighting]]] = {}
    for status in sightings:
        if status.worker and status.generation in times:
            said.setdefault(status.generation, {}).setdefault(status.worker, []).append(status)
    return {
        generation: {worker: _summary(some, times[generation], asked) for worker, some in workers.items()}
        for generation, workers in said.items()
    }


def _summary(statuses: Sequence[Sighting], recorded_ms: int, asked: "_Asked") -> Said:
    """`recorded_ms`: when the record of their generation was written."""
    times_ms = [one.at_ms for one in statuses]
    return Said(
        first_ms=min(times_ms),
        last_ms=max(times_ms),
        ahead_ms=max((one.at_ms - one.read_ms - QUICK_MS for one in statuses if one.read_ms is not None), default=None),
        start_ms=min((one.at_ms for one in statuses if asked.answered_by(one, recorded_ms)), default=None),
    )


class _Asked:
    """What each record gives its workers to start."""

    def __init__(self, steps: Iterable[RecordStep], given: Callable[[str, JobKey], int | None]) -> None:
        self._steps = {step.generation: step for step in steps if not step.over}
        self._started = {
            (number, worker): frozenset(jobs)
            for number, step in self._steps.items()
            for worker, jobs in step.started.items()
        }
        self._given = given

    def answered_by(self, status: Sighting, recorded_ms: int) -> bool:
        """Whether this status is the start that the record of its generation asked for, and not read so late that
        nobody knows how quick it was."""
        if status.state not in STARTED or (status.read_ms is not None and status.read_ms > recorded_ms + 2 * QUICK_MS):
            return False
        step = self._steps.get(status.generation)
        if step is None:
            return self._given(status.worker, status.job) == status.generation
        asked = self._started.get((status.generation, status.worker), frozenset())
        return (step.restarts and not step.downgraded) or status.job in asked


def _times(recorded: Recorded, incarnation: int, steps: Iterable[RecordStep]) -> dict[int, int]:
    """When each generation's record was written; none for a number that two lives of the group share. What was recorded
    gives way to what comes."""
    times, lives = dict(recorded), dict.fromkeys((generation for generation, _ in recorded), incarnation)
    known, shared = set(times), set[int]()
    for step in steps:
        if step.over:
            continue
        if lives.setdefault(step.generation, step.incarnation) == step.incarnation:
            times.setdefault(step.generation, step.at_ms)
        elif step.generation in known:
            known.remove(step.generation)
            del times[step.generation]
            times[step.generation], lives[step.generation] = step.at_ms, step.incarnation
        else:
            shared.add(step.generation)
    return {generation: at_ms for generation, at_ms in times.items() if generation not in shared}


def _prompt(known: ClockOffset | None, offset: ClockOffset) -> bool:
    """Whether a worker has come to this generation as quickly as to others before; where its clock is not known,
    whether it has started what the record gave it, or came soon after the record."""
    if offset.high_ms is None:
        return False
    if known is None or known.high_ms is None:
        return offset.start_ms is not None or offset.high_ms <= QUICK_MS
    return offset.high_ms <= known.high_ms + QUICK_MS


class _Rounds:
    """Which records each worker is in, and where the coordinator's clock was set or another one's followed."""

    def __init__(self, members: Iterable[str], steps: Sequence[RecordStep]) -> None:
        self._of: dict[str, list[tuple[int, int]]] = {}
        self._jumps = sorted(step.generation for step in steps if step.jump_ms)
        now = set(members)
        for step in steps:
            now = set[str]() if step.over else (now - set(step.gone)) | set(step.joined)
            for worker in now:
                self._of.setdefault(worker, []).append((step.generation, step.at_ms))

    def jumped_until(self, generation: int) -> bool:
        """Whether the clock has jumped with this generation, or after the one that was asked for before."""
        passed = [one for one in self._jumps if one <= generation]
        self._jumps = self._jumps[len(passed) :]
        return bool(passed)

    def over_ms(self, worker: str, generation: int) -> int | None:
        """When the worker has surely left this generation for another: the second of the later records it is in."""
        later = [at_ms for number, at_ms in self._of.get(worker, ()) if number > generation]
        return later[1] + QUICK_MS if len(later) > 1 else None
