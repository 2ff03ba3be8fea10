"""The laws on a group as it is, without a tally that follows it, whatever its kind."""

from collections.abc import Mapping, Sequence
from functools import partial

from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.streaming.core.model.records import PASSED_OVER, Row
from rebalance_monitor.streaming.core.targets import laws, operation
from rebalance_monitor.streaming.core.targets.breaches import Breach
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.kind import Kind
from rebalance_monitor.streaming.core.targets.kinds import CONSUMER, SHARE, STREAMS
from rebalance_monitor.streaming.core.targets.member_laws import SESSION_MS
from rebalance_monitor.streaming.core.targets.operation import Operation
from rebalance_monitor.streaming.core.targets.tally import Tally

Counts = Mapping[str, tuple[bytes, int]]
PARTS = {**CONSUMER.parts, **STREAMS.parts, **SHARE.parts}
"""No two kinds have records of one type."""
take_all = partial(operation.take_all, PARTS)
changed_by = partial(operation.changed_by, PARTS)
targets_of = partial(operation.targets_of, PARTS)


def tally_of(group: TargetGroup, kind: Kind = CONSUMER) -> Tally:
    return Tally(group, kind.terms(SESSION_MS))


def moment_of(at_ms: int, records: Sequence[GroupRecord], before: TargetGroup, after: TargetGroup) -> Operation:
    """What these records of one moment make of a group."""
    row = Row(topic="log", partition=0, offset=0, timestamp_ms=at_ms, group="g", body=PASSED_OVER)
    return Operation(PARTS, (row,), records, before, after, changed_by(records, before))


def state_findings(group: TargetGroup, counts: Counts | None = None, kind: Kind = CONSUMER) -> list[Breach]:
    """With what stands in no target, where partition counts are given."""
    lacks = [] if counts is None else target_incomplete(group, counts)
    return [*laws.state_findings(tally_of(group, kind)), *lacks]


def target_incomplete(group: TargetGroup, counts: Counts) -> list[Breach]:
    return list(laws.target_incomplete(tally_of(group), counts))


def overdue_findings(group: TargetGroup, now_ms: int) -> list[Breach]:
    return laws.overdue_findings(tally_of(group), now_ms)
