"""The connectors and tasks of one worker process: start, stop, target state, failure, and the statuses of all that.

A status carries the generation that the worker has completed when it is written: what a revocation stops says
UNASSIGNED with the generation before, since the worker adopts the new one only after it has stopped.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from lab.simulated.config import PAUSED, STARTED, STOPPED, View
from lab.simulated.process import Process
from lab.simulated.queue import Queue, Step
from lab.simulated.status import Status, StatusTopic
from lab.simulated.truth import Truth
from lab.simulated_group.protocol import Job
from rebalance_monitor.assignors.connect.model import ConfigSnapshot

GRACE_MS = 5_000
"""`task.shutdown.graceful.timeout.ms`: whoever stops slower is abandoned and never says UNASSIGNED."""


@dataclass(slots=True)
class _Running:
    state: str = "STARTING"
    stuck: bool = False
    over: bool = False


class Jobs:
    """What runs in one process."""

    def __init__(
        self, process: Process, name: str, worker_id: str, clock: str, release: str, topic: StatusTopic, truth: Truth
    ) -> None:
        self._process, self.name, self.worker_id, self.clock = process, name, worker_id, clock
        self._release, self._topic, self._truth = release, topic, truth
        self.generation = -1
        self.running: dict[Job, _Running] = {}
        self.hidden: set[Job] = set()
        """Jobs that run on although the worker was told to stop them, and says nothing of it."""

    @property
    def _queue(self) -> Queue:
        return self._process.queue

    # -- start ---------------------------------------------------------------------------------------------------

    def start(self, job: Job, view: View) -> None:
        """The job starts in a thread of its own and says so."""
        self.running[job] = running = _Running()
        is_connector = isinstance(job, str)
        slow_ms = self._queue.between(2, 25) if is_connector else self._queue.between(5, 180)
        if self._queue.random.random() < 0.03:
            slow_ms += self._queue.between(100, 1_500)

        def up() -> None:
            if not running.over and self.running.get(job) is running:
                state = _state(view.targets.get(name_of(job), STARTED))
                self._enter(job, running, state if is_connector or state != "STOPPED" else "RUNNING")

        self._process.later(slow_ms, up)

    def _enter(self, job: Job, running: _Running, state: str) -> None:
        running.state = state
        self._truth.appeared(job, self.name, self._queue.now_ms)
        if state == "RUNNING":
            self._truth.began(job, self.name, self._queue.now_ms)
        else:
            self._truth.ended(job, self.name, self._queue.now_ms)
        self.tell(job, state)

    def aim(self, name: str, view: View) -> None:
        """The connector's target state has changed: its instance and tasks here follow."""
        state = _state(view.targets.get(name, STARTED))
        for job, running in list(self.running.items()):
            if name_of(job) == name and running.state not in (state, "FAILED", "STARTING"):
                if state == "STOPPED" and not isinstance(job, str):
                    continue
                self._process.later(self._queue.between(1, 30), partial(self._aimed, job, running, state))

    def _aimed(self, job: Job, running: _Running, state: str) -> None:
        if not running.over and running.state != state:
            self._enter(job, running, state)

    # -- stop ----------------------------------------------------------------------------------------------------

    def stop(self, jobs: Iterable[Job], then: Step, *, silent: bool = False) -> None:
        """Stop these side by side; `then` once all have stopped or their grace is over. `silent`: they run on, and
        nobody is told."""
        longest_ms = 0.0
        for job in jobs:
            running = self.running.pop(job, None)
            if running is None:
                continue
            if silent:
                self.hidden.add(job)
                continue
            running.over = True
            slow_ms = self._queue.between(2, 12) if isinstance(job, str) else self._queue.between(4, 300)
            if self._queue.random.random() < 0.05:
                slow_ms += self._queue.between(100, 900)
            if running.stuck:
                longest_ms = GRACE_MS
                self._process.later(GRACE_MS * 2, partial(self._gone, job, None))
                continue
            longest_ms = max(longest_ms, slow_ms)
            self._process.later(slow_ms, partial(self._gone, job, running))
        if longest_ms:
            self._process.later(longest_ms + self._queue.between(0.1, 3), then)
        else:
            then()

    def _gone(self, job: Job, running: _Running | None) -> None:
        self._truth.vanished(job, self.name, self._queue.now_ms)
        if running is not None and running.state != "FAILED":
            self.tell(job, "UNASSIGNED")

    def fail(self, job: Job) -> None:
        """The job throws; it stays assigned."""
        running = self.running.get(job)
        if running is not None and running.state == "RUNNING":
            running.state = "FAILED"
            self._truth.vanished(job, self.name, self._queue.now_ms)
            self.tell(job, "FAILED", trace="org.apache.kafka.connect.errors.ConnectException: told to fail")

    # -- statuses ------------------------------------------------------------------------------------------------

    def tell(self, job: Job, state: str, trace: str | None = None) -> None:
        """Write a status, as far as this worker may."""
        status = Status(state, self.worker_id, self.generation)
        self._topic.put(self.clock, job, status, read_until_ms=self.read_until_ms(), release=self._release, trace=trace)

    def say_again(self) -> None:
        """What was told to stop and runs on writes RUNNING once more, as after a restart of its own."""
        for job in sorted(self.hidden, key=str):
            self._topic.put(
                self.clock,
                job,
                Status("RUNNING", self.worker_id, self.generation),
                read_until_ms=self.read_until_ms(),
                release=self._release,
            )

    def read_until_ms(self) -> float:
        """How far this worker has read the status topic: a few ms ago, or when it was frozen until just now."""
        now_ms = self._queue.now_ms
        if now_ms - self._process.thawed_ms < 20:
            return self._process.frozen_ms
        return now_ms - 8

    def forget_removed(self, config: ConfigSnapshot) -> None:
        """The leader removes the statuses of what is configured no more (`updateDeletedConnectorStatus`, then
        `updateDeletedTaskStatus`, which does not see yet what the first has removed)."""
        known = self._topic.known(self.read_until_ms())
        connectors = [job for job in known if isinstance(job, str)]
        for name in connectors:
            if name not in config.connectors:
                for job in _tasks_of(name, known):
                    self._topic.remove(self.clock, job)
                self._topic.remove(self.clock, name)
        for name in connectors:
            count = config.connectors.get(name, 0)
            for job in _tasks_of(name, known):
                if job[1] >= count:
                    self._topic.remove(self.clock, job)


def name_of(job: Job) -> str:
    """The connector it belongs to."""
    return job if isinstance(job, str) else job[0]


def _tasks_of(name: str, known: Iterable[Job]) -> list[tuple[str, int]]:
    return sorted(job for job in known if not isinstance(job, str) and job[0] == name)


def _state(target: str) -> str:
    return {STARTED: "RUNNING", PAUSED: "PAUSED", STOPPED: "STOPPED"}[target]
