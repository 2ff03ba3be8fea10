"""The laws on a group as it is, without a tally that follows it."""

from collections.abc import Mapping

from rebalance_monitor.streaming.core.epochs import laws
from rebalance_monitor.streaming.core.epochs.breaches import Breach
from rebalance_monitor.streaming.core.epochs.group import EpochGroup
from rebalance_monitor.streaming.core.epochs.tally import EpochTally
from rebalance_monitor.streaming.core.targets.timing import SESSION_MS

Counts = Mapping[str, tuple[bytes, int]]


def tally_of(group: EpochGroup) -> EpochTally:
    return EpochTally(group, SESSION_MS)


def state_findings(group: EpochGroup, counts: Counts | None = None) -> list[Breach]:
    """With what stands in no target, where partition counts are given."""
    return [*laws.state_findings(tally_of(group)), *([] if counts is None else target_incomplete(group, counts))]


def target_incomplete(group: EpochGroup, counts: Counts) -> list[Breach]:
    return list(laws.target_incomplete(tally_of(group), counts))


def overdue_findings(group: EpochGroup, now_ms: int) -> list[Breach]:
    return laws.overdue_findings(tally_of(group), now_ms)
