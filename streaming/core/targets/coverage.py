"""What no target of a group holds although it should, worked out once for all moments that show the same.

Samples of the topics divide time: between two of them the same topics are known. Nearly all records change neither
targets nor subscriptions, so the answer for the one before holds for them, too.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from rebalance_monitor.streaming.core.targets.breaches import Breach


class Coverage:
    """The answers for one set of targets and subscriptions."""

    def __init__(self) -> None:
        self._turns_ms: Sequence[int] | None = None
        self._found: dict[int, list[Breach]] = {}

    def lacking(
        self, at_ms: int, turns_ms: Callable[[], Sequence[int]], work_out: Callable[[], list[Breach]]
    ) -> list[Breach]:
        """What is lacking at this time. `turns_ms`: the times in order from which on other topics are known; `work_out`
        gives the answer of this time."""
        if self._turns_ms is None:
            self._turns_ms = turns_ms()
        span = bisect_right(self._turns_ms, at_ms)
        if span not in self._found:
            self._found[span] = work_out()
        return self._found[span]
