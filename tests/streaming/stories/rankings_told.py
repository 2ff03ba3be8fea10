"""Rankings with golden texts: made-up lives of groups of which is known what was done to them, and captures.

`python -m tests.streaming.stories.rankings_told` writes the texts anew.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.cli.group_sources import CapturedGroups, Object, capture_of
from rebalance_monitor.streaming.core.replay import replayed
from rebalance_monitor.streaming.stories.why import notes_on, told_in_lines
from tests.streaming.core.comings_and_goings import MINUTE_MS, SECOND_MS, Pods, Process, crash_loop, rolled, twenty
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.consumers import Consumer, record

TEXTS = Path(__file__).parent / "rankings"
VECTORS = Path(__file__).parents[2] / "vectors"
Made = Callable[[], CapturedGroups]


def judged(story: Story) -> CapturedGroups:
    return CapturedGroups(replayed(len(story.rows), story.fold()), story.now_ms)


def longer_than_the_poll_interval() -> CapturedGroups:
    """Pod 3 is in its processing for longer than its rebalance time-out of 60 s, five times, and joins again after."""
    return judged(crash_loop(twenty(), Pods().pod(30), times=5, stays_ms=61 * SECOND_MS, away_ms=40 * SECOND_MS).story)


def silent_after_each_start() -> CapturedGroups:
    """Pod 30 stops sending heartbeats as soon as it has joined: its session time-out is 10 s."""
    loop = crash_loop(twenty(), Pods().pod(30), times=4, stays_ms=10_500, away_ms=20 * SECOND_MS)
    return judged(loop.story)


def restarted_one_by_one() -> CapturedGroups:
    """All twenty are stopped and started again, each within 8 s of a session time-out of 10 s."""
    pods = twenty()
    return judged(rolled(pods, list(pods.there.values())).story)


def one_instance_id_on_two_hosts() -> CapturedGroups:
    """Two processes with one instance id fence each other; each time the group rebalances."""
    pods = twenty(static=True)
    first = pods.pod(3, static=True)
    second = Process("pod-3", "/10.0.9.9", first.instance)
    for gone, come in ((first, second), (second, first)) * 3:
        for name in [name for name, one in pods.there.items() if one == gone]:
            del pods.there[name]
        pods.come(come, after_ms=MINUTE_MS)
    return judged(pods.story)


def partitions_added() -> CapturedGroups:
    """Topic a gets partitions twice, while the same two members are there."""
    story = Story()
    for most in (2, 2, 4, 4, 6):
        shares = [" ".join(f"a-{number}" for number in range(first, most, 2)) for first in (0, 1)]
        record(story, "roundrobin", *(Consumer(id=f"c{at}", given=share) for at, share in enumerate(shares)))
    return judged(story)


def the_coordinator_moved(*, epochs: tuple[int | None, ...] = (4, 4, 5, 5, 7)) -> CapturedGroups:
    """The same two members join again and again; the partition's leader is elected before the third time and the last.
    `epochs`: of the leader that took each record."""
    story = Story()
    for _ in epochs:
        record(story, "range", Consumer(id="c0", given="a-0"), Consumer(id="c1", given="a-1"))
    story.rows[:] = [replace(row, leader_epoch=epoch) for row, epoch in zip(story.rows, epochs, strict=True)]
    return judged(story)


def a_restless_worker() -> CapturedGroups:
    return capture_of(str(VECTORS / "captures" / "zombie"))


def all_that_was_done_to_a_group() -> CapturedGroups:
    return capture_of(str(VECTORS / "captures" / "sessioned-4.3.1"))


MADE: tuple[Made, ...] = (
    longer_than_the_poll_interval, silent_after_each_start, restarted_one_by_one, one_instance_id_on_two_hosts,
    partitions_added, the_coordinator_moved, a_restless_worker, all_that_was_done_to_a_group,
)  # fmt: skip


def ranked(made: Made) -> Object:
    source = made()
    (key,) = source.names()
    return source.why(key, 0)


def codes(source: CapturedGroups) -> Counter[str]:
    (key,) = source.names()
    return Counter({one["code"]: one["count"] for one in source.why(key, 0)["reasons"]})


def told(made: Made) -> str:
    """The ranking as people read it, without when."""
    found = ranked(made)
    return "".join(f"{line}\n" for line in [*(line for line, _ in told_in_lines(found)), *notes_on(found)])


def main() -> None:
    for made in MADE:
        (TEXTS / f"{made.__name__}.txt").write_text(told(made), encoding="utf-8")


if __name__ == "__main__":
    main()
