"""The folder for what a run need not keep: Spark's checkpoint, its local files, the reader's channel."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streaming.spark.failures import no_room


@contextmanager
def scratch_folder(configured: str | None) -> Iterator[Path]:
    """A private folder for this run, gone at its end: nothing in it is needed again. Raises CannotRun."""
    try:
        if configured is not None:
            Path(configured).mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="rebalance-monitor-", dir=configured))
    except OSError as why:
        raise no_room(configured or "the temporary folder", why) from why
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
