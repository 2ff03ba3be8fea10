"""CONNECT-K18: a Connect group has no worker although connectors are configured and neither paused nor stopped.

The group is Empty, or it was deleted, and no generation with members follows. Nobody runs the connectors, and no worker
is left that could say so. The timer waits for the larger of the delay and the session time-out (or what the
configuration says), since the group's record or since the first connector that should run, whichever is later.

    10:00:00  the last worker leaves; 12 connectors started     waits since 10:00:00
    10:05:00  no worker has joined for 300 s                    all_workers_gone opens
    10:20:00  a generation with members                         it ends

A group that the monitor first sees Empty, or that became Empty in history, is timed from the first live reading on.
Connectors that rest (target state PAUSED or STOPPED) or that were deleted need no worker: connect.md part 7.
"""

from collections.abc import Iterator
from dataclasses import replace

from schemas.connect_topics import ConnectorConfigured, ConnectorDeleted
from streaming.core.connect.config_history import ConfigEntry, ConfigHistory, TargetEntry
from streaming.core.connect.leader import hypotheses
from streaming.core.connect.rules.catalogue_across import ALL_WORKERS_GONE
from streaming.core.fold.routing import connect_settings
from streaming.core.fold.state import Emptied, GroupState
from streaming.core.incidents import damping
from streaming.core.incidents.finding import Finding
from streaming.core.incidents.transitions import Moment, resolved, settle
from streaming.core.model.records import Row
from streaming.core.model.results import Certainty, Evidence, Incident, Result, Severity, Source, Subject
from streaming.core.model.settings import ClusterSettings

SHOWN = 3
"""Connectors that the message names before it only counts them."""


def to_run(history: ConfigHistory, from_ms: int) -> Iterator[tuple[int, frozenset[str]]]:
    """Which connectors should run: at `from_ms`, then after each later change (time in ms, never descending)."""
    configured, resting = set(history.base.counts), set(history.resting)
    at_ms = from_ms
    entries: list[ConfigEntry | TargetEntry] = [*history.entries, *history.targets]
    for one in sorted(entries, key=lambda one: one.offset):
        if one.at_ms > at_ms:
            yield at_ms, frozenset(configured - resting)
            at_ms = one.at_ms
        match one:
            case TargetEntry(name=name, resting=rests):
                (resting.add if rests else resting.discard)(name)
            case ConfigEntry(record=ConnectorConfigured(name=name)):
                configured.add(name)
            case ConfigEntry(record=ConnectorDeleted(name=name)):
                configured.discard(name)
            case _:
                pass
    yield at_ms, frozenset(configured - resting)


def emptied(
    settings: ClusterSettings, group: str, state: GroupState, source: Source, moment: Moment
) -> tuple[GroupState, bool]:
    """The state after a record without members, and whether it only repeats that the group is empty."""
    before = state.emptied
    if before is not None and before.generation == moment.generation:
        return state, True
    return replace(state, emptied=_since(settings, group, state, source, moment)), False


def deleted(settings: ClusterSettings, group: str, state: GroupState, row: Row, *, historic: bool) -> GroupState:
    """The state after the group's tombstone. A group that was empty before goes on to be so; of a group of which
    nothing else was read, its config topic says whether it is a Connect cluster."""
    seen = state.last is not None and bool(state.last.views)
    if state.emptied is not None or not (seen or state.generation is None):
        return state
    source = Source(row.topic, row.partition, row.offset)
    moment = Moment(
        cluster=settings.name,
        group=group,
        incarnation=state.incarnation,
        generation=state.generation or 0,
        at_ms=row.timestamp_ms,
        historic=historic,
    )
    return replace(state, emptied=_since(settings, group, state, source, moment))


def _since(settings: ClusterSettings, group: str, state: GroupState, source: Source, moment: Moment) -> Emptied | None:
    """None where the last leader read another config topic: what the watched one holds is not this group's."""
    last = state.last
    view = None if last is None else last.views.get(last.leader or "")
    if last is not None and last.leader in state.sides.theirs:
        return None
    delay_ms = connect_settings(settings, group).max_delay_of(None if view is None else view.worker)
    if delay_ms is None:
        delay_ms = hypotheses.DEFAULT_MAX_DELAY_MS
    owner = settings.owner_of(group)
    session_ms = None if owner is None else owner.session_timeout_ms
    if session_ms is None:
        session_ms = state.session_ms or settings.session_timeout_ms
    return Emptied(
        at_ms=moment.at_ms,
        source=source,
        generation=moment.generation,
        patience_ms=max(delay_ms, session_ms),
        config_offset=0 if last is None else last.config_offset or 0,
        historic=moment.historic,
    )


def came_back(state: GroupState, moment: Moment) -> tuple[GroupState, list[Incident]]:
    """The state after a generation with members."""
    ended = {key: one for key, one in state.incidents.items() if one.code == ALL_WORKERS_GONE.code}
    still = {key: one for key, one in state.incidents.items() if key not in ended}
    return replace(state, emptied=None, incidents=still), [resolved(one, moment) for one in ended.values()]


def read_live(state: GroupState, now_ms: int) -> GroupState:
    """The state at a live tick: what was found empty in history is timed from here on."""
    before = state.emptied
    if before is None or not before.historic:
        return state
    return replace(state, emptied=replace(before, at_ms=max(before.at_ms, now_ms), historic=False))


def unread_live_ms(settings: ClusterSettings, group: str, state: GroupState) -> int | None:
    """When a group that was found empty in history is to be folded by the live clock: at once; None for others."""
    gone = state.emptied
    waits = gone is not None and gone.historic and due_ms(settings, group, state) is not None
    return gone.at_ms if gone is not None and waits else None


def due_ms(settings: ClusterSettings, group: str, state: GroupState) -> int | None:
    """When the incident opens, or ends because no connector should run any more; None if neither is to come."""
    gone = state.emptied
    if gone is None or not state.history.reaches(gone.config_offset):
        return None
    if state.unread is not None and state.unread.offset > gone.source.offset:
        return None
    open_ = _open(state)
    changes = list(to_run(state.history, gone.at_ms))
    if open_ is not None:
        return next((max(at, open_.opened_at_ms) for at, names in _over(changes, open_.opened_at_ms)), None)
    return next(_opens(changes, _patience_ms(settings, group, gone)), None)


def _over(changes: list[tuple[int, frozenset[str]]], opened_ms: int) -> Iterator[tuple[int, frozenset[str]]]:
    return ((at, names) for at, names in changes if not names and at >= opened_ms)


def _opens(changes: list[tuple[int, frozenset[str]]], patience_ms: int) -> Iterator[int]:
    since: int | None = None
    for at, names in changes:
        if since is not None and at >= since + patience_ms:
            yield since + patience_ms
        since = None if not names else (at if since is None else since)
    if since is not None:
        yield since + patience_ms


def _patience_ms(settings: ClusterSettings, group: str, gone: Emptied) -> int:
    configured = damping.patience_ms(settings, group, ALL_WORKERS_GONE)
    return gone.patience_ms if configured is None else configured


def _open(state: GroupState) -> Incident | None:
    """The open incident; what only one clock brings up does not keep the timer from opening it for certain."""
    found = (one for one in state.incidents.values() if one.code == ALL_WORKERS_GONE.code)
    return next((one for one in found if one.severity is not Severity.INFO), None)


def overdue(
    settings: ClusterSettings, group: str, state: GroupState, now_ms: int, *, historic: bool
) -> tuple[GroupState, list[Result]]:
    """Open or end the incident if that is due at `now_ms`."""
    due, gone = due_ms(settings, group, state), state.emptied
    if gone is None or due is None or due > now_ms:
        return state, []
    moment = Moment(
        cluster=settings.name,
        group=group,
        incarnation=state.incarnation,
        generation=gone.generation,
        at_ms=due,
        historic=historic,
    )
    if _open(state) is not None:
        state, ended = came_back(state, moment)
        return replace(state, emptied=replace(gone, at_ms=due)), list(ended)
    incidents, opened = settle(state.incidents, late(settings, group, state, due), moment, frozenset())
    return replace(state, incidents=incidents), list(opened)


def late(settings: ClusterSettings, group: str, state: GroupState, at_ms: int) -> list[Finding]:
    """The finding, if no worker has come for too long at this time and no incident says so yet."""
    gone = state.emptied
    due = None if gone is None or _open(state) is not None else due_ms(settings, group, state)
    if gone is None or due is None or due > at_ms:
        return []
    names = [names for since, names in to_run(state.history, gone.at_ms) if since <= due][-1]
    sure = state.history.targets_known
    doubt = "" if sure else "; which of them are paused or stopped is not known"
    shown = ", ".join(sorted(names)[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    count = "1 connector is" if len(names) == 1 else f"{len(names)} connectors are"
    seconds = _patience_ms(settings, group, gone) // 1_000
    return [
        Finding(
            rule=ALL_WORKERS_GONE,
            severity=Severity.CRITICAL if sure else Severity.MEDIUM,
            certainty=Certainty.CERTAIN if sure else Certainty.POSSIBLE,
            subjects=(Subject("group", group),),
            message=f"the group has had no worker for {seconds} s, and {count} to run: {shown}{doubt}",
            evidence=(Evidence(source=gone.source),),
        )
    ]
