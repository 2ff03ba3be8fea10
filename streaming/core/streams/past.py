"""What is remembered of the generations of a Streams group so far, for laws and views that look across records."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil

from rebalance_monitor.streaming.core.model.results import Source
from rebalance_monitor.streaming.core.streams.facts import Facts

MOST_TURNS = 4
"""Places of a task that show it going back and forth: a, b, a, b."""


@dataclass(frozen=True, slots=True)
class Won:
    """A process got a task in the generation of this record, and reported this offset sum of it."""

    process: str
    total: int
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Probing:
    """Generations with a probing deadline that followed each other with the same members. `stuck`: how many of them
    have passed since the number of tasks that are not at their target (`least`) last fell. `sums`: what the copies
    reported in the last of them, by `task process`; `source`: the record of the first."""

    rounds: int = 0
    stuck: int = 0
    least: int | None = None
    sums: Mapping[str, int] = field(default_factory=dict)
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """After the last record. `settled`: nothing changed hands, and no rebalance was due. `processes`: each thread's
    process. `runs`: where each task ran; `paths`: the places of each task with state since members last changed.
    `won`: tasks that a process got because of its state."""

    settled: bool = False
    leader: str | None = None
    processes: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    won: Mapping[str, Won] = field(default_factory=dict)
    probing: Probing = field(default_factory=Probing)


def after(past: Past, facts: Facts, source: Source) -> Past:
    """With this record."""
    processes = {thread.name: str(thread.process_id) for thread in facts.one.threads}
    same = processes == past.processes
    runs = {str(task): str(process) for task, process in facts.runs.items()}
    return Past(
        settled=facts.stable,
        leader=facts.one.leader,
        processes=processes,
        runs=runs,
        paths=_paths(past.paths if same else {}, facts),
        won=_won(past, facts, source),
        probing=_probing(past.probing if same else Probing(), facts, source),
    )


def _paths(before: Mapping[str, tuple[str, ...]], facts: Facts) -> dict[str, tuple[str, ...]]:
    paths = dict(before)
    for task, process in facts.runs.items():
        known = paths.get(str(task), ())
        if facts.with_state(task) and known[-1:] != (str(process),):
            paths[str(task)] = (*known, str(process))[-MOST_TURNS:]
    return paths


def _won(past: Past, facts: Facts, source: Source) -> dict[str, Won]:
    """Tasks that changed hands in favour of a process that reported some state; those of before until the process says
    that it runs the task, or reports anything of it."""
    won = {}
    for task, process in facts.runs.items():
        name, sums = str(task), facts.sums.get(task, {})
        total = sums.get(process)
        known = past.won.get(name)
        if total is not None and total > 0 and name in past.runs and past.runs[name] != str(process):
            won[name] = Won(str(process), total, source)
        elif known is not None and known.process == str(process) and total in (None, 0):
            won[name] = known
    return won


def _probing(before: Probing, facts: Facts, source: Source) -> Probing:
    if not facts.times:
        return Probing()
    if not any(time > 0 for time in facts.times):
        return before
    if facts.misplaced is None:
        return before
    left = len(facts.misplaced)
    nearer = before.least is None or left < before.least
    return replace(
        before,
        rounds=before.rounds + 1,
        stuck=0 if nearer else before.stuck + 1,
        least=left if nearer else before.least,
        sums=copy_sums(facts),
        source=before.source or source,
    )


def copy_sums(facts: Facts) -> dict[str, int]:
    """What the holders of copies report of them."""
    return {
        f"{task} {process}": facts.sums[task][process]
        for process, tasks in facts.standby.items()
        for task in tasks
        if facts.sums.get(task, {}).get(process, -1) >= 0
    }


def bound_of(facts: Facts) -> int | None:
    """How many probing rebalances lead to the target at most, if every copy catches up in the meantime (streams.md
    4.7); None where the configuration is not known."""
    found = facts.judged.hypothesis
    if found is None:
        return None
    tasks = sum(len(part.tasks()) for part in facts.parts() if part.key in found.stateful)
    configs = found.configs
    return ceil(tasks * (1 + configs.num_standby_replicas) / max(configs.max_warmup_replicas, 1)) + 2
