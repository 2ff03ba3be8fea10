"""What is declared of a metric."""

from dataclasses import dataclass
from typing import Literal

PREFIX = "rebalance_monitor_"
CLUSTER = "cluster"
"""The label that names the Kafka cluster, as declared here; `metrics.cluster_label` may expose it under another name.

One job watches one cluster, so in what a monitor says of itself this label also tells which monitor it is.
"""
LABEL_NAME = r"[a-zA-Z_][a-zA-Z0-9_]*"

MetricKind = Literal["counter", "gauge", "histogram", "info"]
Unit = Literal["none", "seconds", "timestamp_seconds", "bytes", "records", "bool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One series family. `name` is as exposed, `_total` and `_info` included; an info is a gauge fixed at 1.

    `buckets`: upper bounds of a histogram, in its unit.
    """

    name: str
    kind: MetricKind
    unit: Unit = "none"
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    def exposed_labels(self, cluster_label: str) -> tuple[str, ...]:
        """The labels with the name that the configuration gives to the cluster's."""
        return tuple(cluster_label if label == CLUSTER else label for label in self.labels)
