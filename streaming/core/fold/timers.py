"""The timers of a group: those of its rules and those of its incidents, fired in the order of their times.

Before a record is judged the timers due by its time have fired; when no record comes, the cluster's tick fires them.
Either way a timer carries its own due time, so what is published does not depend on which of the two came first.
"""

from . import all_groups
from .capabilities import Doubting, Timed
from .intake import Intake

BY_COORDINATOR = "by the coordinator's clock alone, which may have been another one meanwhile"
BY_ONE_CLOCK = "by one clock alone of those that wrote the input"


def due_ms(fold: Intake) -> int | None:
    """When the next timer of the group is due, by the coordinator's clock."""
    times = [fold.book.due_ms(), all_groups.due_ms(fold), *(one.due_ms() for one in fold.able(Timed))]
    return min((one for one in times if one is not None), default=None)


def overdue(fold: Intake, now_ms: int, *, historic: bool) -> None:
    """Fire every timer due at `now_ms`, one moment after the other."""
    last_ms: int | None = None
    while (due := due_ms(fold)) is not None and due <= now_ms and due != last_ms:
        last_ms = due
        for session in fold.able(Timed):
            fold.publish(session.fire(due, historic=historic))
        all_groups.fire(fold, due, historic=historic)
        fold.results += fold.book.attend(due)


def before(fold: Intake, until_ms: int, *, missing: bool, historic: bool) -> None:
    """Fire every timer due before a record. Where records between the last one and this one are missing, what a timer
    waits for may have come with one of them: then no timer of a rule fires."""
    if missing:
        attend_until(fold, until_ms)
    else:
        overdue(fold, until_ms, historic=historic)


def attend_until(fold: Intake, now_ms: int) -> None:
    """People are notified of what is due by then; no timer of a rule fires."""
    last_ms: int | None = None
    while (due := fold.book.due_ms()) is not None and due <= now_ms and due != last_ms:
        last_ms = due
        fold.results += fold.book.attend(due)


def at_tick(fold: Intake, sure_ms: int, now_ms: int, newest_ms: int | None) -> None:
    """Up to `sure_ms` the group surely brought nothing new; people are notified of what lasts until `now_ms`. What
    timers would find until `newest_ms`, the newest time that anybody's clock shows, is possible."""
    overdue(fold, sure_ms, historic=False)
    if sure_ms < now_ms:
        fold.results += fold.book.attend(now_ms)
    if newest_ms is None or newest_ms <= sure_ms:
        return
    for session in fold.able(Doubting):
        doubts = session.doubts(newest_ms, BY_ONE_CLOCK)
        if doubts:
            fold.publish(doubts)
            fold.results += fold.book.attend(newest_ms)
