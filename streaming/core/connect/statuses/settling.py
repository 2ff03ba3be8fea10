"""The last word on a generation, once its statuses are in: why it happened, and what it cost.

Whether a worker that is in no record any more left or was lost is told by its statuses up to the end of the join phase
(`parting`). Costs (`downtime`) depend on the order in which things happened. What an outage or a slow partition held
back comes after later things were told:

told up to 10:00:20     B RUNNING c-0 (10:00:12, generation 7)       nothing was known of a stop: no cost
then comes              A UNASSIGNED c-0 (10:00:11)                  it stood still for 1 s, or so it seems
generation 7            not known

What the generation cost is then not known; a last word that was said before is taken back.
"""

from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.statuses import bursts, parting
from rebalance_monitor.streaming.core.connect.statuses.downtime import Downtime, not_known, summed
from rebalance_monitor.streaming.core.connect.statuses.facts import UNASSIGNED, JobFacts, Sighting
from rebalance_monitor.streaming.core.connect.statuses.parting import Gone, Unsettled
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.situation import TOLD, Situation
from rebalance_monitor.streaming.core.model.effects import Burst
from rebalance_monitor.streaming.core.model.results import Aftermath, Cause, Source

LATE_STOP_MS = 1_000
"""A leaving worker's last status may carry a time a little after the join phase ended: two clocks."""
MOST_SETTLED = 32
"""Generations whose last word can be taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A generation after its last word, as long as something that came late may take its costs back."""

    source: Source
    generation: int
    until_ms: int
    causes: tuple[Cause, ...] = ()
    jobs: int = 0
    burst: Burst | None = None


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
        self.bursts = bursts.with_record(self.bursts, step)

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
                self._remember(one, word, now_ms)
        self.unsettled = tuple(still)
        self.bursts = bursts.needed(self.bursts, min((one.generation for one in still), default=None))
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
            burst=bursts.burst_of(self.bursts, unsettled.generation),
        )

    def _remember(self, unsettled: Unsettled, word: Aftermath, now_ms: int) -> None:
        settled = Settled(
            source=unsettled.source,
            generation=unsettled.generation,
            until_ms=now_ms,
            causes=word.cause,
            jobs=sum(kind.jobs for kind in word.downtime),
            burst=word.burst,
        )
        self.settled = (*self.settled, settled)[-MOST_SETTLED:]

    def _take_back(self, now: Situation, at_ms: int) -> None:
        """Costs that were told although something of before their end was still to come."""
        for settled in (one for one in self.settled if one.until_ms >= at_ms):
            now.outputs.append(
                Aftermath(
                    cluster=now.settings.name,
                    group=now.view.group,
                    generation=settled.generation,
                    source=settled.source,
                    cause=settled.causes,
                    downtime=(not_known(settled.jobs),),
                    interrupted=(),
                    burst=settled.burst,
                )
            )
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
