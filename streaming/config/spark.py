"""How the streaming query runs."""

from typing import Annotated

from pydantic import Field

from rebalance_monitor.streaming.config.section import Milliseconds, Section, shaped

MASTER = (
    r"^(local(\[(\d+|\*)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://[^\s/]+:\d+(,[^\s/]+:\d+)*|yarn|k8s://\S+)$"
)
"""Where Spark runs, in the forms that Spark knows."""


class SparkSection(Section):
    """Spark's own settings. The checkpoint is disposable: progress lives in the database."""

    master: Annotated[str, Field(pattern=MASTER)] = "local[2]"
    driver_memory: Annotated[str, shaped(r"\d+[kmgKMG]", "a number with its unit, such as 900m or 2g")] = "900m"
    trigger_ms: Milliseconds = 100
    checkpoint_dir: str | None = None
    java_home: str | None = None
