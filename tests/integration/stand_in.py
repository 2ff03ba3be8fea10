"""A monitor without Kafka, Spark and PostgreSQL: a process whose /metrics is made by the real exporter.

`python -m tests.integration.stand_in PORT CLUSTER` commits a batch twice a second and has one critical incident open.
"""

import sys
import time
from types import SimpleNamespace

from lab.ports import HOST
from rebalance_monitor.streaming.metrics.batch_view import BatchView
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.spark.channel import ReaderStatus
from tests.streaming.builders import incident

BATCH_EVERY_S = 0.5


def main(port: int, cluster: str) -> None:
    """Until it is ended."""
    exporter = Exporter(port, HOST, clusters=[cluster])
    exporter.start()
    exporter.observe([incident(cluster=cluster)])
    caught_up = ReaderStatus(at_ms=0, backlog={}, missing={}, problem=None, caught_up=True)
    nothing: dict[str, object] = {"kinds": {}, "unknown_tags": {}, "other_groups": {}, "fold_errors": {}}
    while True:
        exporter.reader(cluster, caught_up)
        exporter.batch(SimpleNamespace(cluster=cluster, rows=0, seconds=0.0, view=BatchView(), refused=(), **nothing))
        time.sleep(BATCH_EVERY_S)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
