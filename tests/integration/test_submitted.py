"""A session whose user says more than the job does: by `spark.conf`, by `spark-submit`, by the environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.process import Progress
from tests.integration.watched import own_lab

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
SESSION = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from rebalance_monitor.streaming.config.sections import SparkSection
from rebalance_monitor.streaming.spark.session import start_session, stop_session

conf = {"spark.ui.retainedJobs": 5, "spark.ui.retainedStages": 6}
spark = start_session(SparkSection.model_validate({"conf": conf}), Path(sys.argv[1]), Path(sys.argv[1]))
told = dict(spark.sparkContext.getConf().getAll())
told["sum"] = spark.range(4).selectExpr("sum(id)").collect()[0][0]
told["python"] = os.environ["PYSPARK_PYTHON"]
print(json.dumps(told), flush=True)
stop_session(spark)
"""


def test_the_command_line_outranks_the_configuration_and_that_our_defaults(tmp_path: Path) -> None:
    script = tmp_path / "submitted.py"
    script.write_text(SESSION)
    with own_lab("submitted", Progress(quiet=True)) as lab:
        command = [
            str(Path(sys.executable).parent / "spark-submit"), "--master", "local[1]", "--name", "mine",
            "--conf", "spark.ui.retainedJobs=3", str(script), str(lab.folder / "scratch"), str(ROOT),
        ]  # fmt: skip
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["spark.master"], told["spark.app.name"], told["spark.ui.retainedJobs"]) == ("local[1]", "mine", "3")
    assert told["spark.ui.retainedStages"] == "6"
    assert told["spark.sql.streaming.pollingDelay"] == "20ms"
    assert told["spark.driver.host"] == "127.0.0.1"
    assert told["sum"] == 6
    assert told["python"] == sys.executable
