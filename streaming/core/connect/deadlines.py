"""What only time brings up in a Connect group: deadlines of the last record, waiting jobs, a group without worker.

Each timer carries its own due time; the fold asks for the earliest and fires it (`streaming.core.fold.timers`).
"""

from collections.abc import Iterator

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.rules.remembering import DueFinding, deadlines
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.transitions import key_of
from rebalance_monitor.streaming.core.model.results import Certainty, Severity
from . import unassigned, workers_gone
from .state import ConnectState


def due_ms(view: GroupView, state: ConnectState) -> int | None:
    times = [one.due_ms for one in _open(view, state)]
    others = (unassigned.due_ms(view, state), workers_gone.due_ms(view, state))
    return min((*times, *(one for one in others if one is not None)), default=None)


def fired(
    view: GroupView, state: ConnectState, now_ms: int, *, historic: bool
) -> tuple[ConnectState, tuple[Notice, ...]]:
    last = state.last
    waiting = tuple(unassigned.overdue(view, state, now_ms, historic=historic))
    state, gone = workers_gone.overdue(view, state, now_ms, historic=historic)
    passed = [one for one in _open(view, state) if one.due_ms <= now_ms]
    found = []
    for deadline in passed:
        moment = view.moment(deadline.due_ms, generation=0 if last is None else last.generation, historic=historic)
        if deadline.finding is not None:
            found.append(Notice(moment=moment, found=(deadline.finding,)))
        else:
            found.append(Notice(moment=moment, evaluated=frozenset({deadline.rule.code})))
    return state, (*waiting, *gone, *found)


def unsure(
    view: GroupView, plain: ConnectState, at_ms: int, by: str, sure: ConnectState | None = None
) -> tuple[Finding, ...]:
    """What a clock that nobody confirms brings up at `at_ms`: `plain` is the state before it was looked at by this
    clock, `sure` the one after, of which what surely passed brings up the rest."""
    known = set(view.open())
    if sure is not None:
        known |= {key_of(one.rule.code, one.subjects) for one in _due(view, sure, at_ms)}
    return tuple(
        replace(deadline, severity=Severity.INFO, certainty=Certainty.POSSIBLE, message=f"{deadline.message}: {by}")
        for deadline in _due(view, plain, at_ms)
        if key_of(deadline.rule.code, deadline.subjects) not in known
    )


def _due(view: GroupView, state: ConnectState, at_ms: int) -> Iterator[Finding]:
    for deadline in _open(view, state):
        if deadline.finding is not None and deadline.due_ms <= at_ms:
            yield deadline.finding
    yield from unassigned.late(view, state, at_ms)
    yield from workers_gone.late(view, state, at_ms)


def _open(view: GroupView, state: ConnectState) -> Iterator[DueFinding]:
    """Deadlines of the last record that have not fired: a finding that is open already, an end of what is not open."""
    last = state.last
    if last is None or not last.views or unassigned.went_on_unread(view, state):
        return
    above_info = [incident for incident in view.open().values() if incident.severity is not Severity.INFO]
    open_codes = {incident.code for incident in above_info}
    open_keys = {key_of(incident.code, incident.subjects) for incident in above_info}
    last = replace(last, at_ms=last.at_ms + state.apart_ms)
    for deadline in deadlines(view.group, state.rule_memory, last, state.timeouts_ms):
        if deadline.withheld and deadline.finding is not None:
            open_ = key_of(deadline.rule.code, deadline.finding.subjects) in open_keys
        else:
            open_ = deadline.rule.code in open_codes
        if open_ != (deadline.finding is not None):
            yield deadline
