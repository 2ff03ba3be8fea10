"""What a daemon of PySpark has imported when it forks the first process."""

import json
import subprocess
import sys

import pytest

from rebalance_monitor.streaming.spark.daemon import OF_TASKS, WANTED

STARTED = """
import json, sys
from pyspark import daemon
daemon.manager = lambda: print(json.dumps(sorted(sys.modules)))
from rebalance_monitor.streaming.spark.daemon import main
main()
"""


@pytest.mark.parametrize(
    ("worker", "found"), [(OF_TASKS, set(WANTED)), ("pyspark.sql.worker.lookup_data_sources", set())]
)
def test_only_processes_of_tasks_find_their_modules_imported(worker: str, found: set[str]) -> None:
    done = subprocess.run([sys.executable, "-c", STARTED, worker], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) & set(WANTED) == found
