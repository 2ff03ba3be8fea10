"""What a daemon of PySpark has imported when it forks the first process."""

import json
import os
import subprocess
import sys

import pytest

from rebalance_monitor.streaming.spark.daemon import FOLDS, OF_FOLDS, OF_RANGES, OF_TASKS

STARTED = """
import json, sys
from pyspark import daemon
daemon.manager = lambda: print(json.dumps(sorted(sys.modules)))
from rebalance_monitor.streaming.spark.daemon import main
main()
"""


@pytest.mark.parametrize(
    ("worker", "environment", "found"),
    [
        (OF_TASKS, {FOLDS: "1"}, set(OF_FOLDS)),
        (OF_TASKS, {}, set(OF_RANGES)),
        ("pyspark.sql.worker.lookup_data_sources", {}, set()),
    ],
)
def test_processes_find_what_they_need_imported(worker: str, environment: dict[str, str], found: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTED, worker], env={**os.environ, **environment}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    imported = set(json.loads(done.stdout))
    assert imported & set(OF_FOLDS) == found, "all that they need, and nothing that only other processes need"
