"""What the job sets of Spark, by where tasks run and where its files are."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from rebalance_monitor.streaming.config.sections import SparkSection
from rebalance_monitor.streaming.spark.session import spark_settings

ENABLED, FOLDER = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"
LONGEST = Path("/" + "x" * 59)


@pytest.mark.parametrize(
    ("master", "sockets", "used"),
    [
        ("local[2]", Path("/tmp/rebalance-monitor-abcdefgh"), True),
        ("local[2]", LONGEST, True),
        ("local[2]", LONGEST / "y", False),
        ("spark://one:7077", Path("/tmp/rebalance-monitor-abcdefgh"), False),
    ],
)
def test_java_and_python_of_one_machine_talk_through_sockets_whose_paths_fit(
    master: str, sockets: Path, used: bool
) -> None:
    settings = spark_settings(SparkSection(master=master), Path("/scratch"), sockets)
    assert (ENABLED in settings, settings.get(FOLDER)) == (used, str(sockets) if used else None)


def test_the_users_word_counts() -> None:
    section = SparkSection.model_validate({"conf": {ENABLED: "false"}})
    assert spark_settings(section, Path("/scratch"), Path("/sockets"))[ENABLED] == "false"
