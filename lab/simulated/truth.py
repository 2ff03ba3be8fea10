"""What really happened in a simulated cluster, in true time: nothing in here is seen by any reader of its records."""

from dataclasses import dataclass, field

from lab.simulated_group.protocol import Job

FOREVER_MS = 1 << 62


@dataclass(frozen=True, slots=True)
class Run:
    """A job ran in a process from `start_ms` to `end_ms` (None: to the end)."""

    job: Job
    process: str
    start_ms: int
    end_ms: int | None


@dataclass(frozen=True, slots=True)
class Double:
    """Two processes ran one job at the same time."""

    job: Job
    processes: tuple[str, str]
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Round:
    """Why a generation came about. `recorded`: whether a record was written; `spoiled`: a leader's fault, by name."""

    generation: int
    leader: str
    state_ms: int
    reasons: tuple[str, ...]
    recorded: bool = False
    spoiled: str = ""
    offset: int = -1


@dataclass(frozen=True, slots=True)
class Happened:
    """What was done to the cluster, or what a process did by itself."""

    at_ms: int
    what: str
    process: str = ""


@dataclass(slots=True)
class Truth:
    """The history of one cluster."""

    runs: list[Run] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    events: list[Happened] = field(default_factory=list)
    instances: list[Run] = field(default_factory=list)
    """Like `runs`, but a paused job and one in a frozen process are there all the time; a failed one is not."""
    _open: dict[tuple[Job, str], int] = field(default_factory=dict)
    _present: dict[tuple[Job, str], int] = field(default_factory=dict)

    def appeared(self, job: Job, process: str, at_ms: float) -> None:
        """The process has the job from now on, whatever it does with it."""
        self._present.setdefault((job, process), int(at_ms))

    def vanished(self, job: Job, process: str, at_ms: float) -> None:
        """The process has stopped it, or it has failed."""
        start_ms = self._present.pop((job, process), None)
        if start_ms is not None:
            self.instances.append(Run(job, process, start_ms, int(at_ms)))
        self.ended(job, process, at_ms)

    def began(self, job: Job, process: str, at_ms: float) -> None:
        """The job runs from now on."""
        self._open.setdefault((job, process), int(at_ms))

    def ended(self, job: Job, process: str, at_ms: float) -> None:
        """The job runs no more."""
        start_ms = self._open.pop((job, process), None)
        if start_ms is not None:
            self.runs.append(Run(job, process, start_ms, int(at_ms)))

    def running(self, process: str) -> list[Job]:
        """What runs in this process now."""
        return [job for job, where in self._open if where == process]

    def stopped(self, process: str, at_ms: float) -> list[Job]:
        """Nothing of this process runs any more, or nothing for a while; what ran."""
        jobs = self.running(process)
        for job in jobs:
            self.ended(job, process, at_ms)
        return jobs

    def died(self, process: str, at_ms: float) -> None:
        """The process is gone with all that it had."""
        for job in [job for job, where in self._present if where == process]:
            self.vanished(job, process, at_ms)

    def note(self, at_ms: float, what: str, process: str = "") -> None:
        """Something happened."""
        self.events.append(Happened(int(at_ms), what, process))

    def all_runs(self) -> list[Run]:
        """Also those that have not ended."""
        return [*self.runs, *(Run(job, process, at_ms, None) for (job, process), at_ms in self._open.items())]

    def all_instances(self) -> list[Run]:
        """Also those that have not ended."""
        return [*self.instances, *(Run(job, process, at_ms, None) for (job, process), at_ms in self._present.items())]

    def duplicates(self, least_ms: int = 1) -> list[Double]:
        """Jobs that ran twice at the same time for at least so long."""
        return _overlaps(self.all_runs(), least_ms)

    def held_twice(self, least_ms: int = 1) -> list[Double]:
        """Jobs that two processes had at the same time, be they paused or frozen."""
        return _overlaps(self.all_instances(), least_ms)


def _overlaps(runs: list[Run], least_ms: int) -> list[Double]:
    by_job: dict[Job, list[Run]] = {}
    for run in runs:
        by_job.setdefault(run.job, []).append(run)
    found = []
    for job, of_job in by_job.items():
        of_job.sort(key=lambda one: one.start_ms)
        for at, first in enumerate(of_job):
            for second in of_job[at + 1 :]:
                end_ms = min(first.end_ms or FOREVER_MS, second.end_ms or FOREVER_MS)
                if second.process != first.process and end_ms - second.start_ms >= least_ms:
                    found.append(Double(job, (first.process, second.process), second.start_ms, end_ms))
    return found
