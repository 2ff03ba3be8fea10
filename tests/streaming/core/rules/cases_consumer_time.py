"""Cases of what only time shows of a consumer group: CONSUMER-C01, C09 and C14."""

from dataclasses import replace

from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.model.settings import OwnAssignor
from tests.streaming.core.rules.builders import GROUP, START_MS, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.consumers import Consumer, group, record, shares

COOPERATIVE, ROUNDROBIN = "cooperative-sticky", "roundrobin"
TIMEOUTS_MS = 70_000
TRANSFER_MS = TIMEOUTS_MS + 60_000
METADATA_AGE_MS = 300_000
MINUTE_MS = 60_000
WITH_A_HOLE = shares(m1="a-0", m2="a-2")
WHOLE = shares(m1="a-0 a-2", m2="a-1")
OLD_HELD = {"m1": "a-0 a-1 a-2 a-3"}
HELD_BACK = shares(m1="a-0 a-3", m2="", held=OLD_HELD)
PLACED = shares(m1="a-0 a-3", m2="a-1 a-2", held={"m1": "a-0 a-3"})


def without_owner() -> Story:
    return group(ROUNDROBIN, WITH_A_HOLE).until(TIMEOUTS_MS)


def without_owner_through_two_generations() -> Story:
    """No clock but the coordinator's says that the time between both has passed, so the patience begins anew."""
    return group(ROUNDROBIN, WITH_A_HOLE, WITH_A_HOLE).until(TIMEOUTS_MS)


def not_yet_long_without_owner() -> Story:
    return group(ROUNDROBIN, WITH_A_HOLE).until(TIMEOUTS_MS - 1)


def sampled(*samples: tuple[int, int], until_ms: int) -> Story:
    """m1 has a-0 alone. `samples`: how many partitions `a` has, from so many ms after the record on."""
    story = group(ROUNDROBIN, shares(m1="a-0"))
    metadata = tuple(
        TopicMetadata(story.now_ms + at_ms, {"a": (frozenset[str](),) * count} if count else {})
        for at_ms, count in samples
    )
    story.knowledge = knowledge_of(metadata)
    return story.until(until_ms)


def shown_by_a_sample_alone() -> Story:
    return sampled((-1_000, 3), until_ms=TIMEOUTS_MS + METADATA_AGE_MS)


def deleted_meanwhile() -> Story:
    return sampled((-1_000, 3), (60_000, 0), until_ms=TIMEOUTS_MS + METADATA_AGE_MS)


def placed_by_the_next() -> Story:
    return group(ROUNDROBIN, WITH_A_HOLE, WHOLE).until(TIMEOUTS_MS)


def hole_below_what_was_kept() -> Story:
    """As after the topic was made anew with one partition, and the member that kept a-1 left."""
    return group("sticky", shares("b a", m1="a-0 b-0", m2="a-2", held={"m1": "b-0 a-0", "m2": "a-2"})).until(
        TIMEOUTS_MS
    )


def hole_below_what_is_new() -> Story:
    return group("sticky", shares("b a", m1="a-0 b-0", m2="a-2", held={"m1": "b-0 a-0"})).until(TIMEOUTS_MS)


def held_formerly() -> Story:
    """m2 had a-1 before it joined, and has given it up like all that it had."""
    held = {"m1": "b-0 a-0", "m2": "a-1"}
    return group("sticky", shares("b a", m1="a-0 b-0", m2="a-2", held=held)).until(TIMEOUTS_MS)


def held_formerly_and_sampled() -> Story:
    held = {"m1": "a-0", "m2": "a-2 a-1"}
    story = group("sticky", shares(m1="a-0", m2="a-2", held=held), shares(m1="a-0", m2="a-2", held=held))
    story.knowledge = knowledge_of([TopicMetadata(story.now_ms - MINUTE_MS, {"a": (frozenset[str](),) * 3})])
    return story.until(TIMEOUTS_MS + METADATA_AGE_MS)


def given_up_by_nobody_yet() -> Story:
    """A cooperative member goes on with a-1 until it is asked to give it up."""
    return group(COOPERATIVE, shares(m1="a-0", m2="a-2", held={"m1": "a-0", "m2": "a-1 a-2"})).until(TIMEOUTS_MS)


def sampled_hole_of_an_unknown_client() -> Story:
    story = hole_of_an_unknown_client()
    story.knowledge = knowledge_of([TopicMetadata(story.now_ms - MINUTE_MS, {"a": (frozenset[str](),) * 3})])
    return story.until(TIMEOUTS_MS + METADATA_AGE_MS)


def hole_under_another_assignor(*before: tuple[Consumer, ...]) -> Story:
    """`before`: the generations before it, whose topics a sample shows."""
    story = group("pinned", *before, WITH_A_HOLE)
    story.knowledge = knowledge_of([TopicMetadata(START_MS, {"a": (frozenset[str](),) * 3})])
    return story.until(TIMEOUTS_MS + METADATA_AGE_MS)


def hole_for_once_under_another_assignor() -> Story:
    return hole_under_another_assignor(WHOLE)


def hole_on_purpose() -> Story:
    story = hole_for_once_under_another_assignor()
    story.settings = replace(story.settings, own_assignors={"*": (OwnAssignor.OMITS,)})
    return story


def hole_of_an_unknown_client() -> Story:
    return group(ROUNDROBIN, tuple(replace(one, java=False) for one in WITH_A_HOLE)).until(TIMEOUTS_MS)


def unfinished_transfer() -> Story:
    return group(COOPERATIVE, HELD_BACK).until(TRANSFER_MS)


def finished_transfer() -> Story:
    return group(COOPERATIVE, HELD_BACK, PLACED).until(TIMEOUTS_MS)


def on_hosts(*hosts: str, after_ms: int = MINUTE_MS) -> Story:
    """A static member beside another one; each host after the first takes its instance id over, without a rebalance."""
    stays = Consumer(id="m", given="a-1")
    story = Story()
    for number, host in enumerate(hosts):
        taken = Consumer(id=f"i-{number}", given="a-0", instance="i", host=f"/{host}")
        record(story, ROUNDROBIN, taken, stays, again=number > 0, after_ms=after_ms)
    return story


def two_processes() -> Story:
    return on_hosts("h1", "h2", "h1", "h2")


def moved_and_back() -> Story:
    return on_hosts("h1", "h2", "h1")


def restarted_in_place() -> Story:
    return on_hosts("h1", "h1", "h1", "h1", "h1")


def hours_apart() -> Story:
    return on_hosts("h1", "h2", "h1", "h2", after_ms=60 * MINUTE_MS)


C, H, M, L, INFO = Severity
CASES: tuple[Case, ...] = (
    Broken(code="CONSUMER-C01", story=without_owner, subjects=("topic a",), severity=C, says="no member has a-1"),
    Broken(code="CONSUMER-C01", story=without_owner_through_two_generations, subjects=("topic a",), severity=C),
    Broken(code="CONSUMER-C01", story=shown_by_a_sample_alone, subjects=("topic a",), severity=C, says="a-1, a-2"),
    NearMiss(code="CONSUMER-C01", exception="the next generation places it", story=placed_by_the_next),
    NearMiss(code="CONSUMER-C01", exception="the next generation places it", story=not_yet_long_without_owner),
    NearMiss(code="CONSUMER-C01", exception="partitions that change hands are held back", story=unfinished_transfer),
    NearMiss(code="CONSUMER-C01", exception="partitions that change hands are held back", story=given_up_by_nobody_yet),
    Broken(code="CONSUMER-C01", story=held_formerly, subjects=("topic a",), severity=C, says="no member has a-1"),
    Broken(code="CONSUMER-C01", story=held_formerly_and_sampled, subjects=("topic a",), severity=C, says="has a-1"),
    Broken(
        code="CONSUMER-C01",
        story=sampled_hole_of_an_unknown_client,
        subjects=("topic a",),
        severity=C,
        says="no member has a-1",
    ),
    NearMiss(code="CONSUMER-C01", exception="the topic is gone", story=deleted_meanwhile),
    Broken(
        code="CONSUMER-C01", story=hole_below_what_is_new, subjects=("topic a",), severity=C, says="no member has a-1"
    ),
    NearMiss(
        code="CONSUMER-C01",
        exception="only partitions that members kept show that it exists, and no sample does: info",
        story=hole_below_what_was_kept,
        at_most=INFO,
    ),
    Broken(
        code="CONSUMER-C01",
        story=hole_for_once_under_another_assignor,
        subjects=("topic a",),
        severity=C,
        says="no member has a-1",
    ),
    NearMiss(
        code="CONSUMER-C01",
        exception="an assignor of somebody's own that does so in each generation: info",
        story=hole_under_another_assignor,
        at_most=INFO,
    ),
    NearMiss(code="CONSUMER-C01", exception="the configuration says that the assignor does so", story=hole_on_purpose),
    NearMiss(
        code="CONSUMER-C01",
        exception="a leader of an unknown client, and no sample shows the partition: info",
        story=hole_of_an_unknown_client,
        at_most=INFO,
    ),
    Broken(code="CONSUMER-C09", story=unfinished_transfer, subjects=(f"group {GROUP}",), severity=H),
    NearMiss(code="CONSUMER-C09", exception="the next generation comes", story=finished_transfer),
    Broken(code="CONSUMER-C14", story=two_processes, subjects=("member i",), severity=H, says="between h1 and h2"),
    NearMiss(
        code="CONSUMER-C14", exception="a process that moves to another host, and back once", story=moved_and_back
    ),
    NearMiss(
        code="CONSUMER-C14", exception="a process that moves to another host, and back once", story=restarted_in_place
    ),
    NearMiss(code="CONSUMER-C14", exception="changes hours apart", story=hours_apart),
)
