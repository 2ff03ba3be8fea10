"""The recorded lines of `tests/vectors/coordinator-log`."""

from pathlib import Path

from rebalance_monitor.streaming.core.coordinator_log.line import CoordinatorLog, CoordinatorReason

LOGS = Path(__file__).parents[3] / "vectors" / "coordinator-log"
RELEASES = ("2.8.2", "3.3.2", "3.9.1", "4.3.1")


def reasons_of(release: str) -> list[CoordinatorReason]:
    """What is read of a release's lines, in their order."""
    log = CoordinatorLog()
    lines = (LOGS / f"{release}.log").read_text(encoding="utf-8").splitlines()
    return [found for line in lines if (found := log.read(line)) is not None]
