"""What stands on stderr while Spark starts: the job's own lines, and none of Spark's."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
SESSION = """
import sys
from pathlib import Path

from rebalance_monitor.streaming.config.sections import SparkSection
from rebalance_monitor.streaming.spark.session import start_session, stop_session

spark = start_session(SparkSection(master="local[1]"), Path(sys.argv[1]), Path(sys.argv[1]))
print(spark.range(3).count())
stop_session(spark)
"""


def test_spark_says_nothing_of_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SESSION, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "3\n"
    # One line is the Java machine's, about a module that PySpark's launcher adds; nothing takes it out.
    assert [line for line in done.stderr.splitlines() if "incubator modules" not in line] == []
    # Java uses no recorded class data where a folder with files is on the class path, and this one is.
    assert not (tmp_path / "conf").exists()
