"""Telling what has come, in order, and firing the timers between.

The order is by time: a status is never told before an earlier one of its job, a record never before the one before it.
Everything up to the watermark is told; who comes later than that is told when it comes. At most MAX_UNTOLD statuses
wait: beyond that (a long history read at once) the older half is told without waiting for other partitions.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from rebalance_monitor.schemas.connect_topics import StatusRecord
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.notice import Output, Passed, ReachedTime
from rebalance_monitor.streaming.core.model.records import Row
from . import failing
from .facts import NOWHERE, JobKey, Sighting, after, reported
from .round_change import RecordStep
from .running_not_held import STRAY_MS
from .situation import TOLD, Situation, copied
from .timeline import StatusLaws, Timeline
from .worker_clocks import Offsets

MAX_UNTOLD = 20_000
END_MS = 1 << 62


@dataclass(frozen=True, slots=True)
class Clock:
    """Up to which time everything has come (None: nothing is sure), and until when timers may fire."""

    watermark_ms: int | None
    timers_ms: int | None


def clock_of(view: GroupView, carry_ms: int, end_ms: int | None, *, end_of_input: bool) -> Clock:
    """Nothing is told past a record that waits to be judged, nor in history before its end is reached. What has come is
    told by whichever clock is ahead, the monitor's or the coordinator's; timers fire by the coordinator's."""
    if end_of_input:
        return Clock(END_MS, end_ms)
    tick, envelope = view.tick, view.envelope
    if tick is None or tick.historic:
        return Clock(None, None)
    now_ms = clocks.groups_time(envelope, tick.now_ms) + carry_ms
    watermark_ms = max(now_ms, tick.now_ms) - view.settings.status_lag_ms
    waiting_ms = view.waiting.earliest_ms()
    if waiting_ms is not None:
        watermark_ms = min(watermark_ms, waiting_ms + carry_ms - 1)
    return Clock(watermark_ms, min(watermark_ms, now_ms - view.settings.status_lag_ms))


def sighting_of(row: Row, record: StatusRecord, *, historic: bool, read_ms: int | None) -> Sighting:
    """A status row as the timeline takes it; `read_ms`: by when it was surely written."""
    return Sighting(
        job=reported(record),
        state=record.state,
        worker=(record.worker_id or "").lower(),
        generation=record.generation if record.generation is not None else -1,
        at_ms=row.timestamp_ms,
        partition=row.partition,
        offset=row.offset,
        historic=historic,
        read_ms=read_ms,
    )


def advance(
    view: GroupView, timeline: Timeline, sightings: Sequence[Sighting], steps: Sequence[RecordStep], clock: Clock
) -> tuple[Timeline, list[Output]]:
    """Take what came, tell what is due. Without a watermark everything is only kept."""
    timeline, steps = _with_steps(timeline, steps)
    sightings = (*timeline.sightings, *sightings)
    watermark_ms = clock.watermark_ms
    if watermark_ms is None and len(sightings) > MAX_UNTOLD:
        watermark_ms = sorted(one.at_ms for one in sightings)[len(sightings) // 2]
    if watermark_ms is None:
        return replace(timeline, sightings=sightings, steps=steps), []
    group = timeline.group
    now = Situation(view, group, timeline.jobs)
    now.offsets = Offsets(
        timeline.offsets, timeline.recorded, group.incarnation, group.members, sightings, steps, now.given
    )
    now.recorded = list(steps)
    stated = {(one.partition, one.offset): one for one in sightings}
    written = list(_as_written(now.offsets, sightings))
    late = {(one.partition, one.offset) for one in written if one.at_ms <= timeline.told_ms}
    events: list[Sighting | RecordStep] = [*_in_job_order(now, written), *steps]
    ordered = sorted(events, key=_place)
    due = [event for event in ordered if event.at_ms <= watermark_ms]
    later = ordered[len(due) :]
    for event in ordered:
        if isinstance(event, Sighting):
            now.coming.setdefault(event.job, []).append(event)
    teller = _Teller(now, copied(timeline.laws), timeline.told_ms, late)
    for event in due:
        teller.tell(event)
    if clock.timers_ms is not None:
        sure = (one.at_ms - one.unsure_ms - 1 for one in later if isinstance(one, RecordStep))
        until_ms = min(max(clock.timers_ms, teller.passed_ms), watermark_ms, *sure)
        failing.live(now, until_ms)
        teller.fire(until_ms)
        now.outputs.append(Passed(until_ms))
    now.publish()
    group, offsets = now.group.trimmed(), now.offsets.known
    told = Timeline(
        sightings=tuple(stated[one.partition, one.offset] for one in later if isinstance(one, Sighting)),
        steps=tuple(one for one in later if isinstance(one, RecordStep)),
        group=group,
        jobs=now.jobs.lines(),
        laws=teller.laws.kept(),
        offsets={worker: offsets[worker] for worker in group.alive_ms if worker in offsets},
        recorded=now.offsets.recorded(),
        carry_ms=timeline.carry_ms,
        told_ms=timeline.told_ms if watermark_ms == END_MS else max(timeline.told_ms, watermark_ms),
    )
    return told, now.outputs


def finish(view: GroupView, timeline: Timeline) -> tuple[Timeline, list[Output]]:
    """The input has ended: the last word on every generation, with what is known."""
    now, laws = Situation(view, timeline.group, timeline.jobs), copied(timeline.laws)
    now.offsets = Offsets(timeline.offsets, timeline.recorded)
    laws.costs.end(now)
    laws.not_held.end(now)
    return replace(timeline, laws=laws), now.outputs


def due_ms(view: GroupView, timeline: Timeline, attention_ms: int | None) -> tuple[int | None, int | None]:
    """When there is something to tell by the monitor's clock at the latest, and by the coordinator's. `attention_ms`:
    when people are to be notified of something, by the time of the timeline."""
    times = [*(one.at_ms for one in timeline.sightings), *(one.at_ms for one in timeline.steps)]
    lag_ms = view.settings.status_lag_ms
    told_ms = min(times) + lag_ms if times else None
    next_ms = timeline.next_ms(view.settings)
    timers = [one + lag_ms for one in (min(times, default=None), next_ms, attention_ms) if one is not None]
    return told_ms, min(timers, default=None)


def _as_written(offsets: Offsets, sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    """Statuses at times that can be: hosts' clocks differ, by minutes where nobody sets them.

    A status states the generation its worker was in, so it was not written before that generation's record. And what
    stands behind it in its partition was written later, so far ahead of the latest that can be for that it cannot be.
    """
    later_ms: dict[int, int] = {}
    last_first = sorted(sightings, key=attrgetter("partition", "offset"), reverse=True)
    for status, told_ms, late_ms in offsets.with_times(last_first):
        earliest_ms = offsets.recorded_ms.get(status.generation, 0)
        at_ms = max(earliest_ms, told_ms)
        next_ms = later_ms.get(status.partition, at_ms)
        if at_ms > next_ms + SKEW_MS:
            at_ms = max(next_ms, min(earliest_ms, at_ms))
        if late_ms is not None:
            latest_ms = offsets.own_ms(status) + late_ms
            later_ms[status.partition] = min(latest_ms, later_ms.get(status.partition, latest_ms))
        yield status if at_ms == status.at_ms and status.read_ms is None else replace(status, at_ms=at_ms, read_ms=None)


def _in_job_order(now: Situation, sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    latest: dict[JobKey, int] = {}
    for status in sorted(sightings, key=attrgetter("partition", "offset")):
        facts = now.jobs.get(status.job)
        told_ms = latest.get(status.job, facts.told_ms if facts is not None else status.at_ms)
        latest[status.job] = max(status.at_ms, told_ms)
        yield status if latest[status.job] == status.at_ms else replace(status, at_ms=latest[status.job])


def _with_steps(timeline: Timeline, steps: Iterable[RecordStep]) -> tuple[Timeline, tuple[RecordStep, ...]]:
    """The timeline with all steps still to be told, at times that never go back: the clock of another coordinator is
    read as if the first one's had gone on."""
    ordered, carry_ms = list(timeline.steps), timeline.carry_ms
    latest_ms = ordered[-1].at_ms if ordered else timeline.group.at_ms
    for step in steps:
        carry_ms -= step.jump_ms
        at_ms = max(latest_ms, step.at_ms + carry_ms)
        latest_ms = at_ms
        ordered.append(step if at_ms == step.at_ms else replace(step, at_ms=at_ms, state_ms=step.state_ms + carry_ms))
    return replace(timeline, carry_ms=carry_ms), tuple(ordered)


def _place(event: Sighting | RecordStep) -> tuple[int, int, int, int]:
    if isinstance(event, RecordStep):
        return (event.at_ms, 0, event.source.partition, event.source.offset)
    return (event.at_ms, 1, event.partition, event.offset)


class _Teller:
    """Tells events in order. The next timer is looked up again only after one has fired or an event came."""

    def __init__(self, now: Situation, laws: StatusLaws, told_ms: int, late: Collection[tuple[int, int]]) -> None:
        """Everything up to `told_ms` is told already; `late`: partition and offset of statuses that come after it."""
        self.now, self.laws = now, laws
        self._told_ms, self._late = told_ms, late
        self._coming = iter(now.recorded)
        now.following = next(self._coming, None)
        self._low_ms = 0  # no timer is due before
        self.passed_ms = 0  # so far the coordinator's clock has surely come
        settings = now.settings
        self._ahead_ms = min(
            settings.settle_ms, settings.start_wait_ms, settings.restart_loop_ms, STRAY_MS, now.group.patience_ms
        )

    def tell(self, event: Sighting | RecordStep) -> None:
        """Timers due before the event, then the event."""
        if isinstance(event, RecordStep) and event.unsure_ms:
            self.laws.wait(event.unsure_ms)
        self.fire(event.at_ms - 1)
        self.now.outputs.append(Passed(event.at_ms - 1))
        self.now.historic = event.historic
        sure_ms = event.at_ms if isinstance(event, RecordStep) else self.now.offsets.earliest_ms(event)
        self.passed_ms = max(self.passed_ms, sure_ms or 0)
        if isinstance(event, RecordStep):
            self._step(event)
        else:
            self._sighting(event)
        self.now.outputs.append(ReachedTime(event.at_ms))
        self._low_ms = min(self._low_ms, event.at_ms + self._ahead_ms)

    def fire(self, until_ms: int) -> None:
        """Every timer due by then, one moment after the other."""
        if until_ms < self._low_ms:
            return
        settings, last_ms = self.now.settings, -1
        while (next_ms := self.laws.due_ms(settings)) <= until_ms and next_ms not in (last_ms, TOLD):
            last_ms = next_ms
            self.now.outputs.append(Passed(next_ms - 1))
            self.laws.fire(self.now, next_ms)
            self.now.outputs.append(ReachedTime(next_ms))
        self._low_ms = next_ms

    def _step(self, step: RecordStep) -> None:
        now, group = self.now, self.now.group
        now.following = next(self._coming, None)
        if step.incarnation != group.incarnation:
            self._forget()
            group.incarnation, group.stands = step.incarnation, -1
            group.named = group.overdue = -1
        group.at_ms, group.record = step.at_ms, step.source
        if step.over:
            group.generation = step.generation
            now.over(list(now.open), step.at_ms)
            self._forget()
            return
        late = step.at_ms <= self._told_ms or bool(step.jump_ms) or group.named >= step.generation
        self.laws.before(now, step, late=late)
        self._apply(step)
        self.laws.stepped(now, step)

    def _forget(self) -> None:
        self.now.forget()
        self.laws.forget()

    def _apply(self, step: RecordStep) -> None:
        now, group = self.now, self.now.group
        group.generation, group.behind, group.judged = step.generation, frozenset(step.behind), step.judged
        group.patience_ms, group.members = step.patience_ms, step.members_after(group.members)
        for worker in group.members:
            group.sign_of_life(worker, step.at_ms)
        if group.holes_ms:
            fresh = (worker for worker in step.joined if worker not in step.claimed)
            group.joined_ms.update(dict.fromkeys(fresh, step.at_ms))
        first, group.stands = group.stands < 0, step.generation
        if first:  # what came before the first generation that is known stands at that one
            for job, facts in list(now.jobs.items()):
                now.change(job, facts)
        self._hand_on(step)
        for job, facts in now.jobs.misplaced():
            if job not in step.unexpected:
                now.change(job, replace(facts, expected=None))
        for job, worker_id in step.unexpected.items():
            now.change(job, replace(now.facts(job), expected=worker_id or NOWHERE))

    def _hand_on(self, step: RecordStep) -> None:
        """What workers lose and gain; then it is known who nobody has."""
        now = self.now
        now.group.waiting = None
        for worker, lost in step.lost.items():
            for job in lost:
                facts = now.facts(job)
                now.change(job, replace(facts, holders=tuple(one for one in facts.holders if one != worker)))
        for worker, gained in step.gained.items():
            for job in gained:
                facts = now.facts(job)
                holders = tuple(sorted({*facts.holders, worker}))
                now.change(job, replace(facts, holders=holders, since=-1, since_ms=step.at_ms))
        now.group.waiting = step.waiting
        for job in (job for lost in step.lost.values() for job in lost):
            now.change(job, now.facts(job))

    def _sighting(self, status: Sighting) -> None:
        now, group = self.now, self.now.group
        before = now.facts(status.job)
        if not status.historic:
            group.named = max(group.named, status.generation)
        if status.worker:
            if status.worker not in group.heard:
                group.heard |= {status.worker}
            group.sign_of_life(status.worker, status.at_ms)
        now.change(status.job, after(before, status))
        self.laws.sighted(now, status, before, late=(status.partition, status.offset) in self._late)
