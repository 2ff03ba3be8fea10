"""What followers of brokers' logs read, and where they keep it."""

import uuid
from collections.abc import Collection, Mapping, Sequence

from rebalance_monitor.streaming.core.coordinator_log.line import CoordinatorReason
from rebalance_monitor.streaming.core.ports import Deposed


class Kept:
    """Keeps what it is given as the database does, but not each reason once: a line that is read twice shows."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.reasons: list[CoordinatorReason] = []
        self.deposed = False

    def positions(self, _cluster: str) -> dict[str, int]:
        return dict(self.places)

    def keep(
        self,
        _cluster: str,
        _epoch: int,
        positions: Mapping[str, int],
        reasons: Sequence[CoordinatorReason],
        gone: Collection[str],
    ) -> None:
        if self.deposed:
            raise Deposed("another job")
        self.places = {file: at for file, at in {**self.places, **positions}.items() if file not in gone}
        self.reasons += reasons

    @property
    def numbers(self) -> list[int]:
        return [one.old_generation for one in self.reasons]


def line(number: int) -> str:
    begins = f"[2026-11-27 06:33:4{number % 10},274] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state"
    why = f"removing member m-{uuid.UUID(int=number)} on LeaveGroup"
    return f"{begins} PreparingRebalance with old generation {number} (__consumer_offsets-0) (reason: {why})\n"
