"""The recorded lines of `tests/vectors/coordinator-log`."""

from rebalance_monitor.streaming.core.coordinator_log.line import CoordinatorLog, CoordinatorReason
from tests.vector_files import VECTORS

LOGS = VECTORS / "coordinator-log"
RELEASES = ("2.8.2", "3.3.2", "3.9.1", "4.3.1")


def reasons_of(release: str) -> list[CoordinatorReason]:
    """What is read of a release's lines, in their order."""
    log = CoordinatorLog()
    lines = (LOGS / f"{release}.log").read_text(encoding="utf-8").splitlines()
    return [found for line in lines if (found := log.read(line)) is not None]
