"""`python -m rebalance_monitor.streaming.spark.daemon WORKER_MODULE`: PySpark's daemon, which forks a process for each
task that runs. What reading and folding need is imported before it forks: once, and in memory that they share.

Spark starts one daemon for each kind of worker; those that only look at the source when a query starts need nothing.
"""

import gc
import importlib
import os
import sys

OF_TASKS = "pyspark.worker"
WANTED = (
    "confluent_kafka",
    "rebalance_monitor.streaming.spark.reading",
    "rebalance_monitor.streaming.spark.source",
    "rebalance_monitor.streaming.spark.tasks",
    "rebalance_monitor.streaming.store.postgres",
)


def main() -> None:
    """Until Spark ends it."""
    if sys.argv[1:2] == [OF_TASKS]:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing is multiplied here; each thread has a buffer
        for name in WANTED:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()  # else the first collection of each process would write to all of it
    from pyspark import daemon

    daemon.manager()


if __name__ == "__main__":
    main()
