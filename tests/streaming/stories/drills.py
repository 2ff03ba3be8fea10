"""Drills: what an engineer is called for, and the golden text that answers it.

`python -m tests.streaming.stories.drills` writes the texts anew.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from rebalance_monitor.streaming.cli.group_sources import CapturedGroups, capture_of
from rebalance_monitor.streaming.core.replay import replayed
from rebalance_monitor.streaming.stories.known import GroupFacts
from rebalance_monitor.streaming.stories.six_lines import six_lines
from tests.streaming.core.comings_and_goings import Pods, rolled
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases_epochs import does_not_revoke
from tests.streaming.core.rules.cases_stuck import stuck

ANSWERS = Path(__file__).parent / "answers"
VECTORS = Path(__file__).parents[2] / "vectors"
MINUTE_MS = 60_000
ZOMBIE, DOUBLED_AT = "captures/zombie", "2026-11-20T12:29:13Z"
STEADY, RESTS_AT = "captures/steady", "2026-11-20T12:12:00Z"
PROBING, PROBED_AT = "captures-groups/streams-probing", "2026-11-23T06:58:53Z"


def known_of(story: Story) -> GroupFacts:
    """The group of a story where it ends."""
    end_ms = story.now_ms if story.end_ms is None else story.end_ms
    return CapturedGroups(replayed(len(story.rows), story.fold()), end_ms).known((story.settings.name, GROUP))


def captured(name: str, group: str, moment: str | None = None) -> GroupFacts:
    """A group of a capture where it ends, or at a moment of it."""
    at_ms = None if moment is None else int(datetime.fromisoformat(moment).timestamp() * 1000)
    found = capture_of(str(VECTORS / name), at_ms)
    (key,) = [key for key in found.names() if key[1] == group]
    return found.known(key)


def restless_after_a_deployment() -> Story:
    """Three pods are restarted one after the other; from then on the group rebalances every two seconds."""
    pods = Pods(topic="clicks")
    processes = [pods.pod(number) for number in range(3)]
    pods.come(*processes)
    rolled(pods.wait(30 * MINUTE_MS), processes)
    for _ in range(40):
        pods.rebalance(after_ms=2_000)
    return pods.story


def storm_after_a_deployment() -> GroupFacts:
    return known_of(restless_after_a_deployment())


def doubled_tasks_after_a_partition() -> GroupFacts:
    """A worker was frozen; it goes on with what others have been given meanwhile."""
    return captured(ZOMBIE, "zombies", DOUBLED_AT)


def restarted_pod() -> Story:
    """A worker's pod is restarted: it is back within a minute, and what it held waits for the delay."""
    story = Story()
    story.configure("orders", 6)
    story.join("w1", "w2", "w3")
    story.rebalance()
    story.wait(10 * MINUTE_MS)
    story.leave("w3")
    story.rebalance()
    story.join("w3")
    story.rebalance(after_ms=40_000)
    return story.until(20_000)


def idle_tasks_after_a_pod_restart() -> GroupFacts:
    return known_of(restarted_pod())


def streams_that_never_stop_probing() -> GroupFacts:
    """A copy restores more slowly than its changelog is written."""
    return captured(PROBING, "never", PROBED_AT)


def stuck_behind_one_member() -> GroupFacts:
    """KIP-848: a member does not give up what another one is to get."""
    return known_of(does_not_revoke())


def stuck_in_a_rebalance() -> GroupFacts:
    """The classic protocol: the coordinator waits for a member that does not join again."""
    return known_of(stuck())


def no_worker_left() -> GroupFacts:
    """Connect: all workers have ended; the incident that says so opens when the delay is over."""
    return captured(STEADY, "steady")


def at_rest() -> GroupFacts:
    return captured(STEADY, "steady", RESTS_AT)


DRILLS: tuple[Callable[[], GroupFacts], ...] = (
    storm_after_a_deployment,
    doubled_tasks_after_a_partition,
    idle_tasks_after_a_pod_restart,
    streams_that_never_stop_probing,
    stuck_behind_one_member,
    stuck_in_a_rebalance,
    no_worker_left,
    at_rest,
)


def told(drill: Callable[[], GroupFacts]) -> str:
    """The six lines as a file."""
    return "".join(f"{name:11}{text}\n" for name, text in six_lines(drill()).lines())


if __name__ == "__main__":
    for drill in DRILLS:
        (ANSWERS / f"{drill.__name__}.txt").write_text(told(drill), encoding="utf-8")
