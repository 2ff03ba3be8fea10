"""Telling what has come, in order, and firing the timers between.

The order is by time: a status is never told before an earlier one of its job, a record never before the one before it.
Everything up to the watermark is told; who comes later than that is told when it comes. At most MAX_UNTOLD statuses
wait: beyond that (a long history read at once) the older half is told without waiting for other partitions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rebalance_monitor.schemas.connect_topics import StatusRecord
from rebalance_monitor.streaming.core.connect.statuses import (
    bursts,
    downtime,
    failing,
    held_and_running,
    late,
    running_twice,
    settling,
    three_way,
    workers_lost,
)
from rebalance_monitor.streaming.core.connect.statuses.facts import Sighting, after, reported
from rebalance_monitor.streaming.core.connect.statuses.memory import Timeline
from rebalance_monitor.streaming.core.connect.statuses.packed import JobTable
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.session import Work
from rebalance_monitor.streaming.core.connect.statuses.worker_clocks import Offsets
from rebalance_monitor.streaming.core.fold import clocks
from rebalance_monitor.streaming.core.fold.clocks import SKEW_MS
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.notice import Output, Passed, ReachedTime
from rebalance_monitor.streaming.core.model.records import Row

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
    work = Work(view, timeline)
    offsets = work.offsets = Offsets(
        timeline.offsets, timeline.recorded, timeline.incarnation, timeline.members, sightings, steps, work.given
    )
    stated = {(one.partition, one.offset): one for one in sightings}
    written = list(_as_written(offsets, sightings))
    events: list[Sighting | RecordStep] = [*_in_job_order(timeline, written), *steps]
    ordered = sorted(events, key=_place)
    due = [event for event in ordered if event.at_ms <= watermark_ms]
    later = ordered[len(due) :]
    work.late = {(one.partition, one.offset) for one in written if one.at_ms <= timeline.told_ms}
    work.recorded = list(steps)
    for event in ordered:
        if isinstance(event, Sighting):
            work.coming.setdefault(event.job, []).append(event)
    teller = _Teller(work)
    for event in due:
        teller.tell(event)
    if clock.timers_ms is not None:
        sure = (one.at_ms - one.unsure_ms - 1 for one in later if isinstance(one, RecordStep))
        until_ms = min(max(clock.timers_ms, teller.passed_ms), watermark_ms, *sure)
        failing.live(work, until_ms)
        teller.fire(until_ms)
        work.outputs.append(Passed(until_ms))
    if watermark_ms != END_MS:
        work.told_ms = max(work.told_ms, watermark_ms)
    three_way.states(work)
    after = replace(
        work.frozen(),
        sightings=tuple(stated[one.partition, one.offset] for one in later if isinstance(one, Sighting)),
        steps=tuple(one for one in later if isinstance(one, RecordStep)),
    )
    return after, work.outputs


def finish(view: GroupView, timeline: Timeline) -> tuple[Timeline, list[Output]]:
    """The input has ended: the last word on every generation, with what is known."""
    work = Work(view, timeline)
    work.outputs.extend(settling.last_word(work, one, END_MS) for one in work.unsettled)
    work.unsettled.clear()
    held_and_running.unjudged(work)
    return replace(work.frozen(), sightings=timeline.sightings, steps=timeline.steps), work.outputs


def due_ms(view: GroupView, timeline: Timeline, attention_ms: int | None) -> tuple[int | None, int | None]:
    """When there is something to tell by the monitor's clock at the latest, and by the coordinator's. `attention_ms`:
    when people are to be notified of something, by the time of the timeline."""
    times = [*(one.at_ms for one in timeline.sightings), *(one.at_ms for one in timeline.steps)]
    lag_ms = view.settings.status_lag_ms
    told_ms = min(times) + lag_ms if times else None
    next_ms = _Teller(Work(view, timeline)).next_ms()
    timers = [one + lag_ms for one in (min(times, default=None), next_ms, attention_ms) if one is not None]
    return told_ms, min(timers, default=None)


def _as_written(offsets: Offsets, sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    """Statuses at times that can be: hosts' clocks differ, by minutes where nobody sets them.

    A status states the generation its worker was in, so it was not written before that generation's record. And what
    stands behind it in its partition was written later, so far ahead of the latest that can be for that it cannot be.
    """
    later_ms: dict[int, int] = {}
    for status in sorted(sightings, key=lambda two: (two.partition, two.offset), reverse=True):
        earliest_ms = offsets.recorded_ms.get(status.generation, 0)
        at_ms = max(earliest_ms, offsets.told_ms(status))
        next_ms = later_ms.get(status.partition, at_ms)
        if at_ms > next_ms + SKEW_MS:
            at_ms = max(next_ms, min(earliest_ms, at_ms))
        latest_ms = offsets.latest_ms(status)
        if latest_ms is not None:
            later_ms[status.partition] = min(latest_ms, later_ms.get(status.partition, latest_ms))
        yield status if at_ms == status.at_ms and status.read_ms is None else replace(status, at_ms=at_ms, read_ms=None)


def _in_job_order(timeline: Timeline, sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    latest: dict[str, int] = {}
    known = JobTable(timeline.jobs)
    for status in sorted(sightings, key=lambda two: (two.partition, two.offset)):
        facts = known.get(status.job)
        told_ms = latest.get(status.job, facts.told_ms if facts is not None else status.at_ms)
        latest[status.job] = max(status.at_ms, told_ms)
        yield status if latest[status.job] == status.at_ms else replace(status, at_ms=latest[status.job])


def _with_steps(timeline: Timeline, steps: Iterable[RecordStep]) -> tuple[Timeline, tuple[RecordStep, ...]]:
    """The timeline with all steps still to be told, at times that never go back: the clock of another coordinator is
    read as if the first one's had gone on."""
    ordered, carry_ms = list(timeline.steps), timeline.carry_ms
    latest_ms = ordered[-1].at_ms if ordered else timeline.at_ms
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

    def __init__(self, work: Work) -> None:
        self.work = work
        self._coming = iter(work.recorded)
        work.following = next(self._coming, None)
        self._low_ms = 0  # no timer is due before
        self.passed_ms = 0  # so far the coordinator's clock has surely come
        settings = work.settings
        self._ahead_ms = min(
            settings.settle_ms,
            settings.start_wait_ms,
            settings.restart_loop_ms,
            held_and_running.STRAY_MS,
            work.patience_ms,
        )

    def tell(self, event: Sighting | RecordStep) -> None:
        """Timers due before the event, then the event."""
        if isinstance(event, RecordStep) and event.unsure_ms:
            self._wait(event.unsure_ms)
        self.fire(event.at_ms - 1)
        self.work.outputs.append(Passed(event.at_ms - 1))
        self.work.historic = event.historic
        self.passed_ms = max(self.passed_ms, self._surely_ms(event))
        if isinstance(event, RecordStep):
            self._step(event)
        else:
            self._sighting(event)
        self.work.outputs.append(ReachedTime(event.at_ms))
        self._low_ms = min(self._low_ms, event.at_ms + self._ahead_ms)

    def fire(self, until_ms: int) -> None:
        """Every timer due by then, one moment after the other."""
        if until_ms < self._low_ms:
            return
        last_ms: int | None = None
        while (next_ms := self.next_ms()) is not None and next_ms <= until_ms and next_ms != last_ms:
            last_ms = next_ms
            self.work.outputs.append(Passed(next_ms - 1))
            running_twice.silent(self.work, next_ms)
            held_and_running.late(self.work, next_ms)
            failing.late(self.work, next_ms)
            settling.settled(self.work, next_ms)
            workers_lost.late(self.work, next_ms)  # a last word may make it due at once
            self.work.outputs.append(ReachedTime(next_ms))
        self._low_ms = held_and_running.TOLD if next_ms is None else next_ms

    def _surely_ms(self, event: Sighting | RecordStep) -> int:
        return event.at_ms if isinstance(event, RecordStep) else self.work.offsets.earliest_ms(event) or 0

    def _wait(self, ms: int) -> None:
        """Nobody but this record's coordinator says that so much time has passed: what lasts has not lasted so long."""
        work = self.work
        work.suspicions = [replace(one, due_ms=one.due_ms + ms) for one in work.suspicions]
        later = {job: one for job, one in work.strays.items() if one.due_ms < held_and_running.TOLD}
        work.strays.update(
            (job, replace(one, due_ms=one.due_ms + ms, since_ms=one.since_ms + ms)) for job, one in later.items()
        )
        asleep = {job: due_ms + ms for job, due_ms in work.asleep_ms.items() if due_ms < held_and_running.TOLD}
        work.asleep_ms.update(asleep)
        work.lost.update((name, replace(one, due_ms=one.due_ms + ms)) for name, one in work.lost.items())

    def next_ms(self) -> int | None:
        """When the next timer is due, in the time that records carry."""
        work = self.work
        times = [one.due_ms for one in work.suspicions]
        times += [one.due_ms for one in work.unsettled]
        times += [one.due_ms for one in work.strays.values()]
        if work.asleep_ms:
            times.append(min(work.asleep_ms.values()))
        times += [due for due in (failing.due_ms(work), workers_lost.due_ms(work)) if due is not None]
        return min((one for one in times if one < held_and_running.TOLD), default=None)

    def _step(self, step: RecordStep) -> None:
        work = self.work
        work.following = next(self._coming, None)
        if step.incarnation != work.incarnation:
            work.forget()
            work.incarnation, work.stands = step.incarnation, -1
            work.named = work.overdue = -1
        work.at_ms, work.record = step.at_ms, step.source
        if step.over:
            work.generation = step.generation
            work.over(list(work.open), step.at_ms)
            work.forget()
            return
        settling.noted(work, step)
        workers_lost.stepped(work, step)
        downtime.stepped(work, step)
        if step.at_ms <= work.told_ms or step.jump_ms or work.named >= step.generation:
            late.step(work, step)
        running_twice.rejoined(work, step)
        self._apply(step)
        running_twice.downgraded(work, step)
        held_and_running.stepped(work, step)
        failing.stepped(work, step)
        bursts.stepped(work, step)

    def _apply(self, step: RecordStep) -> None:
        work = self.work
        work.generation, work.behind, work.judged = step.generation, frozenset(step.behind), step.judged
        work.session_ms, work.patience_ms = step.session_ms, step.patience_ms
        work.members = (work.members - set(step.gone)) | set(step.joined)
        # A late record comes after signs of life that are later than it.
        work.alive_ms.update({worker: max(step.at_ms, work.alive_ms.get(worker, 0)) for worker in work.members})
        if work.holes_ms:
            fresh = (worker for worker in step.joined if worker not in step.claimed)
            work.joined_ms.update(dict.fromkeys(fresh, step.at_ms))
        first, work.stands = work.stands < 0, step.generation
        if first:  # what came before the first generation that is known stands at that one
            for job, facts in list(work.jobs.items()):
                work.change(job, facts)
        for worker, lost in step.lost.items():
            for job in lost:
                facts = work.facts(job)
                work.change(job, replace(facts, holders=tuple(one for one in facts.holders if one != worker)))
        for worker, gained in step.gained.items():
            for job in gained:
                facts = work.facts(job)
                holders = tuple(sorted({*facts.holders, worker}))
                work.change(job, replace(facts, holders=holders, since=-1, since_ms=step.at_ms))
        for job, facts in work.jobs.misplaced():
            if job not in step.unexpected:
                work.change(job, replace(facts, expected=None))
        for job, worker_id in step.unexpected.items():
            work.change(job, replace(work.facts(job), expected=worker_id or three_way.NOWHERE))

    def _sighting(self, status: Sighting) -> None:
        work = self.work
        before = work.facts(status.job)
        facts = after(before, status)
        if not status.historic:
            work.named = max(work.named, status.generation)
        if status.worker:
            work.heard.add(status.worker)
            work.alive_ms[status.worker] = max(work.alive_ms.get(status.worker, 0), status.at_ms)
        work.change(status.job, facts)
        settling.sighted(work, status)
        running_twice.sighted(work, status, before)
        held_and_running.sighted(work, status, work.facts(status.job))
        downtime.sighted(work, status, before)
        failing.sighted(work, status)
        if (status.partition, status.offset) in work.late:
            late.status(work, status)
