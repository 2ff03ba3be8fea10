"""How many series a month makes: daily deploys with new pod addresses, five one-off groups for each that stays."""

from dataclasses import replace
from itertools import count

import pytest
from prometheus_client import disable_created_metrics

from rebalance_monitor.streaming.config.metrics import MetricsSection
from rebalance_monitor.streaming.core.model.results import ConnectShare, JobState, MemberResult, Standing, Subject
from rebalance_monitor.streaming.metrics.families import Families
from rebalance_monitor.streaming.metrics.group_series import GONE_FOR_S
from rebalance_monitor.streaming.metrics.incident_series import ZERO_FOR_S
from rebalance_monitor.streaming.metrics.limits import SeriesLimits
from rebalance_monitor.streaming.metrics.series import Series
from tests.profile import size
from tests.streaming.builders import cost, generation, incident, lag

GROUPS, CONNECT, ONE_OFF = size((600, 60, 3_000), (2_000, 200, 10_000))
WORKERS, DAYS = 5, 30
DAY_S = 86_400.0
HOUR_S = 3_600.0

NO_SAMPLE = -1.0


class World:
    """A month on an injected clock."""

    def __init__(self, max_groups: int = 2_000, **more: object) -> None:
        self.polled = False
        disable_created_metrics()  # type: ignore[no-untyped-call]
        section = MetricsSection(max_groups=max_groups, **more)  # type: ignore[arg-type]
        limits = SeriesLimits(
            ignored_groups=section.ignored_groups, max_groups=max_groups, max_tasks=10, worker=section.worker,
            lag=section.lag, lag_groups=section.lag_groups, max_lags=section.max_lags,
            team=lambda _, group: group.partition("-")[0],
        )  # fmt: skip
        self.now_s, self.families, self._offsets = 0.0, Families(), count()
        self.series = Series(self.families, "prometheus", lambda: self.now_s, limits)

    def rebalance(self, group: str, workers: tuple[str, ...] = (), members: int = 3) -> None:
        share = ConnectShare(("a",), (("a", 0),))
        own = tuple(
            MemberResult(
                member_id=f"m-{worker}", client_id="c", client_host="/1", instance_id=None, worker=worker,
                assigned=share, revoked=None, owned=None,
            )
            for worker in workers
        )  # fmt: skip
        self.series.observe(
            [
                generation(
                    next(self._offsets),
                    group=group,
                    protocol_type="connect" if workers else "consumer",
                    members=own or self.nobody[:members],
                    at_ms=int(self.now_s * 1000),
                ),
                self.standing(group, "Stable"),
            ]
        )
        if self.polled and not workers:
            self.series.observe([lag(group), cost(group)])

    nobody = tuple(
        MemberResult(
            member_id=f"m{n}", client_id="c", client_host="/1", instance_id=None, worker=None, assigned=None,
            revoked=None, owned=None,
        )
        for n in range(3)
    )  # fmt: skip

    def standing(self, group: str, state: str) -> Standing:
        return Standing(cluster="c", group=group, state=state, at_ms=int(self.now_s * 1000))

    def count(self) -> int:
        self.series.sweep(int(self.now_s * 1000))
        return sum(len(family.samples) for family in self.families.registry.collect())

    def value(self, name: str, **labels: str) -> float:
        """The sample's value; NO_SAMPLE where there is none."""
        self.series.sweep(int(self.now_s * 1000))
        found = self.families.registry.get_sample_value(name, {"cluster": "c", **labels})
        return NO_SAMPLE if found is None else found


def one_off(number: int) -> str:
    """Half by a name that everybody knows, half like an application that invents its group id."""
    return f"console-consumer-{number}" if number % 2 else f"3f2b{number:08x}-batch"


def test_a_month_of_deploys_and_one_off_groups(capsys: pytest.CaptureFixture[str]) -> None:
    world = World(GROUPS)
    world.polled = True
    connect = [f"connect-{n}" for n in range(CONNECT)]
    for n in range(GROUPS - CONNECT):
        world.rebalance(f"app-{n}")
    counts, peaks = [], []
    for day in range(DAYS):
        for group in connect:
            world.rebalance(group, tuple(f"10.{day}.{worker}.{len(group)}:8083" for worker in range(WORKERS)))
        for n in range(day % 5, GROUPS - CONNECT, 5):
            world.rebalance(f"app-{n}")
        for number in range(day * ONE_OFF // DAYS, (day + 1) * ONE_OFF // DAYS):
            group = one_off(number)
            world.rebalance(group, members=1)
            # Half of them are deleted at their end, the others stay empty until their offsets expire.
            world.series.observe([world.standing(group, "Empty" if number // 2 % 2 else "Dead")])
        if day % 6 == 0 or day == DAYS - 1:
            peaks.append(world.count())
        world.now_s += DAY_S
        if day % 6 == 0 or day == DAYS - 1:
            counts.append(world.count())
    with capsys.disabled():
        print(f"\n{GROUPS} groups, {DAYS} deploys, {ONE_OFF} one-off groups: {counts[-1]} series, {max(peaks)} at most")
    # A group: team, generation, members, time, three states, two counters (by grade and by cause); of Connect also
    # delay, unassigned, two spreads, its workers; of others lag (seven) and what rebalances held up (four).
    wanted = (GROUPS - CONNECT) * (9 + 11) + CONNECT * (13 + 2 * WORKERS)
    assert counts[-1] == counts[0]
    assert wanted <= counts[-1] <= wanted + 100
    assert max(peaks) <= wanted + CONNECT * 2 * WORKERS + 100
    assert world.value("rebalance_monitor_hidden_groups", reason="ignored") > ONE_OFF // 10
    assert world.value("rebalance_monitor_hidden_groups", reason="overflow") > ONE_OFF // 10
    assert world.value("rebalance_monitor_group_state", group="app-0", state="Stable") == 1
    # What the hidden groups did is still counted.
    assert world.value("rebalance_monitor_generations_total", group="", grade="match") > ONE_OFF // 2


def test_an_incident_takes_the_place_of_a_group_that_has_none() -> None:
    world = World(max_groups=2)
    world.rebalance("old")
    world.now_s += 1
    world.rebalance("new")
    world.rebalance("late")
    assert world.value("rebalance_monitor_group_members", group="late") == NO_SAMPLE
    world.series.observe([incident(group="late")])
    assert world.value("rebalance_monitor_group_members", group="late") == 3
    assert world.value("rebalance_monitor_group_members", group="old") == NO_SAMPLE
    world.series.observe([world.standing("new", "Empty"), incident(group="other", incident_id="i2")])
    assert world.value("rebalance_monitor_group_members", group="new") == NO_SAMPLE
    world.series.observe([incident(group="third", incident_id="i3")])
    world.count()
    shown = world.families.made["rebalance_monitor_incident"].collect()
    assert {sample.labels["group"] for metric in shown for sample in metric.samples} == {"late", "other", "third"}


def test_a_place_that_is_free_again_goes_to_who_waited() -> None:
    world = World(max_groups=1)
    world.rebalance("first")
    world.rebalance("second")
    world.series.observe([world.standing("first", "Dead")])
    assert world.value("rebalance_monitor_group_state", group="first", state="Dead") == 1
    world.now_s += GONE_FOR_S + 1
    assert world.value("rebalance_monitor_group_state", group="first", state="Dead") == NO_SAMPLE
    assert world.value("rebalance_monitor_group_members", group="second") == 3
    assert world.value("rebalance_monitor_hidden_groups", reason="overflow") == 0


def test_a_worker_that_left_shows_zero_for_an_hour() -> None:
    world = World()
    world.rebalance("g", ("w1:1", "w2:1"))
    world.rebalance("g", ("w1:1",))
    tasks = "rebalance_monitor_connect_worker_tasks"
    assert [world.value(tasks, group="g", worker=one) for one in ("w1:1", "w2:1")] == [1, 0]
    world.now_s += GONE_FOR_S
    assert world.value(tasks, group="g", worker="w2:1") == 0
    world.now_s += 1
    assert world.value(tasks, group="g", worker="w2:1") == NO_SAMPLE
    world.rebalance("g", ("w2:1",))
    assert world.value(tasks, group="g", worker="w2:1") == 1
    world.series.observe([world.standing("g", "Empty")])
    assert world.value(tasks, group="g", worker="w2:1") == 0
    assert world.value("rebalance_monitor_group_members", group="g") == 0


def test_workers_are_called_as_the_rules_say() -> None:
    rules = [{"match": r"(.+)-\w{5}(:\d+)", "replace": r"\1\2"}]
    world = World(worker_rewrite=rules)
    world.rebalance("g", ("connect-abcde:8083", "connect-fghij:8083", "other:8083"))
    tasks = "rebalance_monitor_connect_worker_tasks"
    assert world.value(tasks, group="g", worker="connect:8083") == 2
    assert world.value(tasks, group="g", worker="other:8083") == 1
    told = incident(group="g", subjects=(Subject("worker", "connect-abcde:8083"),))
    world.series.observe([told])
    labels = {"team": "", "connector": "", "rule": "duplicate_active", "severity": "critical", "path": "prometheus"}
    assert world.value("rebalance_monitor_incident", group="g", worker="connect:8083", **labels) == 1


def job(name: str, agreement: str, gone: bool = False) -> JobState:
    return JobState(
        cluster="c", group="g", job=Subject("task", name), incarnation=0, generation=1, assigned=(), expected=None,
        judged=True, state=None, running=None, running_generation=None, running_at_ms=None, since_ms=0,
        agreement=agreement, gone=gone,
    )  # fmt: skip


def test_only_tasks_that_wait_or_are_in_an_incident_have_series() -> None:
    world = World()
    of_a_task = "rebalance_monitor_connect_task"
    calm = [job(f"calm-{n}", "ok") for n in range(500)]
    world.series.observe([world.standing("g", "Stable"), *calm, job("my-sink-0", "unassigned")])
    assert world.value("rebalance_monitor_connect_task_agreement", group="g", agreement="ok") == 500
    assert world.value(of_a_task, group="g", connector="my-sink", task="0", reason="waiting") == 1
    world.series.observe([job("my-sink-0", "ok"), incident(group="g", subjects=(Subject("task", "calm-7"),))])
    assert world.value(of_a_task, group="g", connector="my-sink", task="0", reason="waiting") == NO_SAMPLE
    assert world.value(of_a_task, group="g", connector="calm", task="7", reason="incident") == 1
    world.series.observe([job(f"calm-{n}", "unassigned") for n in range(500)])
    assert world.value("rebalance_monitor_hidden_tasks") == 501 - 10
    assert world.value(of_a_task, group="g", connector="calm", task="7", reason="incident") == 1  # incidents first
    ended = incident("resolved", group="g", subjects=(Subject("task", "calm-7"),))
    world.series.observe([ended, *(job(f"calm-{n}", "gone", gone=True) for n in range(500))])
    assert world.value("rebalance_monitor_hidden_tasks") == 0
    assert world.value("rebalance_monitor_connect_task_agreement", group="g", agreement="unassigned") == 0


def test_incident_series_are_gone_half_an_hour_after_their_end() -> None:
    world = World()
    before = world.count()
    world.series.observe([incident(incident_id=f"i{n}", group=f"g{n}") for n in range(50)])
    world.series.observe([incident("resolved", f"i{n}", group=f"g{n}") for n in range(50)])
    world.count()  # a scrape shows them firing, the next one their end
    world.count()
    world.series.observe([world.standing(f"g{n}", "Dead") for n in range(50)])
    world.now_s += max(ZERO_FOR_S, GONE_FOR_S) + HOUR_S
    assert world.count() <= before + 10


def test_connectors_and_tasks_are_counted_by_state() -> None:
    world = World()
    metric = "rebalance_monitor_connect_task_states"
    held = replace(job("a-0", "ok"), assigned=("w:8083",), state="RUNNING", running="w:8083")
    failed = replace(held, state="FAILED", agreement="failed")
    world.series.observe([world.standing("g", "Stable"), held, replace(failed, job=Subject("task", "a-1"))])
    assert world.value(metric, group="g", state="running") == 1
    assert world.value(metric, group="g", state="failed") == 1
    world.series.observe([failed])
    assert world.value(metric, group="g", state="running") == 0
    assert world.value(metric, group="g", state="failed") == 2
    world.series.observe([replace(held, assigned=()), replace(failed, job=Subject("task", "a-1"), gone=True)])
    assert world.value(metric, group="g", state="lost") == 1
    assert world.value(metric, group="g", state="failed") == 0
