"""What may be behind a target of a group's coordinator, and why one cannot be judged, whatever the group's protocol."""

from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import Grade, Verdict

OTHER_TOPICS = Reason(
    ReasonKind.UNKNOWN_TOPICS, "the coordinator may have known other topics or partitions at that time"
)
INFERRED = Reason(ReasonKind.UNKNOWN_TOPICS, "partition counts are not known: taken from the target itself")

RECORDS_MISSING = Reason(ReasonKind.EVIDENCE_MISSING, "records of the group before this target were not read")
SUBSCRIPTION_MISSING = Reason(ReasonKind.EVIDENCE_MISSING, "the subscription of a member was not read")
BY_WHAT_WAS_READ = Reason(
    ReasonKind.HISTORY_MISSING, "records of the group before this target were not read; those that were give it"
)
SUBSCRIPTION_ASSUMED = Reason(
    ReasonKind.UNKNOWN_SUBSCRIPTION, "the subscription of a member was not read: taken from the targets"
)
OVERTAKEN = Reason(
    ReasonKind.EVIDENCE_MISSING, "the group changed while this target was computed: who was in it before is not known"
)
"""A target of an earlier epoch than the group's: coordinators after 4.3 compute targets beside the heartbeats
(KIP-1263), so who joined or left meanwhile was not in the assignor's input."""
MAYBE_MISSING = Reason(
    ReasonKind.EVIDENCE_MISSING,
    "offsets of the log were not read: records of the group may be missing before this target",
)
MANY_ORDERS = Reason(
    ReasonKind.EQUAL_CHOICE, "member ids share places in the coordinator's map in more orders than are tried"
)
CANNOT_RUN = Reason(ReasonKind.CANNOT_RUN, "the assignor of no release can be run on this input")


def other_release(assignor: str, era: str) -> Reason:
    """Only the assignor of other releases gives this target."""
    return Reason(ReasonKind.OTHER_RELEASE, f"{assignor} of the releases {era}")


def not_judged(assignor: str | None, why: Reason) -> Verdict:
    return Verdict(grade=Grade.NOT_JUDGED, assignor=assignor, reason=why)
