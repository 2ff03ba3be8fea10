"""What `config check --connect` says of partitions that are not read, and of clocks."""

from collections.abc import Mapping

import pytest

from rebalance_monitor.streaming.cli.config_coverage import AHEAD_MS, clock_problem, not_covered

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("leaders", "ends", "begins"),
    [
        ({0: 1, 1: None, 2: None}, {0: 7}, "2 partitions (1, 2) no broker leads, so they are not read; start the"),
        ({0: 1, 2: 1}, {0: 7, 2: 7}, "brokers do not tell of 1 partition (1); ask again"),
        ({0: 1, 1: 1}, {0: 7, 1: None}, "the leaders of 1 partition (1) do not answer; check advertised.listeners"),
        (dict.fromkeys(range(9)), {}, "9 partitions (0, 1, 2, 3, 4, …) no broker leads"),
    ],
)
def test_partitions_that_are_not_read_are_named(
    leaders: Mapping[int, int | None], ends: Mapping[int, int | None], begins: str
) -> None:
    assert (not_covered(leaders, ends) or "").startswith(begins)


def test_all_partitions_answer() -> None:
    assert not_covered({0: 1, 1: 2}, {0: 0, 1: 9}) is None
    assert not_covered({}, {}) is None


def test_only_a_record_of_the_future_shows_that_clocks_differ() -> None:
    assert clock_problem([NOW_MS + AHEAD_MS, -1, None], NOW_MS) is None
    assert clock_problem([], NOW_MS) is None
    told = clock_problem([NOW_MS - 9_000_000, NOW_MS + 90_000], NOW_MS)
    assert told is not None
    assert told.startswith("the newest record is 90 s ahead of this host's clock; synchronize the clocks")
