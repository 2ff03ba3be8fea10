"""What a group's series say is true of now: on real records, once nobody is left, and after a restart."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import OtherGroup, Tick
from rebalance_monitor.streaming.core.model.results import ConnectShare, Generation, Result, Standing, Verdict
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.store.loads import loads_of
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit, generation, incident, member, pending
from tests.streaming.metrics.test_cardinality import NO_SAMPLE, World, job
from tests.streaming.store import test_capture as capture

TASKS = "rebalance_monitor_connect_worker_tasks"
CONNECTORS = "rebalance_monitor_connect_worker_connectors"
MEMBERS = "rebalance_monitor_group_members"
UNASSIGNED = "rebalance_monitor_connect_unassigned_tasks"
DELAY_END = "rebalance_monitor_connect_delay_end_timestamp_seconds"
STATE = "rebalance_monitor_group_state"


def folded() -> Iterator[Result]:
    """A real Connect cluster's whole life, to its last worker's leave."""
    settings, records = capture.settings(), capture.records()
    rows = [row for row in (decode(one, settings) for one in records) if row and not isinstance(row.body, OtherGroup)]
    tick = Tick(max(one.timestamp_ms for one in records))
    for group, own in route(rows, settings).items():
        yield from fold_group(settings, group, None, own, tick, end_of_input=True).results


def held(world: World, group: str) -> float:
    samples = [
        one for name in (TASKS, CONNECTORS) for family in world.families.made[name].collect() for one in family.samples
    ]
    return float(sum(one.value for one in samples if one.labels["group"] == group))


def test_workers_hold_what_the_round_before_left_them() -> None:
    """Incremental rounds send only what changes: a round without change takes nothing away."""
    world, checked, changes = World(), 0, 0
    for result in folded():
        world.series.observe([result])
        if not isinstance(result, Generation) or result.verdict.pending_until_ms is not None:
            continue
        jobs = sum(
            len(set((*one.owned.connectors, *one.owned.tasks)) - set((*one.revoked.connectors, *one.revoked.tasks)))
            for one in result.members
            if isinstance(one.owned, ConnectShare) and isinstance(one.revoked, ConnectShare)
        )
        given = sum(
            len((*one.assigned.connectors, *one.assigned.tasks))
            for one in result.members
            if isinstance(one.assigned, ConnectShare)
        )
        assert held(world, result.group) == jobs + given
        checked, changes = checked + 1, changes + (given == 0 and jobs > 0)
    assert checked > 20
    assert changes > 0


def test_nobody_left_means_nobody_runs_anything() -> None:
    world = World()
    for result in folded():
        world.series.observe([result])
    group = {"group": "connect-main"}
    assert world.value(STATE, **group, state="Empty") == 1
    assert (world.value(MEMBERS, **group), held(world, "connect-main")) == (0, 0)
    waiting = world.value("rebalance_monitor_connect_task_agreement", **group, agreement="unassigned")
    assert waiting == 9
    assert world.value(UNASSIGNED, **group) == waiting
    assert world.value(DELAY_END, **group) == 0


def test_a_verdict_that_comes_after_the_last_leave_brings_nobody_back() -> None:
    world = World()
    empty = Standing(cluster="c", group="connect-1", state="Empty", at_ms=2_000)
    world.series.observe([pending(delay_ms=5_000), empty, generation(delay_ms=5_000)])
    group = {"group": "connect-1"}
    assert (world.value(MEMBERS, **group), world.value(DELAY_END, **group), held(world, "connect-1")) == (0, 0, 0)
    world.series.observe([job("a-0", "unassigned"), replace(job("a-0", "unassigned"), group="connect-1")])
    assert world.value(UNASSIGNED, **group) == 1
    world.series.observe([pending(9, generation=8)])
    assert (world.value(MEMBERS, **group), world.value(STATE, **group, state="Stable")) == (2, 1)


def test_a_pending_verdict_says_nothing_of_who_waits() -> None:
    world, group = World(), {"group": "connect-1"}
    world.series.observe([pending()])
    assert world.value(UNASSIGNED, **group) == NO_SAMPLE
    world.series.observe([generation(unassigned=("a-1", "a-2"))])
    world.series.observe([pending(9, generation=8)])
    assert world.value(UNASSIGNED, **group) == 2


def test_an_eager_round_gives_everything_anew() -> None:
    first = replace(member(1), owned=None, assigned=ConnectShare(("a",), (("a", 0), ("a", 1))))
    assert loads_of(generation(members=(first,))) == {"w1:8083": (1, 2)}
    blind = replace(member(2), assigned=None)
    assert loads_of(generation(members=(blind,))) == {}


@pytest.mark.postgres
def test_a_restart_publishes_the_same_loads(store: PostgresStore) -> None:
    latest = [one for one in folded() if isinstance(one, Generation)][-1]
    store.commit(commit(store.claim(), 0, 10, latest))
    assert store.latest_loads() == {("c", latest.group): loads_of(latest)}
    assert sum(sum(load) for load in loads_of(latest).values()) == 9
    verdict = Verdict(grade=latest.verdict.grade, reason=Reason(ReasonKind.PENDING, "pending: x"), pending_until_ms=1)
    again = replace(latest, verdict=verdict, source=replace(latest.source, offset=10_000))
    store.commit(commit(store.claim(), 10, 20, again))
    assert [one.unassigned for one in store.latest_generations()] == [None]


def test_a_group_with_series_says_whose_it_is() -> None:
    world = World(max_groups=1)

    def owners() -> dict[str, str]:
        (family,) = world.families.made["rebalance_monitor_group_info"].collect()
        samples = family.samples
        return {one.labels["group"]: one.labels["team"] for one in samples}

    world.rebalance("orders-sinks")
    assert owners() == {"orders-sinks": "orders"}
    world.series.observe([incident(group="billing-sinks")])
    assert owners() == {"billing-sinks": "billing"}, "it goes with the group's other series"
