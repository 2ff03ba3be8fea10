"""Attempts of a delivery, counted as the exporter does."""

from collections import Counter


class Counts(Counter[str]):
    """By outcome."""

    waiting = -1

    def notified(self, outcome: str) -> None:
        self[outcome] += 1

    def outbox_pending(self, count: int) -> None:
        self.waiting = count
