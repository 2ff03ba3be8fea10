"""`python -m rebalance_monitor.streaming.spark.daemon WORKER_MODULE`: PySpark's daemon, which forks a process for each
task that runs. What these processes need is imported before it forks: once, and in memory that they share.

A task has two processes: one hands on the ranges that it is to read, the other one reads and folds them. Spark takes
any process that is free, unless the functions want different environments; without that each process would fold now and
then, and hold the memory that folding takes. Spark starts one daemon for each environment and kind of worker; those
that only look at the source when a query starts need nothing.
"""

import gc
import importlib
import os
import sys
import threading
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager

OF_TASKS = "pyspark.worker"
FOLDS = "REBALANCE_MONITOR_FOLDS"
OF_RANGES = ("rebalance_monitor.streaming.spark.one_value", "rebalance_monitor.streaming.spark.source")
OF_FOLDS = (
    *OF_RANGES,
    "confluent_kafka",
    "rebalance_monitor.streaming.spark.reading",
    "rebalance_monitor.streaming.spark.tasks",
    "rebalance_monitor.streaming.store.postgres",
)
_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def of_folds(environment: MutableMapping[str, str]) -> Iterator[None]:
    """Functions that PySpark makes meanwhile run in processes that fold. `environment`: of the SparkContext, which
    several queries use."""
    with _ONE_AT_A_TIME:
        environment[FOLDS] = "1"
        try:
            yield
        finally:
            del environment[FOLDS]


def main() -> None:
    """Until Spark ends it."""
    if sys.argv[1:2] == [OF_TASKS]:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing is multiplied here; each thread has a buffer
        for name in OF_FOLDS if FOLDS in os.environ else OF_RANGES:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()  # else the first collection of each process would write to all of it
    from pyspark import daemon

    daemon.manager()


if __name__ == "__main__":
    main()
