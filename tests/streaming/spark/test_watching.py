"""Which groups are there, and which of them are asked for."""

from rebalance_monitor.streaming.core.model.results import Standing
from rebalance_monitor.streaming.spark.watching import Watching
from tests.streaming.spark.memory_store import MemoryStore


def stands(group: str, state: str) -> Standing:
    return Standing(cluster="c", group=group, state=state, at_ms=0)


def test_a_group_is_there_until_it_is_deleted() -> None:
    """Also one that nobody asks for: its id tells whose changelogs begin with it."""
    watching = Watching(MemoryStore(), "c", ("orders",))
    watching.saw([stands("orders", "Stable"), stands("orders-eu", "Empty")])
    assert watching.present == {"orders", "orders-eu"}
    assert watching.groups() == {"orders"}
    watching.saw([stands("orders", "Dead"), stands("orders-eu", "Dead")])
    assert not watching.present
    assert not watching.groups()
