"""Which partition of the coordinator's log holds a group's records (`docs/protocol/coordinator-log.md`)."""

from rebalance_monitor.assignors.java_order import java_hash

_HALF = 2**31


def home_partition(group: str, partitions: int) -> int:
    """As a broker works it out: the size of Java's hash of the group id, modulo the number of partitions.

    home_partition("connect-cluster", 50) -> 13
    """
    number = java_hash(group)
    return (number if number < _HALF else (2 * _HALF - number) % _HALF) % partitions
