"""What the job sets of Spark, by where tasks run and where its files are."""

import tempfile
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from rebalance_monitor.streaming.config.sections import SparkSection
from rebalance_monitor.streaming.spark.clusters import for_sockets
from rebalance_monitor.streaming.spark.session import fits_sockets, spark_settings

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


def test_executors_elsewhere_have_a_java_as_small_as_the_drivers() -> None:
    elsewhere, here = (
        spark_settings(SparkSection(master=master), Path("/scratch"), Path("/sockets"))
        for master in ("spark://one:7077", "local[2]")
    )
    for option in elsewhere["spark.executor.extraJavaOptions"].split():
        assert option in elsewhere["spark.driver.extraJavaOptions"].split()
    assert "spark.executor.extraJavaOptions" not in here


def test_the_users_word_counts() -> None:
    section = SparkSection.model_validate({"conf": {ENABLED: "false"}})
    assert spark_settings(section, Path("/scratch"), Path("/sockets"))[ENABLED] == "false"


def test_where_the_path_is_too_long_sockets_have_a_folder_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with for_sockets(LONGEST) as folder:
        assert folder == LONGEST
    with for_sockets(LONGEST / "y") as folder:
        assert folder.is_dir()
        assert fits_sockets(folder)
    assert not folder.exists()
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nowhere")
    with for_sockets(LONGEST / "y") as folder:
        assert folder == LONGEST / "y", "without one the job runs, over TCP"
