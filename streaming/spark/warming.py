"""A query of nothing: what a standby runs once, so that its first true query need not wait for Spark.

Spark loads what streaming takes and starts four kinds of Python processes when a session's first query starts. With
them there, the next query reads within seconds.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from .daemon import of_folds

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FORMAT = "rebalance_monitor_nothing"
SCHEMA = "id long"


class NothingSource(DataSource):  # type: ignore[misc]  # PySpark is not followed by the type checker
    """One batch, a partition for each task, without a row."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> "NothingReader":  # noqa: N802 - the names are PySpark's
        return NothingReader(int(self.options["tasks"]))


class NothingReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Offsets are 0 and 1."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"at": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        return {"at": 1}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        pass

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(self._tasks)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        return iter(())


def warm_up(spark: "SparkSession", scratch: Path) -> None:
    """Runs it to its end. Raises what Spark raises."""
    spark.dataSource.register(NothingSource)
    source = spark.readStream.format(FORMAT).option("tasks", str(spark.sparkContext.defaultParallelism))
    query = (
        source.load()
        .writeStream.foreachBatch(_folded)
        .option("checkpointLocation", (scratch / "warming").as_uri())
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def _folded(frame: Any, _: int) -> None:
    """As a bundle is: by Python, in the reading task."""
    with of_folds(frame.sparkSession.sparkContext.environment):
        folded = frame.mapInArrow(_same, SCHEMA)
    folded.collect()


def _same(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    return batches
