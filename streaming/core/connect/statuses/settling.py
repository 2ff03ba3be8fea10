"""The last word on a generation, once its statuses are in: why it happened, and what it cost.

Whether a worker that is in no record any more left or was lost is told by its statuses up to the end of the join phase
(`parting`). Costs (`downtime`) depend on the order in which things happened. What an outage or a slow partition held
back comes after later things were told:

told up to 10:00:20     B RUNNING c-0 (10:00:12, generation 7)       nothing was known of a stop: no cost
then comes              A UNASSIGNED c-0 (10:00:11)                  it stood still for 1 s, or so it seems
generation 7            not known

What the generation cost is then not known; a last word that was said before is taken back.

Generations of one kind close behind each other are one event for people; each stays in the history. A worker that reads
its config topic late makes the group loop: one generation with an error every 3 to 15 ms, hundreds of them. Several
workers that join one after the other, or a bulk of connectors created, look alike but slower.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.details import Burst
from rebalance_monitor.streaming.core.model.results import Aftermath, Source
from . import parting
from .downtime import Downtime, not_known, summed
from .facts import UNASSIGNED, JobFacts, Sighting
from .parting import Gone, Unsettled
from .round_change import RecordStep
from .situation import TOLD, Situation

LATE_STOP_MS = 1_000
"""A leaving worker's last status may carry a time a little after the join phase ended: two clocks."""
MOST_SETTLED = 32
"""Generations whose last word can be taken back."""
CLOSE_MS = 2_000
"""Records of one burst follow each other at most this far apart."""
LEAST = 3
"""So many generations make a burst."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A generation after its last word, as long as something that came late may take its costs back: what is then said
    of it. All statuses with times up to `until_ms` had come."""

    until_ms: int
    taken_back: Aftermath


@dataclass(slots=True, kw_only=True)
class RoundCosts:
    """The last generations before and after their last word, and what is needed for it."""

    downtime: Downtime = field(default_factory=Downtime)
    unsettled: tuple[Unsettled, ...] = ()
    settled: tuple[Settled, ...] = ()
    bursts: tuple[Burst, ...] = ()

    def before(self, now: Situation, step: RecordStep, *, late: bool) -> None:
        """A record, before its changes are applied: remember what is known of those who are gone. `late`: statuses of
        its generation were told before it."""
        unsettled = Unsettled(
            source=step.source,
            generation=step.generation,
            state_ms=step.state_ms,
            due_ms=step.at_ms + now.settings.settle_ms,
            causes=step.causes,
            gone=tuple(_gone(now, step, worker) for worker in step.gone),
            session_ms=step.session_ms,
            unknown=late,
        )
        self.unsettled += (unsettled,)
        self.downtime.before(now, step)
        if late:
            self.downtime.late_step(step)
            self._take_back(now, step.at_ms)
        self.bursts = with_record(self.bursts, step)

    def sighted(self, now: Situation, status: Sighting, before: JobFacts, *, late: bool) -> None:
        """A status of a job; `before` is what was known without it. `late`: later ones were told before it."""
        if status.state == UNASSIGNED:
            place = now.place(status)
            self.unsettled = tuple(_with_stop(one, status, place) for one in self.unsettled)
        broken = self.downtime.sighted(status, before)
        if broken is not None:
            at = next((at for at, one in enumerate(self.unsettled) if one.generation == status.generation), None)
            if at is not None:
                one = self.unsettled[at]
                one = replace(one, interrupted=(*one.interrupted, broken))
                self.unsettled = (*self.unsettled[:at], one, *self.unsettled[at + 1 :])
        if late:
            self.downtime.late_status(status)
            self.unsettled = tuple(replace(one, unknown=True) for one in self.unsettled)
            self._take_back(now, status.at_ms)

    def due_ms(self) -> int:
        return min((one.due_ms for one in self.unsettled), default=TOLD)

    def fire(self, now: Situation, now_ms: int, *, starting: bool) -> list[Aftermath]:
        """The last word on every generation whose time has come; the newest waits once more while jobs are `starting`
        that were not taken up yet."""
        words = list[Aftermath]()
        if self.due_ms() > now_ms:
            return words
        newest, still = self.unsettled[-1], list[Unsettled]()
        for one in self.unsettled:
            if one.due_ms > now_ms:
                still.append(one)
            elif not one.patient and starting and one is newest:
                extra_ms = max(now.settings.start_wait_ms - now.settings.settle_ms, 0)
                still.append(replace(one, due_ms=one.due_ms + extra_ms, patient=True))
            else:
                word = self._last_word(now, one, now_ms)
                words.append(word)
                unknown = not_known(sum(kind.jobs for kind in word.downtime))
                settled = Settled(now_ms, replace(word, downtime=(unknown,), interrupted=()))
                self.settled = (*self.settled, settled)[-MOST_SETTLED:]
        self.unsettled = tuple(still)
        self.bursts = _needed(self.bursts, min((one.generation for one in still), default=None))
        now.outputs.extend(words)
        return words

    def end(self, now: Situation) -> None:
        """The input has ended: the last word on every generation, with what is known."""
        now.outputs.extend(self._last_word(now, one, TOLD) for one in self.unsettled)
        self.unsettled = ()

    def _last_word(self, now: Situation, unsettled: Unsettled, told_ms: int) -> Aftermath:
        """What is published of the generation, finally. All statuses with times up to `told_ms` have come."""
        sums, longest = summed(unsettled)
        return Aftermath(
            cluster=now.settings.name,
            group=now.view.group,
            generation=unsettled.generation,
            source=unsettled.source,
            cause=tuple(parting.told_apart(unsettled, now.offsets.early_ms, told_ms)),
            downtime=sums,
            interrupted=longest,
            burst=burst_of(self.bursts, unsettled.generation),
        )

    def _take_back(self, now: Situation, at_ms: int) -> None:
        """Costs that were told although something of before their end was still to come."""
        now.outputs.extend(one.taken_back for one in self.settled if one.until_ms >= at_ms)
        self.settled = tuple(one for one in self.settled if one.until_ms < at_ms)


def _gone(now: Situation, step: RecordStep, worker: str) -> Gone:
    jobs = step.lost.get(worker, ())
    seen = stopped = stopped_ms = 0
    evidence: Source | None = None
    for facts in map(now.facts, jobs):
        shown, ended = facts.shown, facts.ended
        said = ended is not None and ended.worker == worker and ended.state == UNASSIGNED
        claims = any(claim.worker == worker for claim in facts.claims)
        seen += claims or said or (shown is not None and shown.worker == worker)
        if said and not claims and shown is not None and ended is not None:
            stopped += 1
            stopped_ms = max(stopped_ms, ended.at_ms)
            evidence = evidence or now.place(shown)
    return Gone(worker, len(jobs), seen, stopped, now.group.alive_ms.get(worker, step.state_ms), evidence, stopped_ms)


def _with_stop(unsettled: Unsettled, status: Sighting, place: Source) -> Unsettled:
    """With an UNASSIGNED that comes after the record of the generation without its writer, though it was written
    before, or by a clock that is ahead, or by a process that was only frozen."""
    if not any(one.worker == status.worker for one in unsettled.gone):
        return unsettled
    late = status.at_ms > unsettled.state_ms + LATE_STOP_MS
    gone = (
        one.with_stop(status.at_ms, place, late=late) if one.worker == status.worker else one for one in unsettled.gone
    )
    return replace(unsettled, gone=tuple(gone))


def _kind_of(step: RecordStep) -> str:
    """What people would call the generation: an error, or its first cause."""
    if step.error:
        return "config_mismatch"
    return step.causes[0].kind if step.causes else "unknown"


def with_record(bursts: tuple[Burst, ...], step: RecordStep) -> tuple[Burst, ...]:
    """The record goes on with the burst before it, or begins one."""
    kind, last = _kind_of(step), bursts[-1] if bursts else None
    close = last is not None and step.at_ms - last.last_at_ms <= CLOSE_MS and step.generation > last.last_generation
    if last is not None and close and last.kind == kind:
        longer = replace(last, last_generation=step.generation, last_at_ms=step.at_ms, count=last.count + 1)
        return (*bursts[:-1], longer)
    first = Burst(
        kind=kind,
        first_generation=step.generation,
        last_generation=step.generation,
        first_at_ms=step.at_ms,
        last_at_ms=step.at_ms,
        count=1,
    )
    return (*bursts, first)


def burst_of(bursts: Sequence[Burst], generation: int) -> Burst | None:
    """The burst that a generation belongs to, if it is one."""
    for burst in reversed(bursts):
        if burst.first_generation <= generation <= burst.last_generation:
            return burst if burst.count >= LEAST else None
    return None


def _needed(bursts: tuple[Burst, ...], oldest: int | None) -> tuple[Burst, ...]:
    """Those that a generation from the `oldest` on belongs to; the latest may still grow."""
    return (*(one for one in bursts[:-1] if oldest is not None and one.last_generation >= oldest), *bursts[-1:])
