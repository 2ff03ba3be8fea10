"""Everything about a group that only time brings up: each timer runs on the group's own records and on the clock.

Before a record is judged the timers due by its time have fired; when no record comes, the cluster's tick fires them.
Either way a timer carries its own due time, so what is published does not depend on which of the two came first.
"""

from collections.abc import Iterator
from dataclasses import replace

from streaming.core import attention, unassigned
from streaming.core.incidents import Moment, resolved, settle
from streaming.core.results import Result
from streaming.core.rules.remembering import Deadline, deadlines
from streaming.core.settings import ClusterSettings
from streaming.core.state import GroupState


def due_ms(settings: ClusterSettings, group: str, state: GroupState) -> int | None:
    """When the next timer of the group is due."""
    times = [one.due_ms for one in _open_deadlines(group, state)]
    others = (unassigned.due_ms(state), attention.due_ms(settings, state))
    return min((*times, *(one for one in others if one is not None)), default=None)


def overdue(
    settings: ClusterSettings, group: str, state: GroupState, now_ms: int, *, historic: bool
) -> tuple[GroupState, list[Result]]:
    """Fire every timer due at `now_ms`, one moment after the other."""
    told: list[Result] = []
    last_ms: int | None = None
    while (due := due_ms(settings, group, state)) is not None and due <= now_ms and due != last_ms:
        last_ms = due
        state, found = unassigned.overdue(settings, group, state, due, historic=historic)
        for one in [one for one in _open_deadlines(group, state) if one.due_ms <= due]:
            state, more = _fired(settings, group, state, one, historic=historic)
            found.extend(more)
        state, followed = attention.follow(settings, state, found, due)
        told.extend(followed)
    return state, told


def _open_deadlines(group: str, state: GroupState) -> Iterator[Deadline]:
    """Deadlines of the last record that have not fired: a finding that is open already, an end of what is not open."""
    if state.last is None or not state.last.views:
        return
    open_codes = {incident.code for incident in state.incidents.values()}
    for one in deadlines(group, state.rule_memory, state.last, state.timeouts_ms):
        if (one.rule.code in open_codes) != (one.finding is not None):
            yield one


def _fired(
    settings: ClusterSettings, group: str, state: GroupState, one: Deadline, *, historic: bool
) -> tuple[GroupState, list[Result]]:
    moment = Moment(
        cluster=settings.name,
        group=group,
        incarnation=state.incarnation,
        generation=state.last.generation if state.last is not None else 0,
        at_ms=one.due_ms,
        historic=historic,
    )
    if one.finding is not None:
        incidents, opened = settle(state.incidents, (one.finding,), moment, frozenset())
        return replace(state, incidents=incidents), list(opened)
    ended = {key: incident for key, incident in state.incidents.items() if incident.code == one.rule.code}
    still = {key: incident for key, incident in state.incidents.items() if key not in ended}
    return replace(state, incidents=still), [resolved(incident, moment) for incident in ended.values()]
