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

from streaming.core.connect.configured import configured_at, jobs_of
from streaming.core.connect.leader import hypotheses
from streaming.core.connect.leader.rounds import Case
from streaming.core.connect.observed import Job, Observed

MAX_CUTS = 8
"""Config records between two generations of which each may have been the last one that the unseen round knew."""
CLOCK_SLACK_MS = 1_000

Roles = Mapping[Job, bool]
"""Jobs that must have been lost (True) or created (False), if anything was lost at all; others may be either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freedom:
    """`idle`: members that may have been without a job while a delay ran; `loses`: whether anything can be lost that
    does not wait; `roles`: the alternatives of what each job can be."""

    idle: frozenset[str]
    loses: bool = True
    roles: tuple[Roles, ...] = field(default=({},))


def freedom_of(case: Case) -> Freedom:
    """What the memory before this round may hold."""
    last = case.last
    everybody = frozenset(case.observed.views)
    if last is None or not case.missing_generations or not case.carried.complete or case.carried.unsure:
        return Freedom(idle=everybody)
    idle = frozenset(one for one in everybody if not _keeps(one, last, case.observed))
    roles = tuple(_roles(case, last, single=case.missing_generations == 1))
    return Freedom(idle=idle, loses=_loses(case, last), roles=roles)


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


def _roles(case: Case, last: Observed, *, single: bool) -> Iterator[Roles]:
    now = case.observed
    before = configured_at(case.history, last) or frozenset()
    kept = {job: one for one, view in last.views.items() for job in view.holds}
    roles: dict[Job, bool] = {}
    for job in before if single else ():
        holder = now.views.get(kept.get(job, ""))
        if holder is not None and holder.had_allocation:
            roles[job] = False  # it was taken from a member that is still here
        elif job not in kept:
            roles[job] = True  # the unseen round placed it, or let it wait
    for known in _cuts(case, last):
        new = {job: True for job in known - before} if single else {}
        later = {job: False for job in _configured(case) - known - before}
        yield {**roles, **new, **later}


def _cuts(case: Case, last: Observed) -> list[frozenset[Job]]:
    """What was configured in the unseen round: as at one of the offsets between the two records."""
    first, end = last.config_offset, case.observed.config_offset
    if first is None or end is None:
        return [_configured(case)]
    offsets = [entry.offset + 1 for entry in case.history.between(first, end)]
    if len(offsets) > MAX_CUTS:
        return [_configured(case)]
    states = (case.history.state_at(offset) for offset in (first, *offsets))
    return list(dict.fromkeys(jobs_of(state) for state in states if state is not None))


def _configured(case: Case) -> frozenset[Job]:
    return configured_at(case.history, case.observed) or frozenset()
