"""What Spark remembers of finished batches is bounded: a job makes several a second for months."""

from typing import Any

import pytest

pytestmark = pytest.mark.integration
BATCHES = 60
MOST = 20
REMEMBERED = (
    "org.apache.spark.status.JobDataWrapper",
    "org.apache.spark.status.StageDataWrapper",
    "org.apache.spark.status.TaskDataWrapper",
    "org.apache.spark.sql.execution.ui.SQLExecutionUIData",
    "org.apache.spark.sql.execution.ui.SparkPlanGraphWrapper",
)


def test_spark_forgets_finished_batches(spark: Any) -> None:
    for _ in range(BATCHES):
        assert spark.range(3).count() == 3
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    store, find = context.statusStore().store(), spark._jvm.java.lang.Class.forName
    kept = {name.rpartition(".")[2]: store.count(find(name)) for name in REMEMBERED}
    # One at least: else the class has another name in this release, and nothing was counted.
    assert all(0 < count <= MOST for count in kept.values()), kept
