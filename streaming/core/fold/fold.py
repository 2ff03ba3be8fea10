"""The fold: a group's rows in, generations with verdicts and incident transitions out. Pure; live and replay share it.

Theory. Only the order inside a partition is real. Config and status rows are therefore stored the moment they come, and
a group record waits, together with all later records of its group, until the config records it refers to have arrived:
leader memory flows from generation to generation, so judging out of order would change it. Whatever the interleaving
of partitions and the cuts of batches, each generation is judged once, from the same inputs. Time-outs follow the
records' own times, and the cluster's tick when nothing comes.

    rows: group offset 7 (config offset 12)      -> waits: config seen up to 9        published: pending
    rows: config offsets 9, 10, 11               -> 12 is reached: judged             published: match
    tick beyond arrival + judge.wait_ms          -> judged without                    published: not_judged, why
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from streaming.core.connect import evidence, foreign_workers, workers_gone
from streaming.core.connect.rules.catalogue_across import ALL_WORKERS_GONE
from streaming.core.connect.statuses import gaps, late
from streaming.core.connect.statuses import ordering as telling
from streaming.core.connect.statuses.facts import Sighting
from streaming.core.connect.statuses.steps import steps_of
from streaming.core.fold import clocks, judge_group, recovery
from streaming.core.fold import timers as group_timers
from streaming.core.fold.intake import Intake
from streaming.core.fold.other_clocks import Hearing, Witnesses
from streaming.core.fold.published import body_of
from streaming.core.fold.state import STATE_VERSION, GroupState, Waiting
from streaming.core.incidents import damping
from streaming.core.incidents.finding import Finding
from streaming.core.incidents.transitions import Moment, ended_because, resolved, settle
from streaming.core.model.codec import dumps, loads
from streaming.core.model.records import GroupDeleted, GroupGeneration, Row, Tick
from streaming.core.model.results import Result, Source, Standing
from streaming.core.model.settings import ClusterSettings
from streaming.core.ports import FoldError, KeptState

__all__ = ["STATE_VERSION", "FoldOutcome", "fold_group"]


ENDED_UNREAD = "ended because this release cannot read what was stored of the group: what still holds is found again"


@dataclass(frozen=True, slots=True)
class FoldOutcome:
    """The group's next state as stored bytes, when its next timer is due, and what is to be published.

    `errors` and `kept`: where the fold failed, and the states put aside then (`streaming.core.fold.isolation`).
    """

    state: bytes
    due_ms: int | None
    results: tuple[Result, ...]
    blobs: dict[str, bytes] = field(default_factory=dict)
    errors: tuple[FoldError, ...] = ()
    kept: tuple[KeptState, ...] = ()


def _nothing(_row: Row) -> None:
    """Nobody looks on."""


def fold_group(
    settings: ClusterSettings,
    group: str,
    state: bytes | None,
    rows: Sequence[Row],
    tick: Tick | None,
    *,
    end_of_input: bool = False,
    witnesses: Witnesses | None = None,
    before_record: Callable[[Row], None] = _nothing,
) -> FoldOutcome:
    """Fold these rows, then the tick. `end_of_input` judges what still waits without its missing evidence; `witnesses`
    speak for the times of a whole input that nobody read as it came; `before_record` is called with each record before
    it is taken in or judged, and may end the fold by raising."""
    before = loads(GroupState, state) if state is not None else GroupState()
    fold = _Fold(settings, group, before, tick, witnesses, before_record)
    fold.finite = end_of_input or witnesses is not None
    for row in sorted(rows, key=lambda one: (one.topic, one.partition, one.offset)):
        before_record(row)
        fold.take(row)
    fold.settle(end_of_input=end_of_input)
    after = fold.state
    text = dumps(after).encode("utf-8", "surrogatepass")
    return FoldOutcome(text, _due_ms(settings, group, after), tuple(fold.results), fold.blobs)


def _due_ms(settings: ClusterSettings, group: str, state: GroupState) -> int | None:
    timers = [one.arrived_ms + settings.judge_wait_ms for one in state.waiting]
    own_ms = group_timers.due_ms(settings, group, state)
    own_ms = None if own_ms is None else clocks.monitors_time(state, own_ms)
    told_ms, timers_ms = telling.due_ms(settings, group, state.timeline)
    if timers_ms is not None:
        timers_ms = clocks.monitors_time(state, timers_ms - state.timeline.carry_ms)
    first_ms = workers_gone.unread_live_ms(settings, group, state)
    others = (own_ms, first_ms, told_ms, timers_ms, recovery.due_ms(state))
    return min([*timers, *(one for one in others if one is not None)], default=None)


def _newest(state: GroupState) -> tuple[Source, int] | None:
    """The place and time of the record whose timers run: a generation, or the record that shows the group empty."""
    if state.emptied is not None:
        return state.emptied.source, state.emptied.at_ms
    return (state.last.source, state.last.at_ms) if state.last is not None and state.last.views else None


class _Fold(Intake):
    """One call of `fold_group`: what has been taken in is judged, and what only time brings up is told."""

    def __init__(
        self,
        settings: ClusterSettings,
        group: str,
        state: GroupState,
        tick: Tick | None,
        witnesses: Witnesses | None = None,
        before_record: Callable[[Row], None] = _nothing,
    ) -> None:
        super().__init__(settings, group, state, tick)
        self.before_record = before_record
        self.hearing = Hearing(witnesses)

    def settle(self, *, end_of_input: bool) -> None:
        """Judge every waiting record whose evidence is there, in order; then the timers of the tick."""
        self._put_config()
        self._end_orphans()
        waiting = list(self.state.waiting)
        while waiting:
            head = waiting[0]
            self.before_record(head.row)
            if not self._judge(head, end_of_input=end_of_input):
                break
            waiting.pop(0)
        self.state = replace(self.state, waiting=tuple(self._announce(waiting)))
        # A timer never fires in history: what it saw may long be over further on in the log.
        if self.tick is not None and not self.tick.historic and not waiting:
            now_ms = self.tick.now_ms if end_of_input else clocks.groups_time(self.state, self.tick.now_ms)
            self.state = workers_gone.read_live(self.state, now_ms)
            self._timers(self.hearing.until_ms(_newest(self.state), now_ms), now_ms)
        self._tell(end_of_input=end_of_input)
        self.state, results = recovery.recovered(self.settings, self.group, self.state, self.tick)
        self.results.extend(results)

    def _end_orphans(self) -> None:
        """Incidents of a state that could not be read end here, with the reason; what still holds is found again."""
        if not self.state.orphans:
            return
        at_ms = self.tick.now_ms if self.tick is not None else max(one.opened_at_ms for one in self.state.orphans)
        ended = ended_because(self.state.orphans, self._moment(at_ms), ENDED_UNREAD)
        self.state, told = damping.follow(self.settings, replace(self.state, orphans=()), ended, at_ms)
        self.results.extend(told)

    def _tell(self, *, end_of_input: bool) -> None:
        """What follows from statuses and records together, as far as both have come."""
        clock = telling.clock_of(self.settings, self.tick, self.state, end_of_input=end_of_input)
        if end_of_input and clock.timers_ms is not None:
            clock = replace(clock, timers_ms=self.hearing.until_ms(_newest(self.state), clock.timers_ms))
        if self.lost_from is not None:
            timeline, self.steps = gaps.after_lost_records(self.state.timeline, self.steps, self.lost_from)
            self.state = replace(self.state, timeline=timeline)
        if self.lost:
            timeline, results, self.steps = gaps.after_gap(
                self.settings, self.group, self.state.timeline, self.steps, frozenset(self.lost)
            )
            self.state = replace(self.state, timeline=timeline)
            self.results.extend(results)
        sightings: Sequence[Sighting] = self.sightings
        if not self.finite:
            timeline, sightings = late.records(self.state.timeline, sightings, self._newest_generation())
            self.state = replace(self.state, timeline=timeline)
        timeline, results = telling.advance(
            self.settings, self.group, self.state.timeline, sightings, self.steps, clock
        )
        self.results.extend(results)
        if end_of_input:
            timeline, results = telling.finish(self.settings, self.group, timeline)
            self.results.extend(results)
        self.state = replace(self.state, timeline=timeline)

    def _newest_generation(self) -> int:
        """That of the newest record read, judged yet or not; -1 before the first."""
        waiting = (one.row.body.generation for one in self.state.waiting if isinstance(one.row.body, GroupGeneration))
        return max(waiting, default=-1 if self.state.generation is None else self.state.generation)

    def _judge(self, head: Waiting, *, end_of_input: bool) -> bool:
        row = head.row
        if not head.historic:
            self.state = workers_gone.read_live(self.state, row.timestamp_ms)
        if isinstance(row.body, GroupDeleted):
            self._deleted(row, historic=head.historic)
            self._stands("Dead", row)
            return True
        missing = evidence.missing(self.settings, self.group, self.state, row)
        late = self.tick is not None and self.tick.now_ms >= head.arrived_ms + self.settings.judge_wait_ms
        if missing is not None and not (late or end_of_input):
            return False
        self.state = replace(self.state, history=self.state.history.seen_with(row.timestamp_ms))
        why = None
        if missing is not None:
            why = f"evidence missing: {missing}{foreign_workers.ahead(body_of(row), self.state.history)}"
        before = self.state
        others_ms = self.hearing.passed_ms(before.last, row)
        leap = clocks.leap(before, head, others_ms, finite=self.hearing.witnesses is not None)
        self.state, doubtful = clocks.rebased(before, head, others_ms)
        if doubtful:
            by, at_ms = group_timers.BY_COORDINATOR, row.timestamp_ms
            self._doubt(group_timers.unsure(self.settings, self.group, before, at_ms, by, sure=self.state), at_ms)
        self.state, results = judge_group.generation(
            self.settings, self.group, self.state, row, missing=why, historic=head.historic
        )
        read = clocks.read(self.state, head, live=not end_of_input, leapt=leap != clocks.NO_LEAP)
        self.state = recovery.counted(read)
        self.results.extend(results)
        self._stands("Stable" if self.state.member_ids else "Empty", row)
        self.steps.extend(steps_of(self.settings, self.group, before, self.state, row, results, leap))
        return True

    def _doubt(self, found: list[Finding], at_ms: int) -> None:
        """What only one clock brings up, or those of two coordinators together."""
        if found:
            incidents, opened = settle(self.state.incidents, found, self._moment(at_ms), frozenset())
            state = replace(self.state, incidents=incidents)
            self.state, told = damping.follow(self.settings, state, opened, at_ms)
            self.results.extend(told)

    def _moment(self, at_ms: int) -> Moment:
        return Moment(
            cluster=self.settings.name,
            group=self.group,
            incarnation=self.state.incarnation,
            generation=self.state.generation or 0,
            at_ms=at_ms,
            historic=self.state.historic,
        )

    def _stands(self, state: str, row: Row) -> None:
        self.results.append(Standing(cluster=self.settings.name, group=self.group, state=state, at_ms=row.timestamp_ms))

    def _announce(self, waiting: list[Waiting]) -> list[Waiting]:
        """Publish what waits, once, as pending."""
        announced = []
        for one in waiting:
            if not one.announced and isinstance(one.row.body, GroupGeneration) and one.row.body.members:
                until_ms = one.arrived_ms + self.settings.judge_wait_ms
                self.results.append(
                    judge_group.pending(self.settings, self.group, self.state, one.row, until_ms, historic=one.historic)
                )
            announced.append(replace(one, announced=True))
        return announced

    def _deleted(self, row: Row, *, historic: bool) -> None:
        if self.state.generation is None and not self.state.incidents:
            self.state = workers_gone.deleted(self.settings, self.group, self.state, row, historic=historic)
            self.state = replace(self.state, seen_from_start=True)
            return
        moment = replace(self._moment(row.timestamp_ms), historic=False)
        self.state = workers_gone.deleted(self.settings, self.group, self.state, row, historic=historic)
        still = {key: one for key, one in self.state.incidents.items() if one.code == ALL_WORKERS_GONE.code}
        ended = [resolved(one, moment) for key, one in self.state.incidents.items() if key not in still]
        self.state = replace(self.state, deleted=True, last=None, incidents=still, unassigned_since_ms={}, holds={})
        self.state, results = damping.follow(self.settings, self.state, ended, row.timestamp_ms)
        self.results.extend(results)

    def _timers(self, sure_ms: int, now_ms: int) -> None:
        """Up to `sure_ms` the group has surely brought nothing new; people are told of what lasts until `now_ms`."""
        self.state, results = group_timers.overdue(self.settings, self.group, self.state, sure_ms, historic=False)
        self.results.extend(results)
        if sure_ms < now_ms:
            self.state, results = damping.follow(self.settings, self.state, (), now_ms)
            self.results.extend(results)
        latest_ms = self.hearing.newest_ms()
        if latest_ms is not None and latest_ms > sure_ms:
            by = group_timers.BY_ONE_CLOCK
            self._doubt(group_timers.unsure(self.settings, self.group, self.state, latest_ms, by), latest_ms)
