"""The law of every classic group: each member of a completed generation has bytes that can be read."""

from collections.abc import Iterator

from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.records import BadBlob, GroupGeneration
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Subject


def unreadable_members(body: GroupGeneration, evidence: Evidence, rule: Rule) -> Iterator[Finding]:
    """Members whose bytes Kafka's own classes reject; an empty assignment means the leader left the member out."""
    for member in body.members:
        if not member.subscription_bytes and not member.assignment_bytes:
            continue
        for what, blob in (("subscription", member.subscription), ("assignment", member.assignment)):
            if isinstance(blob, BadBlob):
                yield Finding(
                    rule=rule,
                    severity=Severity.HIGH,
                    certainty=Certainty.CERTAIN,
                    subjects=(Subject("member", member.member_id),),
                    message=f"the {what} of {member.member_id} cannot be decoded: {blob.reason}",
                    evidence=(evidence,),
                )
                break
