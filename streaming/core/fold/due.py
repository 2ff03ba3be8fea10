"""When a group is to be folded again if no record of it comes, by the monitor's clock."""

from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.incidents.notice import Lane
from . import conversion, recovery, sampling, timers
from .capabilities import Awaits, Doubting, Moments, RunsBehind
from .intake import Intake


def folded_again_ms(fold: Intake, *, wants_waiting: bool) -> int | None:
    """The earliest time at which anything is due; None if nothing is. `wants_waiting`: more waiting records are wanted,
    so the first that is here is not looked at."""
    own_ms = timers.due_ms(fold)
    head = None if wants_waiting else fold.waiting.head()
    attention_ms = fold.book.due_ms(Lane.EVENTS)
    times = [
        None if head is None else conversion.wait_until_ms(head, fold.settings.judge_wait_ms),
        None if own_ms is None else clocks.monitors_time(fold.envelope, own_ms),
        *(session.closes_ms() for session in fold.able(Moments)),
        *(session.live_due_ms() for session in fold.able(Doubting)),
        *(session.events_due_ms(attention_ms) for session in fold.able(RunsBehind)),
        recovery.due_ms(fold.envelope),
    ]
    known = (sampling.looked_again_ms(one, fold.tick, fold.shown_until_ms) for one in times if one is not None)
    return min(known, default=None)


def sample_from_ms(fold: Intake) -> int | None:
    """When the latest sample is to be asked that a record waits for."""
    times = [one.sample_from_ms() for one in fold.able(Awaits)] if fold.waiting.queue.end else []
    return max((one for one in times if one is not None), default=None)
