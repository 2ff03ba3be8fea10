"""A group that went on under the classic protocol while nobody read: its KIP-848 life is over, and accuses nobody."""

from dataclasses import replace
from random import Random

import pytest

from rebalance_monitor.streaming.core.lifecycles import decode_offsets_record
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.replay import RawRecord
from tests.profile import LONG
from tests.streaming.core.targets.test_missing_records import found, own, records

CAPTURE = "kip848-a"
GROUPS = ("k-migrate", "k-migrate-coop")
AWAY_MS = 600_000
"""Longer than any time-out."""
STOPS = 6


def is_classic(record: RawRecord) -> bool:
    row = decode_offsets_record(
        record.topic, record.partition, record.offset, record.timestamp_ms, record.key, record.value
    )
    return row is not None and isinstance(row.body, GroupGeneration)


@pytest.mark.parametrize("group", GROUPS)
def test_a_conversion_that_nobody_read_ends_what_waits_for_time(group: str) -> None:
    every = records(CAPTURE, group)
    places = own(every)
    kinds = [is_classic(every[at]) for at in places]
    begun = kinds.index(False, 3)
    ended = kinds.index(True, begun)
    later = kinds.index(False, ended)
    # The first classic generations are missing, too; what follows the last ones concerns others alone.
    kept = [one for at, one in enumerate(every) if at > places[ended] and not places[later] <= at <= places[-1]]
    late = [replace(one, timestamp_ms=one.timestamp_ms + AWAY_MS) for one in kept]
    stops = places[begun + 1 : ended - 1]
    for stop in stops if LONG else Random(group).sample(stops, STOPS):
        harmful, wrong = found(CAPTURE, [*every[: stop + 1], *late])
        assert not harmful, stop
        assert not wrong, stop
