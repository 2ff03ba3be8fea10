"""Which verdicts wait for a sample of the topics, and for which one.

A leader may know of a change before any sample shows it: partitions were added, a topic was made, a broker died. So a
verdict that the samples so far do not support waits for one that was surely asked after the record.

    10:00:00  sample      t has 3 partitions
    10:00:07  record      t-0 to t-5 are given: no sample shows six, so the record waits
    10:00:09  sample      t has 6 partitions: explainable
"""

from collections.abc import Sequence

from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.topics import CLOCKS_APART_MS
from rebalance_monitor.streaming.core.fold.published import body_of
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import Row, Waiting
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from .subscriptions import subscription_of
from .topic_views import SAMPLE_AGE_MS

MISSING = "a sample of the topics that was taken after the record"
METADATA_AGE_MS = 2_000
"""A broker learns of new topics and partitions at most so long after another one, where both are well."""


def rests_on_samples(verdict: Verdict) -> bool:
    """Whether a later sample may make another verdict of it."""
    kind = None if verdict.reason is None else verdict.reason.kind
    return verdict.grade is Grade.UNEXPLAINED or kind in (ReasonKind.PARTITIONS_UNKNOWN, ReasonKind.COUNTS_INFERRED)


def asked_from_ms(head: Waiting, *, racks: bool) -> int:
    """From when on a sample must have been asked, by the monitor's clock, to know what this record's leader knew.
    `racks`: the cluster has some; that of a dead broker is shown for a while."""
    # A record that was read later than so long after its time was surely written before.
    written_ms = min(head.arrived_ms, head.row.timestamp_ms + CLOCKS_APART_MS)
    wanted = map(subscription_of, body_of(head.row).members)
    states_one = any(one is not None and one.rack for one in wanted)
    return written_ms + (SAMPLE_AGE_MS if racks and states_one else METADATA_AGE_MS)


def none_will_come(knowledge: Knowledge, written_ms: int) -> bool:
    """Whether the last of all samples was taken before a record of this time: so it is in a capture that ends without
    one."""
    last_ms = knowledge.topics.asked_ms
    return not knowledge.asked and last_ms is not None and last_ms < written_ms


def times_of(row: Row, head: Waiting | None) -> Sequence[int]:
    """When the record was written, by the clock of samples: its own time, and when it was read as it came, where the
    coordinator's clock may be another one."""
    if head is None or head.row is not row or not head.ticked or abs(head.arrived_ms - row.timestamp_ms) <= SKEW_MS:
        return (row.timestamp_ms,)
    return row.timestamp_ms, head.arrived_ms


def without(verdict: Verdict) -> Verdict:
    """The verdict where that sample never came: nothing is unexplained then."""
    if verdict.grade is not Grade.UNEXPLAINED:
        return verdict
    reason = Reason(ReasonKind.PARTITIONS_UNKNOWN, f"partition counts not known: {MISSING} never came")
    return Verdict(grade=Grade.NOT_JUDGED, assignor=verdict.assignor, reason=reason)
