"""Spark's checkpoint: never older or newer than the database, as each query has one of its own."""

from pathlib import Path
from unittest.mock import MagicMock

from rebalance_monitor.streaming.spark.job import Job


def test_each_query_begins_on_an_empty_checkpoint_whatever_the_one_before_left(tmp_path: Path) -> None:
    found: list[list[Path]] = []

    def start(epoch: int, checkpoint: Path) -> None:
        found.append(list(checkpoint.iterdir()))
        (checkpoint / "offsets").mkdir()
        raise OSError("the query could not start")

    (tmp_path / "checkpoint-of-a-killed-job" / "offsets").mkdir(parents=True)
    job = MagicMock(_scratch=tmp_path, _untold=False, _start=start, _failure=None)
    for _ in range(2):
        assert isinstance(Job._run_query(job, 1, job), OSError)
    assert found == [[], []]
    assert [one.name for one in tmp_path.iterdir()] == ["checkpoint-of-a-killed-job"]
