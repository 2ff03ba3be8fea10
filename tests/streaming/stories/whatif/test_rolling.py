"""Rolling restarts through mixed assignors and protocols: what a real upgrade moved, and Connect's order."""

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.group_sources import CapturedGroups, capture_of
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.whatif.change import CannotPredict, WrongChange
from rebalance_monitor.streaming.stories.whatif.connect_history import ConnectSetting
from rebalance_monitor.streaming.stories.whatif.connect_rolling import rolling_restart
from rebalance_monitor.streaming.stories.whatif.consumer import ClassicDeal, deals_of, fits, members_of
from rebalance_monitor.streaming.stories.whatif.consumer_migration import migrated, migration
from rebalance_monitor.streaming.stories.whatif.consumer_rolling import restarts, rolling_restarts
from rebalance_monitor.streaming.stories.whatif.consumer_targets import target_ways
from rebalance_monitor.streaming.stories.whatif.history import least_and_most
from rebalance_monitor.streaming.stories.whatif.rolling_told import restart_lines, restarts_object
from tests.streaming.stories.whatif.upgraded import moved_and_stopped

VECTORS = Path(__file__).parents[3] / "vectors"
CLASSIC, UPGRADE = "captures-groups/java-classic", "captures-upgrades/connect-4.3.1"
CONVERTED = "captures-groups/kip848-a"
COOPERATIVE = "cooperative-sticky"


@cache
def captured(capture: str) -> CapturedGroups:
    return capture_of(str(VECTORS / capture))


def until(capture: str, group: str, number: int) -> list[Published]:
    """The newest first, up to this generation."""
    generations = captured(capture).generations((Path(capture).name, group))
    return [one for one in generations if one["generation"] <= number]


def by_client(generation: Published) -> dict[str, Any]:
    return {one["client_id"]: one for one in generation["members"]}


def recorded(generations: dict[int, Published], first: int, last: int) -> tuple[int, int, int]:
    """Rebalances, what members gained, and what those that stayed stopped: all they had until their second restart,
    after which their client ids end with .2."""
    moved = stopped = 0
    for number in range(first, last + 1):
        had, has = (
            {name: _partitions(one) for name, one in by_client(generations[at]).items()} for at in (number - 1, number)
        )
        moved += sum(len(own - had.get(name, set())) for name, own in has.items())
        stopped += sum(
            len(had[name] - own if name.endswith(".2") else had[name]) for name, own in has.items() if name in had
        )
    return last - first + 1, moved, stopped


def _partitions(member: Published) -> set[tuple[str, int]]:
    return {(topic, number) for topic, number in member["assigned"]["partitions"]}


def test_each_step_of_a_real_upgrade_moved_what_is_computed() -> None:
    """From generation 1 on, of which one member had both assignors already: two steps of the first restart, and three
    of the second. The last member with range alone left in generation 4, from which on cooperative-sticky assigned."""
    generations = {one["generation"]: one for one in until(CLASSIC, "j-upgrade", 13)}
    ids = {
        number: {name: one["member_id"] for name, one in by_client(generations[number]).items()}
        for number in generations
    }
    first = [(ids[1]["j-upgrade-1.0"], ids[3]["j-upgrade-1.1"]), (ids[1]["j-upgrade-2.0"], ids[5]["j-upgrade-2.1"])]
    second = [
        (ids[1]["j-upgrade-0.1"], ids[7]["j-upgrade-0.2"]),
        (ids[3]["j-upgrade-1.1"], ids[9]["j-upgrade-1.2"]),
        (ids[5]["j-upgrade-2.1"], ids[12]["j-upgrade-2.2"]),
    ]
    members = members_of(generations[1])
    old = next(deal for deal in deals_of(generations[1]) if fits(deal, members, generations[1]))
    new = ClassicDeal(COOPERATIVE, ASSIGNORS[COOPERATIVE].era_of("4.3"), old.topics, eager=True)
    found = restarts(members, old, new, first, second)
    assert found is not None
    assert [[(one.rebalances, one.moved, one.stopped) for one in steps] for steps in found] == [
        [recorded(generations, 2, 3), recorded(generations, 4, 5)],
        [recorded(generations, 6, 7), recorded(generations, 8, 10), recorded(generations, 11, 13)],
    ]


def test_the_new_assignor_comes_with_the_last_member_and_then_stops_less() -> None:
    both, alone = rolling_restarts(until(CLASSIC, "j-upgrade", 1), COOPERATIVE)
    assert [one.then for one in both.steps] == ["range", "range", COOPERATIVE]
    assert [one.then for one in alone.steps] == [COOPERATIVE] * 3
    stopped = [least_and_most(one.courses, "stopped")[1] for one in (*both.steps, *alone.steps)]
    assert stopped[:4] == [15, 15, 15, 15], "everybody that stays gives up everything, twice"
    assert stopped[4] > stopped[5]


def gained(*generations: Published) -> int:
    return sum(len(change["gained"]) for one in generations for change in one["diff"].values())


def test_each_step_of_a_real_conversion_moved_what_is_computed() -> None:
    """1.0 is back as another one before the classic group rebalances. A third one joins. 2.0 is back as another one,
    with one target for both; then one that speaks the new protocol goes, and is back after the next target."""
    generations = captured(CONVERTED).generations(("kip848-a", "k-migrate"))
    classic, _, converted, third, both, left, back = sorted(
        generations, key=lambda one: (one["at_ms"], one["generation"])
    )[:7]
    assert [one["lifecycle"] for one in (classic, converted, back)] == ["classic", "consumer", "consumer"]
    (name_2,) = classic_ids = {*members_of(classic)} & {*members_of(converted)}
    (name_1,) = {*members_of(classic)} - classic_ids
    (gone,) = {*members_of(both)} - {*members_of(left)}
    old = next(deal for deal in deals_of(classic) if fits(deal, members_of(classic), classic))

    def moved(before: Published, name: str, *, together: bool, is_converted: bool = True) -> set[int]:
        found = set()
        for way in target_ways("uniform", "4.3"):
            new, order = way.deal(old.topics), [(name, "x")]
            some = migrated(members_of(before), old, new, order, together=together, converted=is_converted)
            assert some is not None
            found.add(some[0].moved)
        return found

    assert moved(classic, name_1, together=True, is_converted=False) == {gained(converted)}
    assert moved(third, name_2, together=True) == {gained(both)}
    assert moved(both, gone, together=False) == {gained(left, back)}
    (first, _) = migration([classic], "uniform").steps
    assert least_and_most(first.courses, "moved")[0] == gained(converted)


def test_classic_members_stop_everything_for_each_target_until_they_are_converted() -> None:
    steps = migration(until(CLASSIC, "j-upgrade", 1), "uniform", "4.3").steps
    assert [one.then for one in steps] == ["uniform"] * 3
    assert [least_and_most(one.courses, "rebalances") for one in steps] == [(1, 2)] * 3
    stopped = [least_and_most(one.courses, "stopped")[1] for one in steps]
    assert stopped == sorted(stopped, reverse=True)
    assert stopped[-1] < stopped[0]


def test_what_a_broker_does_not_convert_by_default_is_refused() -> None:
    with pytest.raises(WrongChange, match=r"Kafka before 4\.0 converts no group by default"):
        migration(until(CLASSIC, "j-upgrade", 1), "uniform", "3.9")
    with pytest.raises(CannotPredict, match="members are static"):
        migration(until(CLASSIC, "j-range", 50), "uniform")


@pytest.mark.parametrize(
    ("group", "number", "assignor", "why"),
    [
        ("j-range", 50, COOPERATIVE, "members are static"),
        ("j-upgrade", 1, "range", "the group has range already"),
        ("j-upgrade", 11, "range", "from cooperative-sticky back to an eager assignor"),
        ("j-upgrade", 13, "sticky", "from cooperative-sticky back to an eager assignor"),
    ],
)
def test_restarts_of_consumers_that_are_not_computed(group: str, number: int, assignor: str, why: str) -> None:
    with pytest.raises(CannotPredict, match=why):
        rolling_restarts(until(CLASSIC, group, number), assignor)


def test_connect_speaks_the_new_protocol_once_the_last_worker_leaves_that_has_the_old_one() -> None:
    generations = until("captures/eager-2.8.2", "eager-282", 22)
    restart = rolling_restart(generations, ConnectSetting(protocol="sessioned"))
    assert [one.then for one in restart.steps] == ["default"] * 4 + ["sessioned"]
    leader = next(one for one in generations[0]["members"] if one["member_id"] == generations[0]["leader"])
    assert restart.steps[-1].member == leader["worker"]
    held = sum(len(one["assigned"]["connectors"]) + len(one["assigned"]["tasks"]) for one in generations[0]["members"])
    before, last = restart.steps[0], restart.steps[-1]
    lost = len(leader["assigned"]["connectors"]) + len(leader["assigned"]["tasks"])
    assert least_and_most(before.courses, "stopped")[1] > held, "in the eager protocol two rebalances stop everything"
    assert held - lost - 3 <= least_and_most(last.courses, "stopped")[0] < held + lost, "then one does"


@pytest.mark.parametrize(
    ("protocol", "ends_of_steps", "delay_ms"),
    [("compatible", (5, 7, 9, 12), None), ("sessioned", (12, 16, 20, 23), 2_000)],
)
def test_each_step_of_a_real_migration_of_connect_moved_what_is_computed(
    protocol: str, ends_of_steps: tuple[int, ...], delay_ms: int | None
) -> None:
    """Before the second one no rebalance has shown the delay: it is said."""
    everything = until(UPGRADE, "migration", 23)
    generations = until(UPGRADE, "migration", ends_of_steps[0])
    restart = rolling_restart(generations, ConnectSetting(protocol=protocol, delay_ms=delay_ms))
    for step, (first, last) in zip(restart.steps, pairwise(ends_of_steps), strict=True):
        assert (last - first, *moved_and_stopped(everything, first, last)) in {
            (one.rebalances, one.moved, one.stopped) for one in step.courses
        }
        worker = next(one["worker"] for one in generations[0]["members"] if one["worker"] == step.member)
        (left,) = (one for one in everything if one["generation"] == first + 1)
        assert worker not in {one["worker"] for one in left["members"]}
        (back,) = (one for one in everything if one["generation"] == last)
        assert (len(back["members"]), back["protocol"]) == (3, step.then)


def test_a_delay_that_nothing_shows_is_presumed_and_said() -> None:
    generations = until(UPGRADE, "migration", 12)
    assert (
        "max.delay.ms is Kafka's default, 5 min: no known"
        in rolling_restart(generations, ConnectSetting(protocol="sessioned")).presumed
    )
    eager = rolling_restart(until(UPGRADE, "migration", 5), ConnectSetting(protocol="compatible"))
    assert "default" not in eager.presumed, "nobody waits"


def test_the_leaders_release_assigns_until_the_leader_restarts() -> None:
    """Before 3.4 workers are left uneven; so they are until the last step, whatever the others run."""
    generations = until("captures/compatible-2.8.2", "compat-282", 21)
    new, old = (rolling_restart(generations, ConnectSetting(release=release)) for release in ("4.3", "2.8"))
    assert new.steps[:-1] == old.steps[:-1]
    assert new.steps[-1] != old.steps[-1]


def test_a_lower_protocol_of_connect_comes_with_the_first_worker() -> None:
    generations = until("captures/sessioned-4.3.1", "connect-main", 29)
    restart = rolling_restart(generations, ConnectSetting(protocol="compatible"))
    assert [one.then for one in restart.steps] == ["compatible"] * 5


def test_where_workers_wait_no_restart_is_computed() -> None:
    with pytest.raises(CannotPredict, match="workers wait"):
        rolling_restart(until("captures/sessioned-4.3.1", "connect-main", 11), ConnectSetting(release="4.3"))


def test_restarts_are_told_with_what_each_step_moves() -> None:
    told = restarts_object(until(CLASSIC, "j-upgrade", 1), COOPERATIVE, ConnectSetting(release="4.3"), there=True)
    lines = list(restart_lines(told))
    assert lines[0] == "first rolling restart, with both assignors:"
    assert lines[3] == "  j-upgrade-2.0 on 127.0.0.1: 2 rebalances, moves 10, stops 15; then cooperative-sticky"
    gone = restarts_object([], COOPERATIVE, ConnectSetting(), there=False)
    assert list(restart_lines(gone)) == ["rolling restarts: cannot tell: nobody is in the group"]
