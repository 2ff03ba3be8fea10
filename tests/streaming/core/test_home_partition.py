"""The partition that a group's records are in, on real brokers and in small cases worked out by Java."""

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.reading.coordinators import home_partition
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, decode
from tests.vector_files import CAPTURES

POSSIBLE = (1, 3, 5, 10, 25, 50)


@pytest.mark.parametrize("name", ["zombie", "steady", "sessioned-4.3.1", "eager-2.8.2"])
def test_real_brokers_put_their_records_there(name: str) -> None:
    settings = settings_of(CAPTURES / name)
    rows = [row for row in (decode(one, settings) for one in records_of(CAPTURES / name)) if row is not None]
    found = {(row.group, row.partition) for row in rows if row.group is not None and row.topic == OFFSETS_TOPIC}
    assert found
    assert any(all(home_partition(group, n) == at for group, at in found) for n in POSSIBLE)


def test_the_hash_is_that_of_a_java_string() -> None:
    """`"polygenelubricants".hashCode()` is Integer.MIN_VALUE, whose size a broker takes for 0."""
    assert home_partition("polygenelubricants", 50) == 0
    assert home_partition("a", 50) == 97 % 50
    assert home_partition("connect-cluster", 50) == 13
