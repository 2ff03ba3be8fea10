"""The status topic, written as workers write it (coordinator-log.md part 9).

UNASSIGNED and FAILED are written only by a worker that may still be the owner, by what it has read back of the topic:
the last status is its own, or from no later generation. RUNNING and the others are always written. A worker reads its
own topic back some ms late, a frozen one does not read at all.
"""

import json
from bisect import bisect_right
from dataclasses import dataclass, field

from lab.simulated.log import Log
from lab.simulated.partitioner import partition_of
from lab.simulated.queue import Queue
from lab.simulated_group.protocol import Job

SAFE = frozenset({"UNASSIGNED", "FAILED"})


@dataclass(frozen=True, slots=True)
class Status:
    """The value of one record; `state` None is the tombstone."""

    state: str | None
    worker_id: str = ""
    generation: int = -1


@dataclass(slots=True)
class _Past:
    at_ms: list[float] = field(default_factory=list)
    values: list[Status] = field(default_factory=list)


class StatusTopic:
    """The topic, and its past, in which each worker's cache is one moment."""

    def __init__(self, queue: Queue, log: Log, topic: str, partitions: int) -> None:
        self._queue, self._log, self.topic, self._partitions = queue, log, topic, partitions
        self._past: dict[Job, _Past] = {}

    def cached(self, job: Job, until_ms: float) -> Status | None:
        """The job's status for a worker that has read what was written until then."""
        past = self._past.get(job)
        if past is None:
            return None
        at = bisect_right(past.at_ms, until_ms)
        status = past.values[at - 1] if at else None
        return None if status is None or status.state is None else status

    def known(self, until_ms: float) -> list[Job]:
        """Jobs with a status, for a worker that has read so far."""
        return [job for job in self._past if self.cached(job, until_ms) is not None]

    def put(
        self, clock: str, job: Job, status: Status, *, read_until_ms: float, release: str, trace: str | None = None
    ) -> bool:
        """Write a status, unless the worker has to think that another one owns the job; whether it was written."""
        if status.state in SAFE:
            cached = self.cached(job, read_until_ms)
            if cached is not None and cached.worker_id != status.worker_id and cached.generation > status.generation:
                return False
        value: dict[str, object] = {
            "state": status.state,
            "trace": trace,
            "worker_id": status.worker_id,
            "generation": status.generation,
        }
        if release >= "4.":
            value["version"] = None if status.state == "UNASSIGNED" else "1"
        self._append(clock, job, status, json.dumps(value, separators=(",", ":")).encode())
        return True

    def remove(self, clock: str, job: Job) -> None:
        """The tombstone of a job that is configured no more."""
        self._append(clock, job, Status(None), None)

    def _append(self, clock: str, job: Job, status: Status, value: bytes | None) -> None:
        key = (f"status-connector-{job}" if isinstance(job, str) else f"status-task-{job[0]}-{job[1]}").encode()
        past = self._past.setdefault(job, _Past())
        past.at_ms.append(self._queue.now_ms)
        past.values.append(status)
        partition = partition_of(key, self._partitions)
        self._log.append(self.topic, partition, self._queue.now_ms, clock, key, value)
