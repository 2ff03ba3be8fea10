"""`python -m tests.integration.raising_job CONFIG FOLDER GROUP`: `rebalance-monitor run` whose parts fail at will.

While FOLDER holds a file of a part's name, every step of that part raises. The fold fails at every generation of GROUP,
so there is something to notify people of.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from socketserver import BaseServer
from typing import Any
from unittest.mock import patch

from rebalance_monitor.streaming.cli.run import run
from rebalance_monitor.streaming.metrics.endpoint import PART as ENDPOINT
from rebalance_monitor.streaming.spark import job
from rebalance_monitor.streaming.spark.source import KafkaReader, KafkaSource, SourceOptions, source_called
from rebalance_monitor.streaming.supervision import Supervised
from tests.integration.poisoned_job import FailsAt

# The reader's process inherits the environment, and nothing else of this one.
FOLDER = "RM_TEST_RAISING"
SAMPLER = "sampler"


class Planted(BaseException):
    """What a part raises: no `Exception`, so nothing takes it for an error that it knows."""


def look(part: str) -> None:
    """Raises while the part is to fail."""
    if (Path(os.environ[FOLDER]) / part).exists():
        raise Planted(part)


class RaisingReader(KafkaReader):
    """The sampler asks which topics are wanted at every step."""

    def _wanted(self) -> dict[str, str]:
        look(SAMPLER)
        return super()._wanted()


class RaisingSource(KafkaSource):
    """The source with that reader."""

    def streamReader(self, schema: Any) -> KafkaReader:  # noqa: N802 - the name is PySpark's
        return RaisingReader(SourceOptions.parse(self.options))


def raising(begin: Callable[..., None]) -> Callable[..., None]:
    """The constructor of a supervised thread whose step first looks whether it is to fail."""

    def begin_raising(thread: Supervised, name: str, step: Callable[[], Any], *more: Any, **named: Any) -> None:
        def looking() -> Any:
            look(name)
            return step()

        begin(thread, name, looking, *more, **named)

    return begin_raising


def refusing(*_: object) -> bool:
    """What the endpoint's loop asks before it answers a request: one that fails here ends the loop."""
    look(ENDPOINT)
    return True


def main(config: str, folder: str, poisoned: str) -> int:
    os.environ[FOLDER] = folder
    with (
        patch.object(Supervised, "__init__", raising(Supervised.__init__)),
        patch.object(job, "source_called", lambda name: source_called(name, RaisingSource)),
        patch.object(BaseServer, "verify_request", refusing),
    ):
        return run(Namespace(config=config, shadow=None), FailsAt(poisoned))


if __name__ == "__main__":
    # By its own name, or the reader's process would not find its classes.
    from tests.integration import raising_job

    raise SystemExit(raising_job.main(*sys.argv[1:]))
