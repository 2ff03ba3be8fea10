"""The delayed rebalance: what happens to jobs that vanished with their worker.

The leader does not hand lost jobs out at once. It opens a window of `max_delay_ms`; a worker that comes back with its
jobs closes it. Members without any job while the window is open become candidates, and when a round finds the window
over, they receive the lost jobs in turn, whatever they hold by then. Every round inside the window repeats the time
that is left. A balancing back-off (`connect_incremental`) uses the same window.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import cycle

from rebalance_monitor.assignors.java_table import hash_map_order
from .eras import Era
from .model import Jobs, LeaderMemory
from .survey import Load


@dataclass(slots=True, kw_only=True)
class Window:
    """The leader's delay while one round is computed; times in ms of the leader's clock, which stands still."""

    now_ms: int
    max_delay_ms: int
    scheduled_ms: int = 0
    delay_ms: int = 0
    candidates: dict[str, None] = field(default_factory=dict)
    revoked_in_previous: bool = False
    order_unsure: bool = False
    rests_on: set[str] = field(default_factory=set)
    """See `ConnectResult.rests_on`."""

    @classmethod
    def recall(cls, memory: LeaderMemory, now_ms: int, max_delay_ms: int) -> "Window":
        """The window as the leader's last round left it."""
        return cls(
            now_ms=now_ms,
            max_delay_ms=max_delay_ms,
            scheduled_ms=memory.scheduled_ms,
            delay_ms=memory.delay_ms,
            candidates=dict.fromkeys(memory.candidates),
            revoked_in_previous=memory.revoked_in_previous,
        )

    @property
    def running(self) -> bool:
        """Whether anything is left of a delay."""
        return bool(self.scheduled_ms or self.delay_ms or self.candidates)

    def reset(self) -> None:
        self.candidates.clear()
        self.scheduled_ms = 0
        self.delay_ms = 0

    def hold(self, loads: Sequence[Load]) -> None:
        """Open the window, or keep an open one; its end does not move. Idle members become candidates."""
        idle = hash_map_order(load.id for load in loads if not (load.connectors or load.tasks))
        self.order_unsure |= idle.unsure
        self.candidates.update(dict.fromkeys(idle.keys()))
        if self.now_ms < self.scheduled_ms:
            self.delay_ms = min(self.scheduled_ms - self.now_ms, self.max_delay_ms)
        else:
            self.delay_ms = self.max_delay_ms
        self.scheduled_ms = self.now_ms + self.delay_ms

    def expire(self, lost: Jobs, loads: Sequence[Load], era: Era) -> bool:
        """The window is over: the lost jobs go to those who were idle while it was open; whether there is any."""
        by_id = {load.id: load for load in loads}
        chosen = [by_id[member_id] for member_id in self.candidates if member_id in by_id]
        if len(chosen) > 1:
            self.rests_on.add("deals_to_all_candidates")
            if not era.deals_to_all_candidates:
                del chosen[1:]
        for connector, load in zip(lost.connectors, cycle(chosen), strict=False):
            load.connectors.append(connector)
        for task, load in zip(lost.tasks, cycle(chosen), strict=False):
            load.tasks.append(task)
        self.reset()
        self.revoked_in_previous = False
        return bool(chosen)


def handle_lost(
    window: Window, lost: Jobs, loads: Sequence[Load], memory: LeaderMemory, present: Set[str], era: Era
) -> Jobs:
    """Jobs to hand out like new ones in this round; lost jobs given to candidates are added to `loads` directly."""
    if not lost and not window.revoked_in_previous:
        if window.running:
            window.rests_on.add("ends_idle_delay")
            if era.ends_idle_delay:
                window.reset()
        return Jobs()
    if window.scheduled_ms <= 0 and memory.previous_members <= present:
        window.rests_on.add("watches_departures")
        if era.watches_departures:
            return lost
    if window.max_delay_ms == 0:
        window.rests_on |= {"max_delay_ms", "places_at_once_without_delay"}
        if era.places_at_once_without_delay:
            return lost
    window.rests_on |= {"now_ms", "max_delay_ms"}
    if not 0 < window.scheduled_ms <= window.now_ms:
        window.hold(loads)
        return Jobs()
    return Jobs() if window.expire(lost, loads, era) else lost
