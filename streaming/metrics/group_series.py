"""Which groups have series of their own, and what these show.

Everything known of a group is kept, so that it can be shown the moment a place is free. Rank decides who has a place:

    3 an incident that people are told of   2 Stable, Assigning, Reconciling, NotReady   1 Empty   0 Dead

A group keeps its place until one of higher rank needs it (the longest silent one of the lowest rank goes first), so a
flood of one-off groups drives nobody out. A dead group's series go an hour after its end, like those of a worker that
left: long enough for every scraper to see the zero.
"""

from collections.abc import Callable, Iterable, Mapping

from rebalance_monitor.streaming.core import connect_metrics, metrics, streams_metrics
from rebalance_monitor.streaming.core.connect.statuses.facts import word_of
from rebalance_monitor.streaming.core.metric import Metric
from rebalance_monitor.streaming.core.model.results import JobState, Standing
from rebalance_monitor.streaming.core.model.subjects import Subject
from rebalance_monitor.streaming.core.streams.words import NO_TASKS, TaskCounts
from rebalance_monitor.streaming.store.loads import Load
from rebalance_monitor.streaming.store.stored import LastGeneration
from .families import Families, GroupLabels
from .known_group import STABLE, KnownGroup, key_of
from .limits import SeriesLimits

GONE_FOR_S = 3_600.0
RANKS = 4
HIDDEN = ""  # the group under which the counters of all hidden groups run
WAITING = "unassigned"


class Groups:
    """Every known group; publishes those that have a place. Not thread-safe."""

    def __init__(self, families: Families, limits: SeriesLimits, clock_s: Callable[[], float]) -> None:
        self._families, self._limits, self._clock_s = families, limits, clock_s
        self._known: dict[GroupLabels, KnownGroup] = {}
        self._shown: dict[GroupLabels, int] = {}  # with their rank
        self._by_rank: list[set[GroupLabels]] = [set() for _ in range(RANKS)]
        self._clusters: set[str] = set()

    def label(self, cluster: str, group: str) -> str:
        """The group's name where it has series of its own, else the one under which all hidden groups count."""
        key = key_of(cluster, group)
        self._of(key)
        return key[1] if key in self._shown else HIDDEN

    def shows(self, key: GroupLabels) -> bool:
        """Whether the group has series of its own."""
        return key in self._shown

    def latest(
        self,
        generation: LastGeneration,
        loads: Mapping[str, Load] | None = None,
        tasks: TaskCounts | None = None,
    ) -> None:
        """A generation; one older than the published one changes nothing. `loads`: of Connect; `tasks`: of Streams."""
        key = key_of(generation.cluster, generation.group)
        known = self._of(key)
        newer = known.is_newer(generation)
        if not newer and known.last is not None and known.last[:2] != generation[:2]:
            return
        known.last, known.at_ms = generation, max(known.at_ms, generation.at_ms)
        if newer and generation.members:
            # Its own record shows members; what the group was before does not count any more.
            known.state, known.dead_since_s = STABLE, None
        known.counts = tasks
        if loads is not None:
            self._loads(key, known, {} if known.deserted else loads)
        self._place(key)
        if key in self._shown:
            self._show_generation(key, known)
            self._show_state(key, known)

    def knows(self, key: GroupLabels) -> bool:
        return key in self._known

    def stands(self, standing: Standing) -> None:
        """What the group's latest record shows."""
        key = key_of(standing.cluster, standing.group)
        known = self._of(key)
        known.stands(standing.state)
        known.at_ms = max(known.at_ms, standing.at_ms)
        known.dead_since_s = self._clock_s() if standing.state == "Dead" else None
        if known.deserted:
            self._loads(key, known, {})
        self._place(key)
        if key in self._shown:
            self._show_state(key, known)

    def concerned(self, key: GroupLabels, more: int) -> None:
        """So many more (or fewer) incidents are told of this group."""
        known = self._of(key)
        known.incidents = max(0, known.incidents + more)
        self._place(key)

    def job(self, task_state: JobState) -> None:
        """A connector or task as it stands."""
        key = key_of(task_state.cluster, task_state.group)
        word = word_of(task_state.assigned, task_state.state, task_state.running)
        self.agreement(key, task_state.job, *((None, None) if task_state.gone else (task_state.agreement, word)))

    def agreement(self, key: GroupLabels, job: Subject, agreement: str | None, word: str | None) -> None:
        """The same, in short: agreement and state; None: nobody knows the job any more."""
        known, shown = self._of(key), key in self._shown
        for metric, now, of_jobs, counts in (
            (connect_metrics.TASK_STATES, word, known.words, known.states),
            (connect_metrics.TASK_AGREEMENT, agreement, known.jobs, known.agreements),
        ):
            before = of_jobs.pop(job, None)
            if now is not None:
                of_jobs[job] = now
            for one, more in ((before, -1), (now, 1)):
                if one is not None:
                    counts[one] += more
                    if shown:
                        self._families.gauge(metric, *key, one).set(counts[one])
        if shown:
            self._show_now(key, known)

    def waiting(self) -> Iterable[tuple[GroupLabels, Subject]]:
        for key in self._shown:
            known = self._known[key]
            if known.agreements[WAITING]:
                yield from ((key, job) for job, agreement in known.jobs.items() if agreement == WAITING)

    def sweep(self) -> None:
        """What is over long enough goes; free places are given away; hidden groups are counted."""
        before_s = self._clock_s() - GONE_FOR_S
        for key in [key for key, known in self._known.items() if known.dead_before(before_s)]:
            self._hide(key)
            del self._known[key]
        for key in self._shown:
            known = self._known[key]
            for worker in [worker for worker, since_s in known.left.items() if since_s < before_s]:
                del known.left[worker]
                for metric in (connect_metrics.WORKER_CONNECTORS, connect_metrics.WORKER_TASKS):
                    self._families.remove(metric, *key, worker)
        if len(self._shown) < self._limits.max_groups:
            self._fill()
        self._count_hidden()

    def _fill(self) -> None:
        hidden = [key for key, known in self._known.items() if key not in self._shown and not known.ignored]
        hidden.sort(key=lambda key: (-self._known[key].rank, -self._known[key].at_ms, key))
        for key in hidden[: self._limits.max_groups - len(self._shown)]:
            self._show(key)

    def _count_hidden(self) -> None:
        counts = {(cluster, reason): 0 for cluster in self._clusters for reason in ("ignored", "overflow")}
        for key, known in self._known.items():
            if key not in self._shown:
                counts[key[0], "ignored" if known.ignored else "overflow"] += 1
        for (cluster, reason), count in counts.items():
            self._families.gauge(metrics.HIDDEN_GROUPS, cluster, reason).set(count)

    def _of(self, key: GroupLabels) -> KnownGroup:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = KnownGroup(self._limits.ignores(key[1]))
            self._clusters.add(key[0])
            self._place(key)
        return known

    def _place(self, key: GroupLabels) -> None:
        known = self._known[key]
        if key in self._shown:
            self._by_rank[self._shown[key]].discard(key)
            self._by_rank[known.rank].add(key)
            self._shown[key] = known.rank
            return
        if known.ignored:
            return
        if len(self._shown) >= self._limits.max_groups:
            lower = next((some for some in self._by_rank[: known.rank] if some), None)
            if lower is None:
                return
            self._hide(min(lower, key=lambda one: (self._known[one].at_ms, one)))
        self._show(key)

    def _hide(self, key: GroupLabels) -> None:
        rank = self._shown.pop(key, None)
        if rank is not None:
            self._by_rank[rank].discard(key)
        self._families.forget(key)
        known = self._known[key]
        known.left.clear()
        known.tasks_shown = False

    def _show(self, key: GroupLabels) -> None:
        known = self._known[key]
        self._shown[key] = known.rank
        self._by_rank[known.rank].add(key)
        self._families.gauge(metrics.GROUP_INFO, *key, self._limits.team(*key)).set(1)
        if known.last is not None:
            self._show_generation(key, known)
        self._show_state(key, known)
        for worker, load in known.workers.items():
            self._show_load(key, worker, load)
        if known.workers:
            self._show_spread(key, known)
        for agreement, count in known.agreements.items():
            self._families.gauge(connect_metrics.TASK_AGREEMENT, *key, agreement).set(count)
        for word, count in known.states.items():
            self._families.gauge(connect_metrics.TASK_STATES, *key, word).set(count)

    def _show_generation(self, key: GroupLabels, known: KnownGroup) -> None:
        last = known.last
        assert last is not None
        self._families.gauge(metrics.GROUP_GENERATION, *key).set(last.generation)
        self._families.gauge(metrics.GROUP_LAST_GENERATION, *key).set(last.at_ms / 1000)
        self._show_now(key, known)

    def _show_state(self, key: GroupLabels, known: KnownGroup) -> None:
        if known.state is not None:
            for state in known.possible_states:
                self._families.gauge(metrics.GROUP_STATE, *key, state).set(int(state == known.state))
            self._show_now(key, known)

    def _show_now(self, key: GroupLabels, known: KnownGroup) -> None:
        """What the latest generation says of now, or that nobody is there any more."""
        if known.last is None:
            return
        self._families.gauge(metrics.GROUP_MEMBERS, *key).set(known.members)
        if known.last.connect:
            self._families.gauge(connect_metrics.DELAY_END, *key).set(known.delay_end_ms / 1000)
            if known.unassigned is not None:
                self._families.gauge(connect_metrics.UNASSIGNED_TASKS, *key).set(known.unassigned)
        if known.tasks is not None or known.tasks_shown:
            show_tasks(self._families, key, known.tasks)
            known.tasks_shown = known.tasks is not None

    def _show_load(self, key: GroupLabels, worker: str, load: Load) -> None:
        self._families.gauge(connect_metrics.WORKER_CONNECTORS, *key, worker).set(load[0])
        self._families.gauge(connect_metrics.WORKER_TASKS, *key, worker).set(load[1])

    def _loads(self, key: GroupLabels, known: KnownGroup, loads: Mapping[str, Load]) -> None:
        called: dict[str, Load] = {}
        for worker, (connectors, tasks) in loads.items():
            label = self._limits.worker(worker)
            before = called.get(label, (0, 0))
            called[label] = (before[0] + connectors, before[1] + tasks)
        shown = key in self._shown
        for worker in known.workers.keys() - called.keys():
            if shown:
                known.left[worker] = self._clock_s()
                self._show_load(key, worker, (0, 0))
        for worker, load in called.items():
            known.left.pop(worker, None)
            if shown:
                self._show_load(key, worker, load)
        known.workers = called
        if shown:
            self._show_spread(key, known)

    def _show_spread(self, key: GroupLabels, known: KnownGroup) -> None:
        for at, kind in enumerate(("connectors", "tasks")):
            held = [load[at] for load in known.workers.values()]
            spread = max(held, default=0) - min(held, default=0)
            self._families.gauge(connect_metrics.SPREAD, *key, kind).set(spread)


def show_tasks(families: Families, key: GroupLabels, counts: TaskCounts | None) -> None:
    """Publishes these numbers; what is not known has no series. None: the group has shown no Streams tasks."""
    for role in NO_TASKS.roles:
        _set(families, streams_metrics.TASKS, (*key, role), None if counts is None else counts.roles.get(role))
    for kind in NO_TASKS.spread:
        _set(families, streams_metrics.SPREAD, (*key, kind), None if counts is None else counts.spread[kind])
    for metric, value in (
        (streams_metrics.MISSING_STANDBYS, None if counts is None else counts.missing_standbys),
        (streams_metrics.MOVES_LEFT, None if counts is None else counts.moves_left),
        (streams_metrics.PROBING_REBALANCES, None if counts is None else counts.probing_rebalances),
        (streams_metrics.NEXT_PROBING, None if counts is None else counts.next_probing_ms / 1000),
    ):
        _set(families, metric, key, value)


def _set(families: Families, metric: Metric, labels: tuple[str, ...], value: float | None) -> None:
    if value is None:
        families.remove(metric, *labels)
    else:
        families.gauge(metric, *labels).set(value)
