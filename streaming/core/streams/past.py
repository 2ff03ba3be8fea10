"""What is remembered of the generations of a Streams group so far, for laws and views that look across records."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil

from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.model.results import Source
from .deadlines import ToldDeadline, with_told_deadline
from .facts import Facts
from .topology import is_left

MOST_TURNS = 4
"""Places of a task that show it going back and forth: a, b, a, b."""
MOST_SUMS = 6
"""Offset sums of a copy that are kept, those of the last rounds."""
MEASURED = 3
"""Probing rebalances over which rates are measured at least."""
LEAST_GAIN = 0.02
"""A copy at a steady distance seems to gain so much now and then. One that truly gains less needs fifty times as long
to catch up as its lag took to be written."""


@dataclass(frozen=True, slots=True)
class Won:
    """A process got a task in the generation of this record, and reported this offset sum of it."""

    process: str
    total: int
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A copy in several records, and its changelogs in the samples before these: offset sums and end offsets of the
    first and the last, with their times. The times of records and of samples are of different clocks. `records`: how
    many."""

    first_ms: int
    first_sum: int
    first_sample_ms: int
    first_end: int
    last_ms: int
    last_sum: int
    last_sample_ms: int
    last_end: int
    records: int = 1

    def after(self, later: "Pace") -> "Pace":
        return replace(
            self,
            last_ms=later.last_ms,
            last_sum=later.last_sum,
            last_sample_ms=later.last_sample_ms,
            last_end=later.last_end,
            records=self.records + 1,
        )

    @property
    def known(self) -> bool:
        return self.records > MEASURED and self.last_ms > self.first_ms and self.last_sample_ms > self.first_sample_ms

    @property
    def restored_per_s(self) -> float:
        """Records that the copy restores in a second."""
        return 1000 * (self.last_sum - self.first_sum) / (self.last_ms - self.first_ms)

    @property
    def written_per_s(self) -> float:
        """Records that are written to its changelogs in a second."""
        return 1000 * (self.last_end - self.first_end) / (self.last_sample_ms - self.first_sample_ms)

    @property
    def behind(self) -> int:
        """Records that the copy lacked at the last sample."""
        return max(self.last_end - self.last_sum, 0)

    @property
    def steady(self) -> bool:
        """Whether the copy keeps its distance: it restores as fast as its changelogs are written."""
        return abs(self.restored_per_s - self.written_per_s) <= LEAST_GAIN * self.written_per_s

    @property
    def left_ms(self) -> int | None:
        """How long the copy still needs, if both go on so; None where it does not come nearer."""
        gained = self.restored_per_s - self.written_per_s
        if gained <= LEAST_GAIN * self.written_per_s:
            return None
        return round(1000 * self.behind / gained)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probing:
    """Generations with a probing deadline that followed each other with the same members. `stuck`: how many of them
    have passed since the number of tasks that are not at their target (`least`) last fell, and `paces` how copies
    restored meanwhile, where brokers say how fast their changelogs are written. `sums`: what the copies reported in the
    last of them, by `task process`; `trails`: in the last of them since then. `late`: how many came long after the
    `deadline_ms` that the one before had set; `source`: the record of the first."""

    rounds: int = 0
    stuck: int = 0
    least: int | None = None
    sums: Mapping[str, int] = field(default_factory=dict)
    paces: Mapping[str, Pace] = field(default_factory=dict)
    source: Source | None = None
    trails: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    deadline_ms: int | None = None
    late: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """After the last record. `settled`: nothing changed hands, and no rebalance was due. `processes`: each thread's
    process. `runs`: where each task ran; `paths`: the places of each task with state since members last changed.
    `won`: tasks that a process got because of its state. `deadlines`: what those of each leader tell of its clock."""

    settled: bool = False
    leader: str | None = None
    processes: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    won: Mapping[str, Won] = field(default_factory=dict)
    deadlines: Mapping[str, ToldDeadline] = field(default_factory=dict)
    probing: Probing = field(default_factory=Probing)


def after(past: Past, facts: Facts, source: Source) -> Past:
    processes = {thread.name: str(thread.process_id) for thread in facts.record.threads}
    same = processes == past.processes
    surely_wrong = facts.deadline is not None and facts.deadline.sure
    runs = {str(task): str(process) for task, process in facts.runs.items()}
    return Past(
        settled=facts.stable,
        leader=facts.record.leader,
        processes=processes,
        runs=runs,
        paths=_paths(past.paths if same else {}, facts),
        won=_won(past, facts, source),
        deadlines=past.deadlines
        if surely_wrong
        else with_told_deadline(past.deadlines, facts.record, facts.joined_ms, facts.at_ms),
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
        left = is_left(facts.left, task, process)
        if total is not None and total > 0 and not left and name in past.runs and past.runs[name] != str(process):
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
    sums, trails = copy_sums(facts), {} if nearer else before.trails
    return replace(
        before,
        rounds=before.rounds + 1,
        stuck=0 if nearer else before.stuck + 1,
        least=left if nearer else before.least,
        sums=sums,
        trails={copy: (*trails.get(copy, ()), total)[-MOST_SUMS:] for copy, total in sums.items()},
        deadline_ms=min(time for time in facts.times if time > 0),
        late=before.late + _late(before, facts),
        paces=_paces({} if nearer else before.paces, facts),
        source=before.source or source,
    )


def _late(before: Probing, facts: Facts) -> bool:
    """Whether this rebalance came later than the time that was set, and than members may take to join again."""
    may_take_ms = max(thread.row.rebalance_timeout_ms for thread in facts.record.threads)
    return before.deadline_ms is not None and facts.at_ms > before.deadline_ms + may_take_ms + SKEW_MS


def _paces(before: Mapping[str, Pace], facts: Facts) -> dict[str, Pace]:
    """A copy that reports less than before begins anew."""
    paces = {}
    for copy, total, end in _ends(facts):
        sampled_ms = 0 if facts.ends is None else facts.ends.answered_ms
        now = Pace(
            first_ms=facts.at_ms,
            first_sum=total,
            first_sample_ms=sampled_ms,
            first_end=end,
            last_ms=facts.at_ms,
            last_sum=total,
            last_sample_ms=sampled_ms,
            last_end=end,
        )
        known = before.get(copy)
        paces[copy] = now if known is None or known.last_sum > total or known.last_end > end else known.after(now)
    return paces


def _ends(facts: Facts) -> Iterator[tuple[str, int, int]]:
    """The copies whose changelogs' end is known: name, offset sum, end."""
    for task, process in _reported(facts):
        end = facts.changelog_end(task)
        if end is not None:
            yield _name(task, process), facts.sums[task][process], end


def _reported(facts: Facts) -> list[tuple[TaskId, ProcessId]]:
    """Copies whose holders report an offset sum: the warm-ups, where they are known from other copies. A standby that
    has caught up restores as fast as its changelog is written, and holds nothing up."""
    copies = [(task, process) for process, tasks in facts.standby.items() for task in tasks]
    warm = set(facts.warm_ups)
    return [
        (task, process)
        for task, process in copies
        if facts.sums.get(task, {}).get(process, -1) >= 0 and (not warm or (task, process) in warm)
    ]


def _name(task: TaskId, process: ProcessId) -> str:
    return f"{task} {process}"


def copy_sums(facts: Facts) -> dict[str, int]:
    """What the holders of warm-ups report of them; of all copies, where nobody can tell which are warm-ups."""
    return {_name(task, process): facts.sums[task][process] for task, process in _reported(facts)}


def bound_of(facts: Facts) -> int | None:
    """How many probing rebalances lead to the target at most, if every copy catches up in the meantime (streams.md
    4.7); None where the configuration is not known."""
    found = facts.judged.hypothesis
    if found is None:
        return None
    tasks = sum(len(part.tasks()) for part in facts.record.seen if part.key in found.stateful)
    configs = found.configs
    return ceil(tasks * (1 + configs.num_standby_replicas) / max(configs.max_warmup_replicas, 1)) + 2
