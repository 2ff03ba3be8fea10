"""Everything about a group that only time brings up: each timer runs on the group's own records and on the clock.

Before a record is judged the timers due by its time have fired; when no record comes, the cluster's tick fires them.
Either way a timer carries its own due time, so what is published does not depend on which of the two came first.
"""

from collections.abc import Iterator
from dataclasses import replace

from streaming.core.connect import unassigned, workers_gone
from streaming.core.connect.rules.remembering import Deadline, deadlines
from streaming.core.fold.state import GroupState
from streaming.core.incidents import damping
from streaming.core.incidents.finding import Finding
from streaming.core.incidents.transitions import Moment, key_of, resolved, settle
from streaming.core.model.records import Row
from streaming.core.model.results import Certainty, Result, Severity, Source
from streaming.core.model.settings import ClusterSettings


def due_ms(settings: ClusterSettings, group: str, state: GroupState) -> int | None:
    """When the next timer of the group is due."""
    times = [one.due_ms for one in _open_deadlines(group, state)]
    others = (
        unassigned.due_ms(state),
        workers_gone.due_ms(settings, group, state),
        damping.due_ms(settings, state),
    )
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
        state, gone = workers_gone.overdue(settings, group, state, due, historic=historic)
        found.extend(gone)
        for one in [one for one in _open_deadlines(group, state) if one.due_ms <= due]:
            state, more = _fired(settings, group, state, one, historic=historic)
            found.extend(more)
        state, followed = damping.follow(settings, state, found, due)
        told.extend(followed)
    return state, told


def _open_deadlines(group: str, state: GroupState) -> Iterator[Deadline]:
    """Deadlines of the last record that have not fired: a finding that is open already, an end of what is not open."""
    last = state.last
    if last is None or not last.views or unassigned.went_on_unread(state):
        return
    above_info = [incident for incident in state.incidents.values() if incident.severity is not Severity.INFO]
    open_codes = {incident.code for incident in above_info}
    open_keys = {key_of(incident.code, incident.subjects) for incident in above_info}
    last = replace(last, at_ms=last.at_ms + state.apart_ms)
    for one in deadlines(group, state.rule_memory, last, state.timeouts_ms):
        if one.withheld and one.finding is not None:
            open_ = key_of(one.rule.code, one.finding.subjects) in open_keys
        else:
            open_ = one.rule.code in open_codes
        if open_ != (one.finding is not None):
            yield one


def overdue_before(
    settings: ClusterSettings, group: str, state: GroupState, row: Row, generation: int, *, historic: bool
) -> tuple[GroupState, list[Result]]:
    """Fire every timer due before this record of a generation. Where generations between the last record and this one
    left none, what a timer waits for may have come with one of them: then no timer of the group's jobs fires, and
    people are told of what is open as ever."""
    unseen = state.generation is not None and generation > state.generation + 1
    if not unseen:
        return overdue(settings, group, state, row.timestamp_ms, historic=historic)
    unread = state.unread
    blind = replace(state, unread=Source(row.topic, row.partition, row.offset))
    state, told = overdue(settings, group, blind, row.timestamp_ms, historic=historic)
    return replace(state, unread=unread), told


BY_COORDINATOR = "by the coordinator's clock alone, which may have been another one meanwhile"
BY_ONE_CLOCK = "by one clock alone of those that wrote the input"


def unsure(
    settings: ClusterSettings, group: str, plain: GroupState, at_ms: int, by: str, sure: GroupState | None = None
) -> list[Finding]:
    """What a clock that nobody confirms brings up at `at_ms`: `plain` is the state before it was looked at by this
    clock, `sure` the one after, of which what surely passed brings up the rest."""
    known = set(plain.incidents)
    if sure is not None:
        known = {*sure.incidents, *(key_of(one.rule.code, one.subjects) for one in _due(settings, group, sure, at_ms))}
    return [
        replace(
            one,
            severity=Severity.INFO,
            certainty=Certainty.POSSIBLE,
            message=f"{one.message}: {by}",
        )
        for one in _due(settings, group, plain, at_ms)
        if key_of(one.rule.code, one.subjects) not in known
    ]


def _due(settings: ClusterSettings, group: str, state: GroupState, at_ms: int) -> Iterator[Finding]:
    for one in _open_deadlines(group, state):
        if one.finding is not None and one.due_ms <= at_ms:
            yield one.finding
    yield from unassigned.late(state, at_ms)
    yield from workers_gone.late(settings, group, state, at_ms)


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
