"""What is done about findings of groups with targets, where rules of several protocols say the same."""

from rebalance_monitor.streaming.core.incidents.step import looks, rejoins

COORDINATOR = looks(
    "The coordinator computes this by itself: look for errors of the group in the log of the broker that is named as "
    "COORDINATOR with `--state` above.",
    'grep -E "WARN|ERROR" server.log | grep "$GROUP" | tail',
    'kubectl logs $KAFKA_POD | grep -E "WARN|ERROR" | grep "$GROUP" | tail',
)
NEW_TARGET = rejoins(
    "If nothing is found there, restart one member (one without a `group.instance.id`): the coordinator computes a new "
    "target when it joins."
)
REPORT = looks("Compare the broker's release with Kafka's issues: no client can bring this about.")
UNCLEAN_ELECTION = looks(
    "An unclean leader election of the partition of `__consumer_offsets` loses records: look for one."
)
NEXT_RECORDS = "With the next records of the group in which it is not so."
