"""Any cut of a capture into batches, outages, delays of Connect's topics: every cost is the same, or not known."""

from collections.abc import Mapping
from functools import cache

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.lifecycles import route
from rebalance_monitor.streaming.core.model.details import JobDowntime
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Aftermath, Source
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.model.subjects import Subject
from rebalance_monitor.streaming.core.replay import decode
from tests.profile import size
from tests.streaming.folded_group import FoldedGroup
from tests.vector_files import CAPTURES

NAMES = ["compatible-2.8.2", "eager-2.8.2", "sessioned-4.3.1", "steady", "zombie"]
Place = tuple[str, int]
NOT_KNOWN = "not_known"


@cache
def rows_of(name: str) -> tuple[ClusterSettings, str, tuple[Row, ...]]:
    path = CAPTURES / name
    known = settings_of(path)
    rows = [row for record in records_of(path) if (row := decode(record, known)) is not None]
    routed = route(rows, known)
    group = max(known.connect, key=lambda one: len(routed.get(one, [])))
    return known, group, tuple(routed[group])


def places(rows: tuple[Row, ...]) -> list[Place]:
    return sorted({(row.topic, row.partition) for row in rows})


def arrivals(rows: tuple[Row, ...], delays: Mapping[Place, int], outage: tuple[int, int]) -> list[tuple[int, Row]]:
    """When each row comes: its partition's delay after it was written; in an outage nothing comes before its end."""
    found, latest = [], dict.fromkeys(places(rows), 0)
    for row in sorted(rows, key=lambda one: (one.topic, one.partition, one.offset)):
        place = (row.topic, row.partition)
        at_ms = row.timestamp_ms + delays.get(place, 0)
        if outage[0] <= at_ms < outage[1]:
            at_ms = outage[1] + delays.get(place, 0)
        latest[place] = max(latest[place], at_ms)
        found.append((latest[place], row))
    return sorted(found, key=lambda one: one[0])


def fold(
    name: str, delays: Mapping[Place, int], every_ms: int, outage: tuple[int, int] = (0, 0)
) -> dict[Source, Aftermath]:
    """The last word on each generation, read in batches of so much time, each with a tick."""
    known, group, rows = rows_of(name)
    coming = arrivals(rows, delays, outage)
    followed = FoldedGroup(known, group)
    at_ms, end_ms = coming[0][0], max(when for when, _ in coming) + 100_000
    due_ms: int | None = None
    while at_ms < end_ms:
        at_ms += every_ms if coming else 5_000
        batch = [row for when, row in coming if when <= at_ms]
        coming = coming[len(batch) :]
        if not batch and (due_ms is None or due_ms > at_ms):
            continue
        due_ms = followed.fold(batch, at_ms).due_ms
    return {one.source: one for one in followed.results if isinstance(one, Aftermath)}


def costs(aftermath: Aftermath) -> tuple[dict[str, tuple[int, int, int]], dict[tuple[str, Subject, int], JobDowntime]]:
    sums = {kind.kind: (kind.jobs, kind.total_ms, kind.longest_ms) for kind in aftermath.downtime}
    return sums, {(job.kind, job.job, job.until_ms): job for job in aftermath.interrupted}


@cache
def whole(name: str) -> dict[Source, Aftermath]:
    return fold(name, {}, 2_000)


def check(name: str, told: Mapping[Source, Aftermath]) -> int:
    """Every cost is that of the undelayed read, or its generation says that some are not known; returns how many."""
    unknown = 0
    for source, expected in whole(name).items():
        assert source in told, f"{source} has no last word"
        sums, jobs = costs(told[source])
        if NOT_KNOWN in sums:
            unknown += 1
            # What is still stated is true.
            assert jobs.items() <= costs(expected)[1].items(), source
        else:
            assert (sums, jobs) == costs(expected), source
    return unknown


def outages(name: str) -> st.SearchStrategy[tuple[int, int]]:
    _, _, rows = rows_of(name)
    moments = [row.timestamp_ms for row in rows if isinstance(row.body, GroupGeneration)]
    begins = st.builds(lambda at, before: at - before, st.sampled_from(moments), st.integers(-2_000, 8_000))
    return st.builds(lambda begin, length: (begin, begin + length), begins, st.integers(0, 30_000))


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@profile(max_examples=size(2, 20), deadline=None)
def test_any_cut_and_any_delay_give_the_same_costs_or_say_not_known(name: str, data: st.DataObject) -> None:
    _, _, rows = rows_of(name)
    delay = st.one_of(st.just(0), st.integers(0, 4_000), st.integers(0, 40_000))
    delays = data.draw(st.fixed_dictionaries({place: delay for place in places(rows)}))
    every_ms = data.draw(st.sampled_from([2_000, 5_000, 20_000]))
    outage = data.draw(st.one_of(st.just((0, 0)), outages(name)))
    check(name, fold(name, delays, every_ms, outage))


@pytest.mark.parametrize(
    ("name", "delay_ms", "every_ms"),
    [
        # Statuses were told at the time of the batch, because the coordinator's clock was taken to be behind.
        ("eager-2.8.2", 2_331, 5_000),
        ("eager-2.8.2", 6_843, 5_000),
        ("eager-2.8.2", 18_622, 20_000),
        ("compatible-2.8.2", 4_352, 2_000),
        ("compatible-2.8.2", 14_215, 20_000),
        ("sessioned-4.3.1", 10_975, 20_000),
        ("zombie", 8_411, 20_000),
        ("zombie", 39_000, 2_000),
    ],
)
def test_records_that_are_read_late_are_no_clock_that_was_set(name: str, delay_ms: int, every_ms: int) -> None:
    """Only the partition of `__consumer_offsets` is behind, by the same time throughout."""
    _, _, rows = rows_of(name)
    delays = {place: delay_ms for place in places(rows) if place[0] == "__consumer_offsets"}
    check(name, fold(name, delays, every_ms))


@pytest.mark.parametrize("name", NAMES)
def test_cuts_alone_make_nothing_unknown(name: str) -> None:
    """Batches of any length, and delays that `status_lag_ms` allows for."""
    assert name == "steady" or any(one.downtime for one in whole(name).values()), "nothing would be compared"
    for every_ms in size((20_000,), (1_000, 20_000)):
        assert check(name, fold(name, {}, every_ms)) == 0
    _, _, rows = rows_of(name)
    delays = {place: 700 * number % 3_000 for number, place in enumerate(places(rows))}
    assert check(name, fold(name, delays, 2_000)) == 0
