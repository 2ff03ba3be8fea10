"""Whether what the monitor has found is really so: by the truth of a simulated life, or by its records told right."""

from lab.attack.life import Life
from lab.attack.monitor import Found, Judged, Key
from lab.simulated.truth import Double, Truth
from lab.simulated_group.protocol import Job
from rebalance_monitor.streaming.core.model.results import Certainty

RAN_TWICE = frozenset({"CONNECT-K2"})
HELD_TWICE = frozenset({"CONNECT-I1", "CONNECT-I2"})
IDLE = frozenset({"CONNECT-K4", "CONNECT-K5"})
RUNS_UNHELD = "CONNECT-K3"
UNEXPLAINED = "CONNECT-I13"
IDLE_MS = 20_000
"""Whoever is said to be idle for a minute was so for at least this long."""
DOUBLE_MS = 150
"""An overlap that is shorter is over before anybody could be told of it."""


def false_alarms(life: Life, right: Judged, told: Judged) -> list[Found]:
    """Incidents above info that are neither found where the life is told right, nor true."""
    known = {one.key for one in right.loud()}
    return [one for one in told.loud() if one.key not in known and not really_so(life, one)]


def untrue(life: Life, told: Judged) -> list[Found]:
    """Incidents above info that the truth contradicts: what is said to be certain of running and idle jobs, and leaders
    that are said to be wrong. What is only likely may be false."""
    if life.truth is None:
        return []
    certain = [one for one in told.loud() if one.certainty is Certainty.CERTAIN and one.code in RAN_TWICE | IDLE]
    wrong = [one for one in told.loud() if one.code == UNEXPLAINED]
    return [one for one in (*certain, *wrong) if not really_so(life, one)]


def really_so(life: Life, found: Found) -> bool:
    """Whether the truth bears the incident out; False where it cannot say."""
    truth = life.truth
    if truth is None:
        return False
    jobs = [job for subject in found.subjects if (job := _job_of(subject)) is not None]
    if found.code in RAN_TWICE | HELD_TWICE | {RUNS_UNHELD}:
        return any(double.job in jobs for double in truth.held_twice())
    if found.code in IDLE:
        return bool(jobs) and all(_idle_ms(truth, job, life.end_ms) >= IDLE_MS for job in jobs)
    if found.code == UNEXPLAINED:
        return any(each.spoiled for each in truth.rounds)
    return False


def _job_of(subject: str) -> Job | None:
    kind, _, name = subject.partition(":")
    if kind == "connector":
        return name
    if kind == "task":
        connector, _, number = name.rpartition("-")
        return connector, int(number)
    return None


def _idle_ms(truth: Truth, job: Job, end_ms: int) -> int:
    """The longest time in which the job ran nowhere, between its first start and the end."""
    runs = sorted((one for one in truth.all_runs() if one.job == job), key=lambda one: one.start_ms)
    longest, reached = 0, runs[0].start_ms if runs else end_ms - IDLE_MS
    for run in runs:
        longest = max(longest, run.start_ms - reached)
        reached = max(reached, run.end_ms or end_ms)
    return max(longest, end_ms - reached)


def doubles_found(life: Life, told: Judged) -> dict[Double, Certainty | None]:
    """Each job that really ran twice: how sure the monitor is of it, None where it says nothing."""
    truth = life.truth
    if truth is None:
        return {}
    sure: dict[Job, Certainty] = {}
    for found in told.found.values():
        if found.code in RAN_TWICE | HELD_TWICE:
            for subject in found.subjects:
                job = _job_of(subject)
                if job is not None:
                    sure[job] = max(sure.get(job, found.certainty), found.certainty, key=_RANK.index)
    return {double: sure.get(double.job) for double in truth.duplicates(DOUBLE_MS)}


_RANK = (Certainty.POSSIBLE, Certainty.LIKELY, Certainty.CERTAIN)


def captured_doubles(right: Judged, told: Judged) -> dict[Key, Certainty | None]:
    """The certain duplicates of a capture that is told right: how sure the monitor is of each in this telling."""
    known = [one for one in right.loud() if one.code in RAN_TWICE | HELD_TWICE]
    return {one.key: told.found[one.key].certainty if one.key in told.found else None for one in known}
