"""What the parts of one cluster share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lab.simulated.config import ConfigTopic
from lab.simulated.coordinator import Coordinator
from lab.simulated.log import Log
from lab.simulated.queue import Queue
from lab.simulated.status import StatusTopic
from lab.simulated.truth import Truth
from lab.simulated_group.faults import LeaderFault

if TYPE_CHECKING:
    from lab.simulated.leader import Leader
    from lab.simulated.worker import Worker

RETRY_MS = 250
TRIES = 40


@dataclass(slots=True)
class World:
    """One cluster's topics, coordinator and workers."""

    queue: Queue
    log: Log
    truth: Truth
    coordinator: Coordinator
    config: ConfigTopic
    status: StatusTopic
    armed: list[LeaderFault] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)

    def leading(self) -> Worker | None:
        """The process that leads, as it knows itself, and can do something."""
        return next((one for one in self.workers if one.leads and not one.ended and not one.frozen), None)

    def leader_writes(self, write: Callable[[Worker], None], tries: int = TRIES) -> None:
        """Have the leader's herder do this; asked again while there is none."""
        leader = self.leading()
        if leader is not None:
            leader.request(lambda: write(leader))
        elif tries:
            self.queue.after(RETRY_MS, lambda: self.leader_writes(write, tries - 1))

    def led(self, leader: Leader, generation: int) -> None:
        """A leader has computed its answer of this generation."""
        last = self.truth.rounds[-1]
        if last.generation == generation and leader.spoiled:
            self.truth.rounds[-1] = replace(last, spoiled=leader.spoiled)
