"""The leader's memory from one record of a group to the next: what its leader may know, and what it knows afterwards.

before the round   the minds of this process, or of one that has just started                `carried`
after a verdict    the minds that gave this answer; a match narrows the group's families     `after_verdict`
without one        the round moved the memory unseen: what was carried goes on               `after_no_verdict`
"""

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.configured import configured_at
from rebalance_monitor.streaming.core.connect.observed import Observed
from rebalance_monitor.streaming.core.connect.rules.window import is_backoff, waiting_jobs
from rebalance_monitor.streaming.core.connect.state import ConnectState
from rebalance_monitor.streaming.core.connect.verdict import EAGER_ASSIGNOR, Judgement
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from . import hypotheses
from .fallback import hides_delay
from .unseen_leaders import UnseenGenerations


def with_new_processes(
    state: ConnectState, observed: Observed, settings: ConnectSettings, skipped: int
) -> ConnectState:
    """With the processes that this record shows under new member ids, or not at all; `skipped` generations between it
    and the record before have none."""
    eras = hypotheses.eras_of(state.eras, settings)
    hole = UnseenGenerations(state.last, observed, skipped) if skipped > 0 else None
    return replace(
        state, processes=hypotheses.with_returning(state.processes, observed, state.last, eras, settings, hole)
    )


def passed(state: ConnectState, observed: Observed, skipped: int) -> ConnectState:
    """With what this record tells of who may have led in the generations that were skipped before it."""
    hole = UnseenGenerations(state.last, observed, skipped) if skipped > 0 else None
    return replace(state, unseen_leaders=state.unseen_leaders.after(hole, state.last, observed))


def carried(
    state: ConnectState, observed: Observed, settings: ConnectSettings, *, seen_from_start: bool
) -> hypotheses.Carried:
    """What the leader of this round may know when it starts."""
    view = observed.leading
    if view is None:
        return hypotheses.Carried((), complete=True)
    return hypotheses.carried_into(
        view,
        state.processes,
        hypotheses.eras_of(state.eras, settings),
        settings,
        seen_from_start=seen_from_start,
        may_have_led=state.unseen_leaders.may_be(observed.process_of(view.member_id)),
        nameless=observed.nameless(view.member_id),
        new=state.last is not None and view.member_id not in state.last.views,
    )


def after_verdict(
    state: ConnectState, observed: Observed, before: hypotheses.Carried, judgement: Judgement
) -> ConnectState:
    """The leader as a process that knows what this answer leaves behind.

    An answer without a delay, be it one of 0 ms, and without revocations determines all but the count of revoking
    rounds, whatever the memory was before; a pause between two of them shows the count.
    """
    view = observed.leading
    if view is None or not judgement.hypotheses:
        return state
    astray = judgement.verdict.grade is Grade.UNEXPLAINED
    unseen = not before.complete or observed.unseen > 0 or astray
    lying = bool(waiting_jobs(observed, configured_at(state.history, observed) or frozenset()))
    hidden = any(hides_delay(one, lying=lying) for one in judgement.hypotheses)
    calm = not (observed.delay_ms or observed.error or observed.revoked() or hidden)
    known = hypotheses.Carried(
        judgement.hypotheses,
        complete=True,
        cut=judgement.cut,
        unsure=(before.unsure or unseen) and not calm,
        uncounted=(before.uncounted or unseen) and not is_backoff(observed.delay_ms, None),
        astray=astray,
    )
    state = _with_process(state, observed, hypotheses.Process.of(view.member_id, known))
    if judgement.verdict.grade is not Grade.MATCH or judgement.verdict.assignor == EAGER_ASSIGNOR or observed.unseen:
        return state
    return replace(state, eras=tuple(dict.fromkeys(one.era for one in judgement.hypotheses)))


def after_no_verdict(
    state: ConnectState, observed: Observed, settings: ConnectSettings, *, seen_from_start: bool
) -> tuple[ConnectState, Observed]:
    """A round that could not be run again moved its leader's memory all the same: as if it had left no record."""
    observed = replace(observed, unseen=observed.unseen + 1, blind=True)
    known = carried(state, observed, settings, seen_from_start=seen_from_start)
    view = observed.leading
    if view is None or not known.complete:
        return state, observed
    process = hypotheses.Process.of(view.member_id, replace(known, unsure=True, uncounted=True))
    return _with_process(state, observed, process), observed


def _with_process(state: ConnectState, observed: Observed, process: hypotheses.Process) -> ConnectState:
    name = observed.process_of(process.member_id)
    return replace(state, processes=hypotheses.remembered(state.processes, name, process))
