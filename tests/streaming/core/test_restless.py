"""Who comes back tells a crash loop from deployments and autoscaling; reasons tell a storm from all of them."""

import pytest

from rebalance_monitor.streaming.core.fold.returns import MOST_NAMES
from rebalance_monitor.streaming.core.fold.state import Envelope, read, stored
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.results import AlertSeverity
from tests.profile import size
from tests.streaming.core.comings_and_goings import (
    LOOP,
    MINUTE_MS,
    SECOND_MS,
    STORM,
    Epochs848,
    Pods,
    Process,
    crash_loop,
    found,
    of_a_pool,
    rolled,
    rolled_to_new_pods,
    scaled,
    twenty,
)
from tests.streaming.core.rules.builders import GROUP, incidents

MEMBERS = range(20)
CRASHER = Process("pod-x", "/10.0.9.9")


def opened(pods: Pods) -> list[str]:
    return [one.code for one in found(pods.story)]


def test_one_of_twenty_that_crashes_every_two_minutes_is_a_crash_loop_and_is_notified() -> None:
    results = crash_loop(twenty(), CRASHER, times=60).story.fold()
    (loop,) = [one for one in incidents(results, LOOP) if one.transition == "opened"]
    assert loop.subjects[0].id == "pod-x on 10.0.9.9"
    assert "5 times within" in loop.message
    assert [one.alert for one in incidents(results, LOOP) if one.transition == "fired"] == [AlertSeverity.WARNING]


def test_the_message_says_what_it_costs() -> None:
    (loop,) = found(crash_loop(twenty(), CRASHER, times=8).story)
    assert "had no reader for about 50 partition-seconds" in loop.message  # 5 times one partition, 10 s each
    assert "each rebalance stopped all 40 partitions" in loop.message


def test_the_message_says_that_a_static_member_came_back_without_a_rebalance() -> None:
    pods = twenty(static=True)
    for _ in range(8):
        pods.replaced(pods.pod(3, static=True), after_ms=100 * SECOND_MS, again=True)
    (loop,) = found(pods.story)
    assert "the last return needed no rebalance" in loop.message


def test_four_returns_are_none() -> None:
    assert opened(crash_loop(twenty(), CRASHER, times=5)) == []


def test_a_loop_of_seconds_is_one_when_it_has_lasted_for_five_minutes() -> None:
    for times, codes in ((12, []), (17, [LOOP])):
        assert opened(crash_loop(twenty(), CRASHER, times=times, stays_ms=10_000, away_ms=12_000)) == codes


def test_five_returns_within_a_longer_time_are_none() -> None:
    assert opened(crash_loop(twenty(), CRASHER, times=20, stays_ms=2 * MINUTE_MS, away_ms=2 * MINUTE_MS)) == []


@pytest.mark.parametrize(
    "crasher",
    [
        Process("pod-1", "/10.0.9.9"),
        Process("pod-x", "/10.0.0.1"),
        Process("pod-1", "/10.0.9.9", "ix"),
    ],
    ids=["a client id that another has", "a host that another has", "an instance id"],
)
def test_one_name_of_its_own_is_enough(crasher: Process) -> None:
    assert opened(crash_loop(twenty(), crasher, times=8)) == [LOOP]


def test_the_consumer_of_a_sink_task_is_moved_by_its_workers_and_no_crash_loop() -> None:
    assert opened(crash_loop(twenty(), Process("connector-consumer-orders-3", "/10.0.9.9"), times=60)) == []


def test_random_names_on_one_host_are_a_crash_loop() -> None:
    pods = twenty()
    for _ in range(8):
        process = Process(pods.new_pod().client_id, "/10.0.9.9")
        pods.come(process, after_ms=65 * SECOND_MS)
        pods.go_of(process, after_ms=55 * SECOND_MS)
    (loop,) = found(pods.story)
    assert loop.subjects[0].id == "10.0.9.9"


def test_one_client_id_on_hosts_that_change_is_a_crash_loop() -> None:
    pods = twenty()
    for _ in range(8):
        process = Process("pod-x", pods.new_pod().host)
        pods.come(process, after_ms=65 * SECOND_MS)
        pods.go_of(process, after_ms=55 * SECOND_MS)
    (loop,) = found(pods.story)
    assert loop.subjects[0].id == "pod-x"


def test_a_process_that_is_back_before_its_session_ends_is_counted() -> None:
    pods = twenty()
    for _ in range(8):
        pods.replaced(pods.pod(3), after_ms=80 * SECOND_MS)
    assert opened(pods) == [LOOP]


@pytest.mark.parametrize("again", [True, False])
def test_a_static_member_that_takes_its_place_back_is_counted(again: bool) -> None:
    pods = twenty(static=True)
    for _ in range(8):
        pods.replaced(pods.pod(3, static=True), after_ms=80 * SECOND_MS, again=again)
    (loop,) = found(pods.story)
    assert loop.subjects[0].id == "i3"


def test_the_only_member_that_is_replaced_again_and_again_is_a_crash_loop() -> None:
    pods = Pods()
    pods.come(CRASHER)
    for _ in range(8):
        pods.replaced(CRASHER, after_ms=MINUTE_MS)
    assert opened(pods) == [LOOP]


def test_all_members_that_crash_are_one_incident() -> None:
    pods = twenty()
    for _ in range(7):
        for number in MEMBERS:
            pods.replaced(pods.pod(number), after_ms=5 * SECOND_MS)
    loops = [one for one in found(pods.story) if one.code == LOOP]
    assert len(loops) == 1


def test_processes_of_one_host_that_all_crash_together_are_named_by_their_host() -> None:
    pods = twenty()
    threads = [Process(f"thread-{number}", "/10.0.9.9") for number in range(4)]
    for _ in range(8):
        pods.come(*threads, after_ms=65 * SECOND_MS)
        pods.go(*(name for name, one in pods.there.items() if one in threads), after_ms=55 * SECOND_MS)
    (loop,) = found(pods.story)
    assert [one.id for one in loop.subjects] == ["10.0.9.9"]


def test_it_ends_when_nobody_came_back_for_the_window() -> None:
    pods = crash_loop(twenty(), CRASHER, times=8)
    pods.story.until(20 * MINUTE_MS)
    (ended,) = [one for one in incidents(pods.story.fold(), LOOP) if one.transition == "resolved"]
    last_back_ms = pods.story.now_ms - 55 * SECOND_MS
    assert ended.resolved_at_ms == last_back_ms + 15 * MINUTE_MS


# -- what is none ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("static", [True, False])
def test_a_rolling_deployment_is_quiet(static: bool) -> None:
    pods = twenty(static=static)
    assert opened(rolled(pods, [pods.pod(number, static=static) for number in MEMBERS])) == []


@pytest.mark.parametrize("static", [True, False])
def test_a_deployment_that_is_taken_back_is_quiet(static: bool) -> None:
    pods = twenty(static=static)
    processes = [pods.pod(number, static=static) for number in MEMBERS]
    rolled(pods, processes, each_ms=5 * SECOND_MS)
    assert opened(rolled(pods.wait(MINUTE_MS), reversed(processes), each_ms=5 * SECOND_MS)) == []


def test_static_members_that_are_restarted_one_after_the_other_are_quiet() -> None:
    pods = twenty(static=True)
    for _ in range(3):
        for number in MEMBERS:
            pods.replaced(pods.pod(number, static=True), after_ms=10 * SECOND_MS, again=True)
    assert opened(pods) == []


def test_deployments_of_new_pods_are_quiet() -> None:
    pods = twenty(make=lambda one, _: one.new_pod())
    for _ in range(3):
        rolled_to_new_pods(pods, each_ms=3 * SECOND_MS)
    assert opened(pods) == []


@pytest.mark.parametrize("one_client_id", [True, False])
def test_a_deployment_behind_one_address_is_quiet(one_client_id: bool) -> None:
    """Nothing but the number of members tells them apart, or only the client id."""
    pods = Pods()
    processes = [Process("orders" if one_client_id else f"orders-{number}", "/192.0.2.1") for number in MEMBERS]
    pods.come(*processes)
    for _ in range(2):
        for number in MEMBERS:
            name = list(pods.there)[0 if one_client_id else number]
            process = pods.there.pop(name)
            pods.come(process, after_ms=8 * SECOND_MS)
            pods.there = dict(sorted(pods.there.items(), key=lambda item: item[1].client_id))
    assert opened(pods) == []


@pytest.mark.parametrize("seed", range(size(2, 20)))
@pytest.mark.parametrize("newest", [True, False])
def test_autoscaling_every_minute_is_quiet(seed: int, newest: bool) -> None:
    pods = twenty(seed=seed, make=lambda one, _: one.new_pod())
    assert opened(scaled(pods, 120, Pods.new_pod, newest=newest)) == []


@pytest.mark.parametrize("seed", range(size(2, 20)))
def test_autoscaling_on_a_pool_of_hosts_is_quiet(seed: int) -> None:
    pods = Pods(seed)
    pool = of_a_pool(40)
    for _ in range(10):
        pods.come(pool(pods))
    assert opened(scaled(pods, 120, pool)) == []


@pytest.mark.parametrize("seed", range(size(2, 20)))
def test_autoscaling_behind_one_address_is_quiet(seed: int) -> None:
    pods = Pods(seed)
    pods.come(*[Process("orders", "/192.0.2.1")] * 8)
    assert opened(scaled(pods, 120, lambda _: Process("orders", "/192.0.2.1"))) == []


def test_runs_by_hand_on_a_laptop_are_quiet() -> None:
    pods = Pods()
    for _ in range(20):
        crash_loop(pods, Process("console-consumer", "/192.0.2.7"), times=1, stays_ms=12_000, away_ms=30_000)
    assert opened(pods) == []


def test_runs_by_hand_of_a_kip_848_group_are_quiet() -> None:
    story = Epochs848()
    for number in range(20):
        story.comes(f"m{number}", 30_000)
        story.goes(f"m{number}", 12_000)
    assert found(story.until(MINUTE_MS)) == []


# -- groups of KIP-848 -------------------------------------------------------------------------------------------------


def test_a_static_member_of_a_kip_848_group_that_comes_back_is_a_crash_loop() -> None:
    story = Epochs848()
    for number in range(3):
        story.comes(f"stable{number}", 1_000, instance=f"i{number}")
    for number in range(8):
        story.comes(f"m{number}", 65_000, instance="ix")
        story.goes(f"m{number}", 55_000)
    story.until(MINUTE_MS)
    (loop,) = [one for one in found(story) if one.code == LOOP]
    assert loop.subjects[0].id == "ix"


def test_members_of_a_kip_848_group_that_come_all_at_once_are_no_storm() -> None:
    story = Epochs848()
    for number in range(30):
        story.comes(f"m{number}", 20)
    assert found(story.until(MINUTE_MS)) == []


# -- storms ------------------------------------------------------------------------------------------------------------


def test_thousands_of_generations_within_a_minute_are_a_storm() -> None:
    pods = Pods()
    pods.come(*(pods.pod(number) for number in range(3)))
    for _ in range(800):
        pods.rebalance(after_ms=7)
    (storm,) = found(pods.story)
    assert (storm.code, storm.rule) == (STORM, "rebalance_storm")
    assert storm.message.startswith("21 generations within 1 s, ")


def test_thousands_of_generations_of_ever_other_members_are_a_storm() -> None:
    pods = Pods()
    for _ in range(700):
        pods.there = {}
        pods.come(pods.new_pod(), pods.new_pod(), after_ms=7)
    assert STORM in opened(pods)


def test_a_storm_ends_five_minutes_after_its_last_generation() -> None:
    pods = Pods()
    pods.come(*(pods.pod(number) for number in range(3)))
    for _ in range(40):
        pods.rebalance(after_ms=2_000)
    pods.story.until(20 * MINUTE_MS)
    (ended,) = [one for one in incidents(pods.story.fold(), STORM) if one.transition == "resolved"]
    assert ended.resolved_at_ms == pods.story.now_ms + 5 * MINUTE_MS


def test_twenty_rounds_without_a_reason_are_no_storm() -> None:
    pods = twenty()
    for _ in range(20):
        pods.rebalance(after_ms=5_000)
    assert opened(pods) == []


# -- what is kept ------------------------------------------------------------------------------------------------------


def remembered(pods: Pods) -> tuple[Envelope, dict[str, str]]:
    """The state after all records."""
    rows = pods.story.rows
    return read(fold_group(pods.story.settings, GROUP, None, rows, Tick(rows[-1].timestamp_ms + 50)).state)


def test_a_calm_group_remembers_nobody() -> None:
    pods = twenty()
    pods.rebalance()
    envelope, _ = remembered(pods)
    assert envelope.restless.returners == {}


def test_what_is_remembered_is_bounded() -> None:
    pods = Pods()
    for _ in range(300):
        pods.there = {}
        pods.come(*(pods.new_pod() for _ in range(5)), after_ms=500)
    envelope, bodies = remembered(pods)
    assert len(envelope.restless.returners) == MOST_NAMES
    assert len(stored(envelope, bodies).lines) < 60_000
