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

from collections.abc import Iterator, Sequence, Set

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.leader.hypotheses import longest_delay_ms
from rebalance_monitor.streaming.core.connect.rules.catalogue_across import ALL_WORKERS_GONE
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import source_of
from rebalance_monitor.streaming.core.incidents import damping
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.transitions import Moment, PartKey
from rebalance_monitor.streaming.core.model.messages import listed, utc
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Evidence, Part, Severity, Source, Subject
from .config_history import ConfigHistory, apply
from .state import ConnectState, Emptied
from .topic_names import connect_settings

SHOWN = 3
"""Connectors that the message names before it only counts them."""


def to_run(history: ConfigHistory, from_ms: int) -> Iterator[tuple[int, Set[str]]]:
    """Which connectors should run: at `from_ms`, then after each later change (time in ms, never descending)."""
    state, at_ms = history.base, from_ms
    for entry in history.entries:
        if entry.at_ms > at_ms:
            yield at_ms, state.counts.keys() - state.resting
            at_ms = entry.at_ms
        state = apply(state, entry.record)
    yield at_ms, state.counts.keys() - state.resting


def emptied(view: GroupView, state: ConnectState, source: Source, moment: Moment) -> tuple[ConnectState, bool]:
    """The state after a record without members, and whether it only repeats that the group is empty."""
    before = state.emptied
    if before is not None and before.generation == moment.generation:
        return state, True
    return replace(state, emptied=_since(view, state, source, moment)), False


def deleted(view: GroupView, state: ConnectState, row: Row, *, historic: bool) -> ConnectState:
    """The state after the group's tombstone. A group that was empty before goes on to be so; of a group of which
    nothing else was read, its config topic says whether it is a Connect cluster."""
    seen = state.last is not None and bool(state.last.views)
    if state.emptied is not None or not (seen or view.envelope.generation is None):
        return state
    moment = view.moment(row.timestamp_ms, historic=historic)
    return replace(state, emptied=_since(view, state, source_of(row), moment))


def _since(view: GroupView, state: ConnectState, source: Source, moment: Moment) -> Emptied | None:
    """None where the last leader read another config topic: what the watched one holds is not this group's."""
    last, settings = state.last, view.settings
    if last is not None and last.leader in state.sides.theirs:
        return None
    delay_ms = longest_delay_ms(connect_settings(settings, view.group), last)
    silent_ms = settings.silent_member_ms_of(view.group)
    if silent_ms is None:
        silent_ms = state.session_ms or settings.session_timeout_ms
    return Emptied(
        at_ms=moment.at_ms,
        source=source,
        generation=moment.generation,
        patience_ms=max(delay_ms, silent_ms),
        since_ms=moment.at_ms,
        config_offset=0 if last is None else last.config_offset or 0,
        historic=moment.historic,
    )


def open_keys(view: GroupView) -> tuple[PartKey, ...]:
    return tuple(key for key, one in view.open().items() if one.code == ALL_WORKERS_GONE.code)


def read_live(state: ConnectState, now_ms: int) -> ConnectState:
    """The state at a live tick: what was found empty in history is timed from here on."""
    before = state.emptied
    if before is None or not before.historic:
        return state
    return replace(state, emptied=replace(before, at_ms=max(before.at_ms, now_ms), historic=False))


def unread_live_ms(view: GroupView, state: ConnectState) -> int | None:
    """When a group that was found empty in history is to be folded by the live clock: at once; None for others."""
    gone = state.emptied
    waits = gone is not None and gone.historic and due_ms(view, state) is not None
    return gone.at_ms if gone is not None and waits else None


def due_ms(view: GroupView, state: ConnectState) -> int | None:
    """When the incident opens, or ends because no connector should run any more; None if neither is to come."""
    gone, unread = state.emptied, view.envelope.unread
    if gone is None or not state.history.reaches(gone.config_offset):
        return None
    if unread is not None and unread.offset > gone.source.offset:
        return None
    open_ = _open(view)
    changes = list(to_run(state.history, gone.at_ms))
    if open_ is not None:
        return next((max(at, open_.opened_at_ms) for at, names in _over(changes, open_.opened_at_ms)), None)
    return next(_opens(changes, _patience_ms(view, gone)), None)


def _over(changes: list[tuple[int, Set[str]]], opened_ms: int) -> Iterator[tuple[int, Set[str]]]:
    return ((at, names) for at, names in changes if not names and at >= opened_ms)


def _opens(changes: list[tuple[int, Set[str]]], patience_ms: int) -> Iterator[int]:
    since: int | None = None
    for at, names in changes:
        if since is not None and at >= since + patience_ms:
            yield since + patience_ms
        since = None if not names else (at if since is None else since)
    if since is not None:
        yield since + patience_ms


def _patience_ms(view: GroupView, gone: Emptied) -> int:
    configured = damping.patience_ms(view.settings, view.group, ALL_WORKERS_GONE)
    return gone.patience_ms if configured is None else configured


def _open(view: GroupView) -> Part | None:
    """The open incident; what only one clock brings up does not keep the timer from opening it for certain."""
    found = (one for one in view.open().values() if one.code == ALL_WORKERS_GONE.code)
    return next((one for one in found if one.severity is not Severity.INFO), None)


def overdue(
    view: GroupView, state: ConnectState, now_ms: int, *, historic: bool
) -> tuple[ConnectState, Sequence[Notice]]:
    """Open or end the incident if that is due at `now_ms`."""
    due, gone = due_ms(view, state), state.emptied
    if gone is None or due is None or due > now_ms:
        return state, ()
    moment = view.moment(due, generation=gone.generation, historic=historic)
    if _open(view) is not None:
        return replace(state, emptied=replace(gone, at_ms=due)), [Notice(moment=moment, over=open_keys(view))]
    return state, [Notice(moment=moment, found=tuple(late(view, state, due)))]


def late(view: GroupView, state: ConnectState, at_ms: int) -> list[Finding]:
    """The finding, if no worker has come for too long at this time and no incident says so yet."""
    gone = state.emptied
    due = None if gone is None or _open(view) is not None else due_ms(view, state)
    if gone is None or due is None or due > at_ms:
        return []
    names = [names for since, names in to_run(state.history, gone.at_ms) if since <= due][-1]
    count = "1 connector is" if len(names) == 1 else f"{len(names)} connectors are"
    shown = listed(sorted(names), SHOWN)
    message = f"the group has had no worker since {utc(gone.since_ms)}, and {count} to run: {shown}"
    return [finding_of(ALL_WORKERS_GONE, (Subject("group", view.group),), message, (Evidence(source=gone.source),))]
