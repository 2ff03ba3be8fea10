"""Telling what has come, in order, and firing the timers between.

The order is by time: a status is never told before an earlier one of its job, a record never before the one before it.
Everything up to the watermark is told; who comes later than that is told when it comes. At most MAX_UNTOLD statuses
wait: beyond that (a long history read at once) the older half is told without waiting for other partitions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from schemas.connect_topics import StatusRecord
from streaming.core.records import Row, Tick
from streaming.core.results import Result
from streaming.core.settings import ClusterSettings
from streaming.core.state import Waiting
from streaming.core.statuses import SKEW_MS, Sighting, after, job_key
from streaming.core.timeline import aftermath, bursts, downtime, held, jobs, twice
from streaming.core.timeline.packed import JobTable
from streaming.core.timeline.state import Timeline
from streaming.core.timeline.step import Step
from streaming.core.timeline.words import words_of
from streaming.core.timeline.work import Work

MAX_UNTOLD = 20_000
END_MS = 1 << 62


@dataclass(frozen=True, slots=True)
class Clock:
    """Up to which time everything has come (None: nothing is sure), and until when timers may fire."""

    watermark_ms: int | None
    timers_ms: int | None


def clock_of(settings: ClusterSettings, tick: Tick | None, waiting: Sequence[Waiting], *, end_of_input: bool) -> Clock:
    """Nothing is told past a record that waits to be judged, nor in history before its end is reached."""
    if end_of_input:
        return Clock(END_MS, tick.now_ms if tick is not None else None)
    if tick is None or tick.historic:
        return Clock(None, None)
    watermark_ms = min([tick.now_ms - settings.status_lag_ms, *(one.row.timestamp_ms - 1 for one in waiting)])
    return Clock(watermark_ms, watermark_ms)


def sighting_of(row: Row, record: StatusRecord, at_ms: int, *, historic: bool) -> Sighting:
    """A status row, written at this time, as the timeline takes it."""
    return Sighting(
        job=job_key(record),
        state=record.state,
        worker=(record.worker_id or "").lower(),
        generation=record.generation if record.generation is not None else -1,
        at_ms=at_ms,
        partition=row.partition,
        offset=row.offset,
        historic=historic,
    )


def advance(
    settings: ClusterSettings,
    group: str,
    timeline: Timeline,
    sightings: Sequence[Sighting],
    steps: Sequence[Step],
    clock: Clock,
) -> tuple[Timeline, list[Result]]:
    """Take what came, tell what is due. Without a watermark everything is only kept."""
    sightings, steps = (*timeline.sightings, *sightings), (*timeline.steps, *steps)
    watermark_ms = clock.watermark_ms
    if watermark_ms is None and len(sightings) > MAX_UNTOLD:
        watermark_ms = sorted(one.at_ms for one in sightings)[len(sightings) // 2]
    if watermark_ms is None:
        return replace(timeline, sightings=sightings, steps=steps), []
    recorded = list(_in_record_order(timeline, steps))
    events: list[Sighting | Step] = [*_in_job_order(timeline, _as_written(recorded, sightings)), *recorded]
    ordered = sorted(events, key=_place)
    due = [event for event in ordered if event.at_ms <= watermark_ms]
    later = ordered[len(due) :]
    work = Work(settings, group, timeline)
    work.recorded = recorded
    work.words = words_of(sightings, recorded, finite=watermark_ms == END_MS, heard=timeline.heard)
    for event in ordered:
        if isinstance(event, Sighting):
            work.coming.setdefault(event.job, []).append(event)
    teller = _Teller(work)
    for event in due:
        teller.tell(event)
    if clock.timers_ms is not None:
        teller.fire(min(clock.timers_ms, watermark_ms))
    jobs.states(work)
    told = replace(
        work.frozen(),
        sightings=tuple(one for one in later if isinstance(one, Sighting)),
        steps=tuple(one for one in later if isinstance(one, Step)),
    )
    return told, work.results


def finish(settings: ClusterSettings, group: str, timeline: Timeline) -> tuple[Timeline, list[Result]]:
    """The input has ended: the last word on every generation, with what is known."""
    work = Work(settings, group, timeline)
    work.results.extend(aftermath.last_word(work, one) for one in work.unsettled)
    work.unsettled.clear()
    held.unjudged(work)
    return replace(work.frozen(), sightings=timeline.sightings, steps=timeline.steps), work.results


def due_ms(settings: ClusterSettings, group: str, timeline: Timeline) -> int | None:
    """At which time of the cluster's clock there is something to tell."""
    times = [*(one.at_ms for one in timeline.sightings), *(one.at_ms for one in timeline.steps)]
    next_ms = _Teller(Work(settings, group, timeline)).next_ms()
    if next_ms is not None:
        times.append(next_ms)
    return min(times) + settings.status_lag_ms if times else None


def _as_written(steps: Sequence[Step], sightings: Sequence[Sighting]) -> Iterator[Sighting]:
    """Statuses at times that can be: hosts' clocks differ, by minutes where nobody sets them.

    A status states the generation its worker was in, so it was not written long before that generation's record. And
    what stands behind it in its partition was written later, so far ahead of that it cannot be.
    """
    recorded_ms: dict[int, int] = {}
    for step in steps:
        recorded_ms.setdefault(step.generation, step.at_ms)
    later_ms: dict[int, int] = {}
    for one in sorted(sightings, key=lambda two: (two.partition, two.offset), reverse=True):
        earliest_ms = recorded_ms.get(one.generation, 0)
        at_ms = earliest_ms if one.at_ms < earliest_ms - SKEW_MS else one.at_ms
        next_ms = later_ms.get(one.partition, at_ms)
        if at_ms > next_ms + SKEW_MS:
            at_ms = max(next_ms, min(earliest_ms, at_ms))
        later_ms[one.partition] = min(at_ms, later_ms.get(one.partition, at_ms))
        yield one if at_ms == one.at_ms else replace(one, at_ms=at_ms)


def _in_job_order(timeline: Timeline, sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    latest: dict[str, int] = {}
    known = JobTable(timeline.jobs)
    for one in sorted(sightings, key=lambda two: (two.partition, two.offset)):
        facts = known.get(one.job)
        told_ms = latest.get(one.job, facts.told_ms if facts is not None else one.at_ms)
        latest[one.job] = max(one.at_ms, told_ms)
        yield one if latest[one.job] == one.at_ms else replace(one, at_ms=latest[one.job])


def _in_record_order(timeline: Timeline, steps: Iterable[Step]) -> Iterator[Step]:
    latest = timeline.at_ms
    for one in steps:
        latest = max(latest, one.at_ms)
        yield one if latest == one.at_ms else replace(one, at_ms=latest)


def _place(event: Sighting | Step) -> tuple[int, int, int, int]:
    if isinstance(event, Step):
        return (event.at_ms, 0, event.source.partition, event.source.offset)
    return (event.at_ms, 1, event.partition, event.offset)


class _Teller:
    """Tells events in order. The next timer is looked up again only after one has fired or an event came."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._coming = iter(work.recorded)
        work.following = next(self._coming, None)
        self._low_ms = 0  # no timer is due before
        settings = work.settings
        self._ahead_ms = min(settings.settle_ms, settings.start_wait_ms, held.STRAY_MS, work.patience_ms)

    def tell(self, event: Sighting | Step) -> None:
        """Timers due before the event, then the event."""
        self.fire(event.at_ms - 1)
        self.work.historic = event.historic
        if isinstance(event, Step):
            self._step(event)
        else:
            self._sighting(event)
        self.work.attend(event.at_ms)
        attention_ms = self.work.attention_ms()
        soonest_ms = event.at_ms + self._ahead_ms
        self._low_ms = min(self._low_ms, soonest_ms, attention_ms if attention_ms is not None else soonest_ms)

    def fire(self, until_ms: int) -> None:
        """Every timer due by then, one moment after the other."""
        if until_ms < self._low_ms:
            return
        last_ms: int | None = None
        while (next_ms := self.next_ms()) is not None and next_ms <= until_ms and next_ms != last_ms:
            last_ms = next_ms
            twice.silent(self.work, next_ms)
            held.late(self.work, next_ms)
            aftermath.settled(self.work, next_ms)
            self.work.attend(next_ms)
        self._low_ms = held.TOLD if next_ms is None else next_ms

    def next_ms(self) -> int | None:
        """When the next timer is due, in the time that records carry."""
        work = self.work
        times = [one.due_ms for one in work.suspicions]
        times += [one.due_ms for one in work.unsettled]
        times += [one.due_ms for one in work.strays.values()]
        if work.asleep_ms:
            times.append(min(work.asleep_ms.values()))
        attention_ms = work.attention_ms()
        if attention_ms is not None:
            times.append(attention_ms)
        return min((one for one in times if one < held.TOLD), default=None)

    def _step(self, step: Step) -> None:
        work = self.work
        work.following = next(self._coming, None)
        if step.incarnation != work.incarnation:
            work.forget()
            work.incarnation = step.incarnation
        work.at_ms, work.record = step.at_ms, step.source
        if step.over:
            work.generation = step.generation
            work.over(list(work.incidents), step.at_ms)
            work.forget()
            return
        aftermath.noted(work, step)
        downtime.stepped(work, step)
        twice.rejoined(work, step)
        self._apply(step)
        twice.downgraded(work, step)
        held.stepped(work, step)
        bursts.stepped(work, step)

    def _apply(self, step: Step) -> None:
        work = self.work
        work.generation, work.behind, work.judged = step.generation, frozenset(step.behind), step.judged
        work.session_ms, work.patience_ms = step.session_ms, step.patience_ms
        work.members = (work.members - set(step.gone)) | set(step.joined)
        work.alive_ms.update(dict.fromkeys(work.members, step.at_ms))
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
            work.change(job, replace(work.facts(job), expected=worker_id or jobs.NOWHERE))

    def _sighting(self, one: Sighting) -> None:
        work = self.work
        before = work.facts(one.job)
        facts = after(before, one)
        if one.worker:
            work.heard.add(one.worker)
            work.alive_ms[one.worker] = max(work.alive_ms.get(one.worker, 0), one.at_ms)
        work.change(one.job, facts)
        aftermath.sighted(work, one)
        twice.sighted(work, one, before)
        held.sighted(work, one, work.facts(one.job))
        downtime.sighted(work, one, before)
