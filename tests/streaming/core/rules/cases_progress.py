"""Cases of how far members come with what they hold: GROUP-G2 and GROUP-G3. What is polled tells of it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from rebalance_monitor.streaming.core.cluster.progress import PartitionOffsets, ProgressOfGroups, ProgressSample
from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_consumer_time import MINUTE_MS, ROUNDROBIN, WHOLE
from tests.streaming.core.rules.consumers import group, shares
from tests.streaming.core.rules.streams import Thread
from tests.streaming.core.rules.streams import group as streams_group

STANDS, LAGS = "GROUP-G2", "GROUP-G3"
EVERY_MS = 30_000
BUSY_MS, COMMIT_MS = 60_000, 300_000
"""How long the members of each story may be busy, and how long a commit may take."""
LONG_MS = BUSY_MS + COMMIT_MS + 2 * EVERY_MS
ALONE = shares(m1="a-0 a-1 a-2")
At = Callable[[int], tuple[int, int] | None]
"""Committed offset and end offset of a partition after so many samples; None: none is committed."""


def steady(number: int) -> tuple[int, int]:
    """Ten records each time, five of them read later."""
    return 100 + 10 * number, 105 + 10 * number


def still(number: int) -> tuple[int, int]:
    """Nothing of what is written is committed."""
    return 100, 105 + 10 * number


def polled(story: Story, partitions: Mapping[str, At], *, for_ms: int = LONG_MS, after_ms: int = 5_000) -> Story:
    """The group's offsets are asked for every half minute, from so long after the last record on."""
    progress = ProgressOfGroups()
    for number, at_ms in enumerate(range(story.now_ms + after_ms, story.now_ms + after_ms + for_ms + 1, EVERY_MS)):
        told = {name: of for name, offsets in partitions.items() if (of := offsets(number)) is not None}
        offsets = {name: PartitionOffsets(committed, end) for name, (committed, end) in told.items()}
        progress = progress.with_sample(ProgressSample(at_ms - 100, at_ms, {GROUP: offsets}, frozenset({GROUP})))
    story.knowledge = replace(story.knowledge, progress=progress)
    return story.until(after_ms + for_ms)


def whole() -> Story:
    return group(ROUNDROBIN, WHOLE)


def one_stands() -> Story:
    return polled(whole(), {"a-0": steady, "a-1": still, "a-2": steady})


def everything_is_read() -> Story:
    """It had a lag for the first time a moment ago."""
    return polled(whole(), {"a-0": steady, "a-1": lambda number: (100, 100 if number < 11 else 90 + 2 * number)})


def nothing_is_written() -> Story:
    """The mark of the last transaction is no record: clients of some libraries commit the offset before it."""
    return polled(whole(), {"a-0": steady, "a-1": lambda _: (100, 101)})


def nobody_commits() -> Story:
    return polled(whole(), {"a-0": still, "a-1": still, "a-2": still})


def never_committed() -> Story:
    return polled(whole(), {"a-0": steady, "a-1": lambda _: None, "a-2": steady})


def a_long_handling() -> Story:
    """Busy as long as it may be, and then as long as it takes to commit."""
    return polled(whole(), {"a-0": steady, "a-1": still}, for_ms=BUSY_MS + COMMIT_MS)


def restoring() -> Story:
    """A thread was given the task by the group's first record."""
    threads = (Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1"))
    return polled(streams_group(threads), {"t0-0": steady, "t0-1": still})


def nobody_asked() -> Story:
    return whole().until(10 * LONG_MS)


def far(number: int) -> tuple[int, int]:
    """A lag of 2,000 records and more."""
    return 100 + 10 * number, 2_105 + 20 * number


def one_lags() -> Story:
    return polled(whole(), {"a-0": steady, "a-1": far, "a-2": steady}, for_ms=MINUTE_MS)


def a_small_lag() -> Story:
    return polled(whole(), {"a-0": steady, "a-1": lambda number: (90 + 10 * number, 980), "a-2": steady})


def all_lag() -> Story:
    """m1 has two of three partitions, and two thirds of the lag."""
    return polled(whole(), {"a-0": far, "a-1": far, "a-2": far})


def one_member() -> Story:
    return polled(group(ROUNDROBIN, ALONE), {"a-0": steady, "a-1": far, "a-2": steady})


def not_all_known() -> Story:
    return polled(whole(), {"a-0": steady, "a-1": far, "a-2": lambda _: None})


CASES: tuple[Case, ...] = (
    Broken(
        code=STANDS,
        story=one_stands,
        severity=Severity.MEDIUM,
        subjects=("partition a-1", "member m2"),
        says="m2 holds a-1: it stands at offset 100 since generation 1, 2027-01-15 08:00:10 UTC, "
        "and its end offset grew from 105",
    ),
    NearMiss(code=STANDS, exception="everything is read, or was a moment ago", story=everything_is_read),
    NearMiss(code=STANDS, exception="nothing is written", story=nothing_is_written),
    NearMiss(
        code=STANDS,
        exception="nobody has seen the group commit: its offsets may be kept elsewhere",
        story=nobody_commits,
    ),
    NearMiss(code=STANDS, exception="a partition without a committed offset", story=never_committed),
    NearMiss(code=STANDS, exception="a long handling within `max.poll.interval.ms`", story=a_long_handling),
    NearMiss(code=STANDS, exception="the brokers were not asked, or did not answer", story=nobody_asked),
    NearMiss(
        code=STANDS,
        exception="a thread of a Streams application that may be restoring the state of its task (information)",
        story=restoring,
        at_most=Severity.INFO,
    ),
    Broken(
        code=LAGS,
        story=one_lags,
        severity=Severity.INFO,
        subjects=("member m2",),
        says="m2 held 2025 of the group's 2035 records of lag, on 1 of 3 partitions",
    ),
    NearMiss(code=LAGS, exception="a lag of fewer than 1,000 records in the whole group", story=a_small_lag),
    NearMiss(
        code=LAGS,
        exception="a member with as much lag on each partition as the others",
        story=all_lag,
    ),
    NearMiss(code=LAGS, exception="a group of one member", story=one_member),
    NearMiss(code=LAGS, exception="partitions of which no offset is known", story=not_all_known),
)
