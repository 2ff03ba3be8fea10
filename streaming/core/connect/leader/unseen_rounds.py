"""What rounds that were not seen can have left in a leader's memory, where the records around them are known.

    full freedom       the process was not seen before: it may remember anything
    a gap of one       the unseen round dealt out all that was new or taken back then. What is missing now and was not
                       taken back by it was given to somebody who has gone since, has given it up or missed the answer
    a longer gap       any round may have taken jobs back, but still somebody must have lost what is lost

Where nobody has gone, given up or missed an answer, and no delay can have run out, nothing is lost. (A worker that came
and went between the two records is left out: it must have left within the gap, and be forgotten without a delay.)

Members report what such a round ended with: each joins with the assignment that it applied last (connect.md 1.2), its
jobs and the header, which names the leader, the config offset and the delay. Where one generation is missing between
two records, a member of both that shows neither the answer of the first one nor what it had before shows the answer of
the missing one.

    generation 7   delay 0, offset 18                            seen
    generation 8   not seen
    generation 9   members show delay 0, offset 19               generation 8 was answered with no delay: so none ran

If the same member leads the generation after it, its memory is bound:

    no delay                            no window is open; a job that it took away for balance is one that nobody who
                                        has applied the answer has, and that existed at its offset
    a delay                             a window is open, and of its rest no more is left than this delay
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rebalance_monitor.assignors.connect.model import LeaderMemory
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.configured import configured_at, jobs_of, unsure_at
from rebalance_monitor.streaming.core.connect.observed import STATIC, ConnectorOrTask, Observed
from rebalance_monitor.streaming.core.connect.rules.window import is_backoff, waiting_jobs
from . import hypotheses
from .fallback import hides_delays
from .rounds import Case
from .runs import CLOCK_SLACK_MS, by_timer

MAX_CUTS = 8
"""Config records between two generations of which each may have been the last one that the unseen round knew."""

LostOrCreated = Mapping[ConnectorOrTask, bool]
"""Jobs that must have been lost (True) or created (False), if anything was lost at all; others may be either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """What a round surely leaves in its leader's memory: who took part (None: not known), the earliest and the latest
    end of its delay (0: it announced none), and whether it may have revoked for balance."""

    members: frozenset[str] | None
    ends_ms: tuple[int, int]
    delay_ms: int
    balanced: bool

    def in_mind(self, memory: LeaderMemory, now: Observed) -> LeaderMemory | None:
        """This memory with what is known; None if the two do not go together."""
        if memory.revoked_in_previous and not self.balanced:
            return None
        members = memory.previous_members if self.members is None else self.members
        earliest, latest = self.ends_ms
        scheduled_ms = memory.scheduled_ms
        if not latest:
            return replace(memory, previous_members=members, scheduled_ms=0, delay_ms=0)
        if now.delay_ms and scheduled_ms == now.at_ms + now.delay_ms:  # the leader's clock is one between two readings
            within = first_reading_ms(now) + now.delay_ms <= latest
            if within and earliest <= now.at_ms + CLOCK_SLACK_MS + now.delay_ms:
                return replace(memory, previous_members=members)
        over = earliest <= now.at_ms + CLOCK_SLACK_MS
        ends_ms = min(latest, now.at_ms) if over else latest
        return replace(memory, previous_members=members, scheduled_ms=ends_ms, delay_ms=self.delay_ms)

    def admits(self, memory: LeaderMemory, now: Observed) -> bool:
        """Whether this memory, as it is, can be the leader's."""
        if memory.revoked_in_previous and not self.balanced:
            return False
        latest = self.ends_ms[1]
        return memory.scheduled_ms == 0 if not latest else 0 < memory.scheduled_ms <= latest + 2 * CLOCK_SLACK_MS


def first_reading_ms(observed: Observed) -> int:
    """The earliest time that the leader's clock can have shown in this round."""
    return observed.formed_ms - CLOCK_SLACK_MS


Header = tuple[str, int, int, int]
"""Leader, config offset, error, delay in ms."""


def reported_round(case: Case) -> LeftBehind | None:
    """What the missing round before this one has left behind; None where the members do not show it."""
    last, now = case.last, case.observed
    if last is None or case.missing_generations != 1 or last.generation != now.generation - 2:
        return None
    if last.error or last.blind or STATIC in (last.protocol, now.protocol):
        return None
    showing = {one: shown for one in now.views if (shown := _shows_the_missing(one, last, now)) is not None}
    if len(set(showing.values())) != 1:
        return None
    header = leader, _, error, delay_ms = next(iter(showing.values()))
    if leader != now.leader or error or hides_delays(case.carried, lying=True):
        return None
    return LeftBehind(
        members=None,
        ends_ms=(0, first_reading_ms(now) + delay_ms) if delay_ms else (0, 0),
        delay_ms=delay_ms,
        balanced=_may_have_balanced(case, showing, header),
    )


def _shows_the_missing(member_id: str, last: Observed, now: Observed) -> Header | None:
    view, before = now.views[member_id], last.views.get(member_id)
    if before is None or view.shown is None:
        return None
    known = ((last.header, before.holds), (before.shown, before.held))
    return None if (view.shown, view.held) in known else view.shown


def _may_have_balanced(case: Case, showing: Iterable[str], header: Header) -> bool:
    """Whether the missing round may have taken jobs away for balance. One with a delay may only if the round before it
    did: then it was a pause between two such rounds."""
    _, offset, _, delay_ms = header
    if delay_ms:
        carried = case.carried
        doubted = carried.cut or carried.unsure or not carried.complete
        return doubted or any(one.memory.revoked_in_previous for one in carried.hypotheses)
    history, then = case.history, replace(case.observed, config_offset=offset, views={})
    existed = configured_at(history, then)
    if existed is None or (history.hole_offset is not None and history.hole_offset < offset):
        return True
    applied = frozenset(job for one in showing for job in case.observed.views[one].held)
    return bool((existed | unsure_at(history, then, None)) - applied)


@dataclass(frozen=True, slots=True, kw_only=True)
class Freedom:
    """`idle`: members that may have been without a job while a delay ran; `loses`: whether anything can be lost that
    does not wait; `forgets`: whether nothing may be lost at all; `roles`: the alternatives of what each job can be;
    `known`: what the last round of the process has left behind, where it was seen or the members report it;
    `distrusts`: another member led the last round that the process completed, so since 2.5.1 it takes no job for
    lost."""

    idle: frozenset[str]
    loses: bool = True
    forgets: bool = True
    distrusts: bool = False
    roles: tuple[LostOrCreated, ...] = field(default=({},))
    known: LeftBehind | None = None


def freedom_of(case: Case) -> Freedom:
    """What the memory before this round may hold."""
    last, carried = case.last, case.carried
    free = Freedom(idle=frozenset(case.observed.views), distrusts=_followed(case))
    if last is None:
        return free
    if not case.missing_generations:
        return _after_seen(case, last, free)
    free = replace(free, known=reported_round(case))
    if not carried.complete or carried.unsure:
        return free
    waited = frozenset(one for mind in carried.hypotheses for one in mind.memory.candidates)
    return replace(
        free,
        idle=frozenset(one for one in free.idle if one in waited or not _keeps(one, last, case.observed)),
        loses=_loses(case, last),
        roles=tuple(_roles(case, last, single=case.missing_generations == 1)),
    )


def _followed(case: Case) -> bool:
    """Whether another worker led the last round that the leader has completed: its allocation names who did. At the
    same address it may have been the leader itself, under an earlier member id."""
    view, now = case.leader_view, case.observed
    if view.shown is None or now.nameless(view.member_id):
        return False
    led = view.shown[0]
    workers = [one.views[led].worker for one in (now, case.last) if one is not None and led in one.views]
    return bool(workers) and None not in workers and view.worker not in workers


def _after_seen(case: Case, last: Observed, free: Freedom) -> Freedom:
    """The round before was seen. If this process led it, the record tells nearly all that it remembers."""
    if last.leader != case.body.leader or last.blind or last.error or case.carried.astray:
        return free
    if last.protocol != case.body.protocol or last.protocol == STATIC:
        return free  # it tells nothing of this kind of memory, or jobs may lie because nobody may run them
    before = configured_at(case.history, last)
    if before is None or hides_delays(case.carried, lying=bool(waiting_jobs(last, before))):
        return free
    waiting = waiting_jobs(last, before) if last.delay_ms else frozenset[ConnectorOrTask]()
    revoked, views = last.revoked(), last.views.values()
    kept = waiting | frozenset(job for view in views for job in (view.holds - revoked) | (view.revoked - view.held))
    doubted = unsure_at(case.history, last, None, applied=_stated_again(last))
    ends = (
        (first_reading_ms(last) + last.delay_ms, last.at_ms + CLOCK_SLACK_MS + last.delay_ms)
        if last.delay_ms
        else (0, 0)
    )
    if by_timer(case.observed, last):  # the coordinator's clock may have moved
        ends = (0, ends[1])
    known = LeftBehind(
        members=frozenset(last.views),
        ends_ms=ends,
        delay_ms=last.delay_ms,
        balanced=bool(revoked) if not last.delay_ms else not waiting or is_backoff(last.delay_ms, None),
    )
    return replace(
        free,
        forgets=last.shown_by(case.leader_view) is not True or bool(revoked & case.observed.reported()),
        roles=({job: job in kept for job in _configured(case) - doubted},),
        known=known,
    )


def _stated_again(last: Observed) -> bool:
    """Whether the leader had stated this config offset a generation ago: then it has applied all records below it."""
    view, offset = last.leading, last.config_offset
    if view is None or view.shown is None or offset is None:
        return False
    leader, stated, _, _ = view.shown
    return leader == view.member_id and stated >= offset


def _keeps(member_id: str, last: Observed, now: Observed) -> bool:
    """Whether a member has had a job all the time: one that it had before and reports now."""
    before = last.views.get(member_id)
    return before is not None and bool(before.holds & now.views[member_id].held)


def _loses(case: Case, last: Observed) -> bool:
    """Whether some member of the record before has gone, has given its jobs up or missed an answer, or a delay that
    began with it or after it may be over."""
    now = case.observed
    if last.delay_ms or last.views.keys() - now.views.keys():
        return True
    known = [now.views[one] for one in last.views]
    if any(not view.had_allocation for view in known) or len({view.shown for view in known}) > 1:
        return True
    max_delay_ms = case.max_delay_ms
    if max_delay_ms is None:
        max_delay_ms = hypotheses.agreed_maximum(case.carried.hypotheses)
    return max_delay_ms is None or now.at_ms - last.at_ms + CLOCK_SLACK_MS >= max_delay_ms


def _roles(case: Case, last: Observed, *, single: bool) -> Iterator[LostOrCreated]:
    now = case.observed
    before = configured_at(case.history, last) or frozenset()
    kept = {job: one for one, view in last.views.items() for job in view.holds}
    roles: dict[ConnectorOrTask, bool] = {}
    for job in before if single else ():
        holder = kept.get(job, "")
        if holder in now.views and _keeps(holder, last, now):
            roles[job] = False  # it was taken from a member that is still here, and has not given all its jobs up
        elif job not in kept:
            roles[job] = True  # the unseen round placed it, or let it wait
    for known in _cuts(case, last):
        new = {job: True for job in known - before} if single else {}
        later = {job: False for job in _configured(case) - known - before}
        yield {**roles, **new, **later}


def _cuts(case: Case, last: Observed) -> list[frozenset[ConnectorOrTask]]:
    """What was configured in the unseen round: as at one of the offsets between the two records."""
    first, end = last.config_offset, case.observed.config_offset
    if first is None or end is None:
        return [_configured(case)]
    offsets = [entry.offset + 1 for entry in case.history.between(first, end)]
    if len(offsets) > MAX_CUTS:
        return [_configured(case)]
    states = (case.history.state_at(offset) for offset in (first, *offsets))
    return list(dict.fromkeys(jobs_of(state) for state in states if state is not None))


def _configured(case: Case) -> frozenset[ConnectorOrTask]:
    return configured_at(case.history, case.observed) or frozenset()
