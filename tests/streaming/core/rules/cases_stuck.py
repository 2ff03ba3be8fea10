"""Cases of a rebalance that does not end: GROUP-G1. What is polled tells of it, beside the records."""

from dataclasses import replace

from rebalance_monitor.streaming.core.cluster.group_states import PREPARING, GroupStates, StatePoll
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.shown_groups import ShownGroups
from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_consumer_time import ROUNDROBIN, WHOLE
from tests.streaming.core.rules.consumers import group, record

STUCK = "GROUP-G1"
ALLOWED_MS = 60_000
EVERY_MS = 10_000


def polled(story: Story, *, from_ms: int = 0, until_ms: int = 2 * ALLOWED_MS, every_ms: int = EVERY_MS) -> Story:
    """The group is seen in PreparingRebalance, from so long after the last record on."""
    states = GroupStates()
    for at_ms in range(story.now_ms + from_ms, story.now_ms + until_ms + 1, every_ms):
        states = states.with_poll(StatePoll(at_ms, at_ms, {GROUP: PREPARING}))
    story.knowledge = Knowledge(groups=states)
    return story.until(until_ms)


def stuck() -> Story:
    return polled(group(ROUNDROBIN, WHOLE))


def a_generation_meanwhile() -> Story:
    """It rebalanced until the record and rebalances again."""
    return polled(group(ROUNDROBIN, WHOLE), from_ms=-10 * ALLOWED_MS, until_ms=ALLOWED_MS)


def other_members_meanwhile() -> Story:
    """It is polled: a minute ago it was described with other members than before."""
    story = polled(group(ROUNDROBIN, WHOLE))
    shown = ShownGroups(anew_ms={GROUP: story.now_ms + ALLOWED_MS + EVERY_MS})
    story.knowledge = replace(story.knowledge, shown=shown)
    return story


def nobody_asked() -> Story:
    return group(ROUNDROBIN, WHOLE).until(10 * ALLOWED_MS)


def without_members() -> Story:
    return polled(record(group(ROUNDROBIN, WHOLE), ROUNDROBIN))


CASES: tuple[Case, ...] = (
    Broken(
        code=STUCK,
        story=stuck,
        severity=Severity.CRITICAL,
        subjects=(f"group {GROUP}",),
        says="in PreparingRebalance since 2027-01-15 08:00:05 UTC, longer than the 60 s that its members allow",
    ),
    NearMiss(code=STUCK, exception="a generation was written meanwhile", story=a_generation_meanwhile),
    NearMiss(
        code=STUCK,
        exception="a group that is polled was seen settled, or with other members, meanwhile",
        story=other_members_meanwhile,
    ),
    NearMiss(code=STUCK, exception="the brokers were not asked, or did not answer", story=nobody_asked),
    NearMiss(
        code=STUCK,
        exception="a group whose last record has no members, so that nobody knows its time-outs",
        story=without_members,
    ),
)
