"""What no ranking claims, because the coordinator's log or the records say something else."""

from collections import Counter
from dataclasses import replace

from rebalance_monitor.streaming.cli.group_sources import CapturedGroups
from rebalance_monitor.streaming.core.coordinator_log.line import Began, CoordinatorReason
from rebalance_monitor.streaming.core.replay import replayed
from rebalance_monitor.streaming.stories.rolling_restarts import CLOSED
from tests.streaming.core.comings_and_goings import MINUTE_MS, SECOND_MS, Epochs848, Pods, Process, twenty
from tests.streaming.core.rules.builders import Story
from tests.streaming.stories.rankings_told import codes, judged, the_coordinator_moved


def test_members_that_crash_in_turn_are_no_deployments() -> None:
    pods = Pods()
    three = [Process("orders", f"/10.0.0.{number}") for number in range(3)]
    pods.come(*three)
    pods.wait(30 * MINUTE_MS)
    for one in three * 4:
        pods.go_of(one, after_ms=50 * SECOND_MS)
        pods.come(one, after_ms=20 * SECOND_MS)
    assert codes(judged(pods.story)).keys() == {"member_comes_and_goes", "member_joined"}


def leaving(pods: Pods, process: Process, said: list[CoordinatorReason], client: str) -> None:
    """It goes, and the coordinator's log says that it left by a request, and why."""
    (member,) = [name for name, one in pods.there.items() if one == process]
    old = pods.story.generation
    pods.go(member, after_ms=10_500)
    said.append(
        CoordinatorReason(
            group="g", old_generation=old, partition=0, kind=Began.LEFT, text="explicit", member_id=member,
            client_reason=client,
        )
    )  # fmt: skip


def told_with(pods: Pods, said: list[CoordinatorReason]) -> Counter[str]:
    story = pods.story
    ((_, group),) = judged(story).names()
    own = [replace(one, group=group) for one in said]
    return codes(CapturedGroups(replayed(len(story.rows), story.fold()), story.now_ms, own))


def test_a_member_that_left_by_a_request_was_not_silent() -> None:
    pods, said, job = twenty(), list[CoordinatorReason](), Process("job", "/10.0.0.30")
    for _ in range(4):
        pods.come(job, after_ms=20 * SECOND_MS)
        leaving(pods, job, said, "the consumer is being closed")
    assert codes(judged(pods.story))["session_timed_out"] == 7
    assert told_with(pods, said)["session_timed_out"] == 0


def test_members_whose_poll_time_out_expired_were_not_restarted() -> None:
    pods, said = Pods(), list[CoordinatorReason]()
    five = [Process("orders", f"/10.0.0.{number}") for number in range(5)]
    pods.come(*five)
    pods.wait(30 * MINUTE_MS)
    for one in five:
        leaving(pods, one, said, "consumer poll timeout has expired.")
        pods.come(one, after_ms=30 * SECOND_MS)
    assert codes(judged(pods.story))["rolling_restart"] == 10
    assert told_with(pods, said)["rolling_restart"] == 0
    closed = [replace(one, client_reason="the consumer is being closed") for one in said]
    assert told_with(pods, closed)["rolling_restart"] == 10


def test_a_poll_interval_is_not_named_against_the_clients_own_reason() -> None:
    said: dict[str, list[CoordinatorReason]] = {"consumer poll timeout has expired.": [], CLOSED: []}
    for client, reasons in said.items():
        pods, slow = twenty(), Process("slow", "/10.0.0.30")
        for _ in range(4):
            pods.come(slow, after_ms=20 * SECOND_MS)
            pods.wait(51 * SECOND_MS)
            leaving(pods, slow, reasons, client)
        assert bool(told_with(pods, reasons)["poll_interval_exceeded"]) is (client != CLOSED)


def test_a_delay_that_was_cancelled_is_not_the_one_a_worker_was_back_within() -> None:
    story = Story()
    story.configure("c1", 3)
    story.configure("c2", 3)
    story.join("w1", "w2", "w3")
    story.rebalance()
    story.wait(MINUTE_MS)
    story.rebalance()
    story.leave("w3")
    story.rebalance()
    story.wait(20 * SECOND_MS)
    story.leave("w1")  # the leader: the next one knows nothing of the loss
    for _ in range(4):
        story.rebalance()
        story.wait(SECOND_MS)
    story.wait(MINUTE_MS)
    story.join("w3")
    story.rebalance()
    assert "worker_back_within_delay" not in codes(judged(story))


def test_an_instance_id_that_was_away_in_between_is_not_used_twice() -> None:
    pods = twenty(static=True)
    first = pods.pod(3, static=True)
    second = Process("pod-3", "/10.0.9.9", first.instance)
    for gone, come in ((first, second), (second, first)) * 3:
        pods.go_of(gone, after_ms=4 * MINUTE_MS)
        pods.come(come, after_ms=MINUTE_MS)
    assert "instance_id_used_twice" not in codes(judged(pods.story))


def test_who_was_gone_before_the_group_stood_empty_did_not_make_the_next_rebalance() -> None:
    story = Epochs848()
    story.comes("a", 1_000)
    story.goes("a", MINUTE_MS)
    story.comes("b", 60 * MINUTE_MS)
    assert codes(told_of(story)) == {"member_joined": 2}
    story.comes("c", MINUTE_MS)
    story.goes("b", MINUTE_MS)
    assert codes(told_of(story)) == {"member_joined": 3, "member_gone": 1}


def told_of(story: Epochs848) -> CapturedGroups:
    return CapturedGroups(replayed(len(story.rows), story.fold()), story.now_ms)


def test_one_who_goes_as_another_comes_is_counted() -> None:
    story = Epochs848()
    story.comes("a", 1_000)
    story.after(MINUTE_MS)
    for type_ in (8, 7, 5):
        story.write(type_, None, "a")
    story.names.remove("a")
    story.member("b")
    story.names.append("b")
    story.targets()
    assert codes(told_of(story)) == {"member_joined": 1, "member_gone": 1}


def test_an_election_is_named_only_where_epochs_are_known_and_higher() -> None:
    for epochs in ((4, 4, 4), (4, None, 5), (5, 4, 3), (None, None, None)):
        found = codes(the_coordinator_moved(epochs=epochs))
        assert found["coordinator_moved"] == 0, epochs
    assert codes(the_coordinator_moved(epochs=(4, 5, 6)))["coordinator_moved"] == 2


def test_members_that_came_are_told_though_the_coordinator_was_elected_anew() -> None:
    """The partitions, the hosts and who comes and goes are told as without epochs."""
    pods = twenty()
    pods.come(Process("other", "/10.0.0.99"), after_ms=MINUTE_MS)
    known = codes(judged(pods.story))
    pods.story.rows[:] = [replace(row, leader_epoch=place) for place, row in enumerate(pods.story.rows)]
    assert codes(judged(pods.story)) == known
