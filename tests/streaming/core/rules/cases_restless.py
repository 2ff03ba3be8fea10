"""Cases of groups that do not come to rest: GROUP-G5 and GROUP-G6."""

from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.comings_and_goings import (
    LOOP,
    MINUTE_MS,
    SECOND_MS,
    STORM,
    Pods,
    Process,
    crash_loop,
    rolled,
    scaled,
    twenty,
)
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_streams_across import at_a_steady_distance


def one_of_twenty_crashes() -> Story:
    return crash_loop(twenty(), Process("pod-x", "/10.0.9.9"), times=7).story


def rounds_without_a_reason() -> Story:
    pods = Pods()
    pods.come(*(pods.pod(number) for number in range(3)))
    for _ in range(30):
        pods.rebalance(after_ms=2 * SECOND_MS)
    return pods.story


def deployed_and_taken_back() -> Story:
    pods = twenty()
    processes = [pods.pod(number) for number in range(20)]
    return rolled(rolled(pods, processes), processes).story


def fails_to_start_and_stays() -> Story:
    pods = crash_loop(twenty(), Process("pod-x", "/10.0.9.9"), times=8, stays_ms=8 * SECOND_MS, away_ms=12 * SECOND_MS)
    pods.come(Process("pod-x", "/10.0.9.9"))
    return pods.wait(20 * MINUTE_MS).story


def scaled_every_minute() -> Story:
    return scaled(twenty(make=lambda pods, _: pods.new_pod()), 60, Pods.new_pod).story


def deployed_behind_one_address() -> Story:
    pods = Pods()
    pods.come(*[Process("orders", "/192.0.2.1")] * 6)
    for _ in range(3):
        for name in list(pods.there):
            del pods.there[name]
            pods.come(Process("orders", "/192.0.2.1"), after_ms=10 * SECOND_MS)
    return pods.story


def run_by_hand() -> Story:
    pods = Pods()
    for _ in range(12):
        crash_loop(pods, Process("console-consumer", "/192.0.2.7"), times=1, stays_ms=12_000, away_ms=30_000)
    return pods.story


def run_by_a_timer() -> Story:
    """A batch job of three consumers, each time on another host and under the same client ids."""
    pods = Pods()
    for run in range(12):
        job = [Process(f"consumer-orders-{number}", f"/10.0.3.{run}") for number in range(3)]
        for name in pods.come(*job, after_ms=110 * SECOND_MS):
            pods.go(name, after_ms=100)
    return pods.story


def workers_in_a_storm() -> Story:
    story = Story()
    story.configure("c1", 2)
    story.join("w1", "w2", "w3")
    for _ in range(30):
        story.rebalance(after_ms=MINUTE_MS // 100)
    return story


CASES: tuple[Case, ...] = (
    Broken(
        code=LOOP,
        story=one_of_twenty_crashes,
        severity=Severity.MEDIUM,
        subjects=("member pod-x on 10.0.9.9",),
        says="came back, 5 times within 480 s",
    ),
    NearMiss(code=LOOP, exception="a rolling deployment, and one that is taken back", story=deployed_and_taken_back),
    NearMiss(
        code=LOOP,
        exception="a process that fails to start a few times within five minutes, and then stays",
        story=fails_to_start_and_stays,
    ),
    NearMiss(
        code=LOOP,
        exception="members that come are others each time, as where a group is scaled",
        story=scaled_every_minute,
    ),
    NearMiss(
        code=LOOP,
        exception="several members share the name, and each may have been restarted a few times",
        story=deployed_behind_one_address,
    ),
    NearMiss(
        code=LOOP,
        exception="a group on one host that is empty in between: a program that is run again and again",
        story=run_by_hand,
    ),
    NearMiss(
        code=LOOP,
        exception="a group on one host that is empty in between: a program that is run again and again",
        story=run_by_a_timer,
    ),
    Broken(
        code=STORM,
        story=rounds_without_a_reason,
        severity=Severity.MEDIUM,
        subjects=(f"group {GROUP}",),
        says="generations within 41 s, more than members",
    ),
    NearMiss(code=STORM, exception="a rolling deployment", story=deployed_and_taken_back),
    NearMiss(code=STORM, exception="a group that is scaled every minute", story=scaled_every_minute),
    NearMiss(
        code=STORM,
        exception="a Streams application whose leader sets the time of each next rebalance",
        story=at_a_steady_distance,
    ),
    NearMiss(code=STORM, exception="a group of Connect workers: CONNECT-K10", story=workers_in_a_storm),
)
