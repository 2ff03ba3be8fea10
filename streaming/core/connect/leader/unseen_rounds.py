"""What rounds that were not seen can have left in a leader's memory, where the records around them are known.

    full freedom       the process was not seen before: it may remember anything
    a gap of one       the unseen round dealt out all that was new or taken back then. What is missing now and was not
                       taken back by it was given to somebody who has gone since, has given it up or missed the answer
    a longer gap       any round may have taken jobs back, but still somebody must have lost what is lost

Where nobody has gone, given up or missed an answer, and no delay can have run out, nothing is lost. (A worker that came
and went between the two records is left out: it must have left within the gap, and be forgotten without a delay.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.configured import configured_at, jobs_of, unsure_at
from rebalance_monitor.streaming.core.connect.leader import hypotheses
from rebalance_monitor.streaming.core.connect.leader.fallback import hides_delays
from rebalance_monitor.streaming.core.connect.leader.reported_round import LeftBehind, first_reading_ms, reported_round
from rebalance_monitor.streaming.core.connect.leader.rounds import Case
from rebalance_monitor.streaming.core.connect.leader.runs import CLOCK_SLACK_MS, applied
from rebalance_monitor.streaming.core.connect.observed import STATIC, ConnectorOrTask, Observed
from rebalance_monitor.streaming.core.connect.rules.window import is_backoff, waiting_jobs

MAX_CUTS = 8
"""Config records between two generations of which each may have been the last one that the unseen round knew."""

LostOrCreated = Mapping[ConnectorOrTask, bool]
"""Jobs that must have been lost (True) or created (False), if anything was lost at all; others may be either."""


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
    if _another_rule(case, last):
        return free
    before = configured_at(case.history, last)
    if before is None or hides_delays(case.carried, lying=bool(waiting_jobs(last, before))):
        return free
    waiting = waiting_jobs(last, before) if last.delay_ms else frozenset[ConnectorOrTask]()
    revoked, views = last.revoked(), last.views.values()
    kept = waiting | frozenset(job for view in views for job in (view.holds - revoked) | (view.revoked - view.held))
    doubted = unsure_at(case.history, last, None, applied=_stated_again(last))
    reported = frozenset(job for view in case.observed.views.values() for job in view.held)
    ends = (
        (first_reading_ms(last) + last.delay_ms, last.at_ms + CLOCK_SLACK_MS + last.delay_ms)
        if last.delay_ms
        else (0, 0)
    )
    if _by_timer(case.observed, last):  # the coordinator's clock may have moved
        ends = (0, ends[1])
    known = LeftBehind(
        members=frozenset(last.views),
        ends_ms=ends,
        delay_ms=last.delay_ms,
        balanced=bool(revoked) if not last.delay_ms else not waiting or is_backoff(last.delay_ms, None),
    )
    return replace(
        free,
        forgets=applied(case, last) is not True or bool(revoked & reported),
        roles=({job: job in kept for job in _configured(case) - doubted},),
        known=known,
    )


def _by_timer(now: Observed, last: Observed) -> bool:
    """Whether nothing but the end of a delay can have asked for the round."""
    return now.views.keys() == last.views.keys() and now.config_offset == last.config_offset


def _stated_again(last: Observed) -> bool:
    """Whether the leader had stated this config offset a generation ago: then it has applied all records below it."""
    view, offset = last.views.get(last.leader or ""), last.config_offset
    if view is None or view.shown is None or offset is None:
        return False
    leader, stated, _, _ = view.shown
    return leader == view.member_id and stated >= offset


def _another_rule(case: Case, last: Observed) -> bool:
    """Whether the record before tells nothing of this kind of memory, or jobs may lie because nobody may run them."""
    return last.protocol != case.body.protocol or last.protocol == STATIC


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
