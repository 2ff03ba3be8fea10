"""`monitor_error` from the failed fold to its end: ten generations folded without an error, or a day without one.

Ten: what a state must know to fail in the same way (members, leader's memory, config) has been built again by then. A
day: a group that does not rebalance shows nothing more, and the error has been in the log and the database since.
"""

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.incidents.book import Book, Changes
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.of_every_group import MONITOR_ERROR
from rebalance_monitor.streaming.core.incidents.transitions import Moment
from rebalance_monitor.streaming.core.model.records import Tick
from .state import Envelope

FOLDED_AGAIN = 10
"""Generations."""
OPEN_MS = 24 * 3_600_000


def counted(envelope: Envelope) -> Envelope:
    """One generation more was folded."""
    if envelope.failing is None:
        return envelope
    return replace(envelope, failing=replace(envelope.failing, folded=envelope.failing.folded + 1))


def due_ms(envelope: Envelope) -> int | None:
    """When the incident ends without another generation, by the clock that the monitor ticks by."""
    return None if envelope.failing is None else envelope.failing.at_ms + OPEN_MS


def recovered(envelope: Envelope, book: Book, moment: Moment, tick: Tick | None) -> tuple[Envelope, Changes]:
    """Ends `monitor_error` once its time has come; `moment` is the group's, of any time."""
    failing = envelope.failing
    if failing is None:
        return envelope, Changes()
    open_now = tuple(key for key, one in book.open().items() if one.code == MONITOR_ERROR.code)
    now_ms = max(tick.now_ms, failing.at_ms) if tick is not None else failing.at_ms
    if open_now and failing.folded < FOLDED_AGAIN and now_ms < failing.at_ms + OPEN_MS:
        return envelope, Changes()
    ended = book.note(Notice(moment=replace(moment, at_ms=now_ms, historic=False), over=open_now))
    return replace(envelope, failing=None), [*ended, *book.attend(now_ms)]
