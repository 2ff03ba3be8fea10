"""What the pollers' tests have in common: a clock that the test moves, and an observer that keeps what it is told."""

from typing import Any

from rebalance_monitor.streaming.polling.poller import LOOK_EVERY_S, Poller


class ObservedPoller:
    """A poller of a cluster whose answers the test sets. `part_name`: what the poller calls itself."""

    part_name: str
    poller: Poller[Any]

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.requests = 0
        self.problems: list[str | None] = []
        self.answered: list[int | None] = []

    def now_ms(self) -> int:
        return round(self.now_s * 1000)

    def part(self, name: str, problem: str | None) -> None:
        assert name == self.part_name
        self.problems.append(problem)

    def polled(self, poller: str, requests: int, answered_ms: int | None) -> None:
        assert poller == self.part_name
        self.requests += requests
        self.answered.append(answered_ms)

    def passes(self, seconds: float) -> None:
        """Steps as the poller's thread makes them, for so long."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.poller.step()
            self.now_s += LOOK_EVERY_S
