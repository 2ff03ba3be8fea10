"""What is done about findings of groups with targets, where rules of several protocols say the same."""

from rebalance_monitor.streaming.core.incidents.step import looks

COORDINATOR = looks("The coordinator computes this by itself: look for errors of the group in its broker's log.")
REPORT = looks("Compare the broker's release with Kafka's issues: no client can bring this about.")
UNCLEAN_ELECTION = looks(
    "An unclean leader election of the partition of `__consumer_offsets` loses records: look for one."
)
NEXT_RECORDS = "With the next records of the group in which it is not so."
