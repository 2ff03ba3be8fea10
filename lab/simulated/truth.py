"""What really happened in a simulated cluster, in true time: nothing in here is seen by any reader of its records."""

from dataclasses import dataclass, field

from lab.simulated_protocol import Job


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
    _open: dict[tuple[Job, str], int] = field(default_factory=dict)

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

    def note(self, at_ms: float, what: str, process: str = "") -> None:
        """Something happened."""
        self.events.append(Happened(int(at_ms), what, process))

    def all_runs(self) -> list[Run]:
        """Also those that have not ended."""
        return [*self.runs, *(Run(job, process, at_ms, None) for (job, process), at_ms in self._open.items())]

    def duplicates(self, least_ms: int = 1) -> list[Double]:
        """Jobs that ran twice at the same time for at least so long."""
        by_job: dict[Job, list[Run]] = {}
        for run in self.all_runs():
            by_job.setdefault(run.job, []).append(run)
        found = []
        for job, runs in by_job.items():
            runs.sort(key=lambda one: one.start_ms)
            for at, first in enumerate(runs):
                for second in runs[at + 1 :]:
                    end_ms = min(first.end_ms or 1 << 62, second.end_ms or 1 << 62)
                    if second.process != first.process and end_ms - second.start_ms >= least_ms:
                        found.append(Double(job, (first.process, second.process), second.start_ms, end_ms))
        return found
