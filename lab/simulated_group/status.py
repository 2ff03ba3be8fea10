"""The status topic of a simulated Connect group, written as real workers write it.

RUNNING is always written. UNASSIGNED and FAILED only by a worker that may still be the owner: the last status is its
own, or from no later generation (Kafka's `KafkaStatusBackingStore.putSafe`). A deleted job's entry is a tombstone.
"""

import json
from dataclasses import dataclass
from threading import Lock

from confluent_kafka import Producer

from lab.simulated_group.protocol import Job

VERSION = "4.3.1"
SAFE = frozenset({"UNASSIGNED", "FAILED"})


@dataclass(frozen=True, slots=True)
class _Last:
    worker_id: str
    generation: int


class StatusLog:
    """One group's status topic; the workers of the group share it, from whatever thread."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        # The partitioner of the Java client, so that a key lies where a real worker would put it.
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 5, "partitioner": "murmur2_random"}
        )
        self._last: dict[Job, _Last] = {}
        self._lock = Lock()

    def put(self, job: Job, state: str, worker_id: str, generation: int, trace: str | None = None) -> None:
        """Append a status, unless the worker must think that another one owns the job by now."""
        with self._lock:
            last = self._last.get(job)
            if state in SAFE and last is not None and last.worker_id != worker_id and last.generation > generation:
                return
            self._last[job] = _Last(worker_id, generation)
            value = {
                "state": state,
                "trace": trace,
                "worker_id": worker_id,
                "generation": generation,
                "version": VERSION,
            }
            self._append(job, json.dumps(value).encode())

    def remove(self, job: Job) -> None:
        """The tombstone of a job that exists no more."""
        with self._lock:
            if self._last.pop(job, None) is not None:
                self._append(job, None)

    def _append(self, job: Job, value: bytes | None) -> None:
        key = f"status-connector-{job}" if isinstance(job, str) else f"status-task-{job[0]}-{job[1]}"
        self._producer.produce(self._topic, key=key.encode(), value=value)
        self._producer.poll(0)

    def flush(self) -> None:
        """Return once all is written."""
        self._producer.flush(10)
