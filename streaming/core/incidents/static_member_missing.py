"""The rule about static members that stay away, in whatever kind of group has them."""

from rebalance_monitor.streaming.core.incidents.confirming import MEMBERS
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import looks
from rebalance_monitor.streaming.core.model.results import Severity

STATIC_MEMBER_MISSING = Rule(
    code="GROUP-G4",
    title="static_member_missing",
    alert="KafkaGroupStaticMemberMissing",
    wrong="A static member went, did not come back, and nobody came instead.",
    severity=Severity.INFO,
    needs_every_generation=False,
    for_ms=0,
    patience="after 10 min beyond the member's session time-out",
    meaning="An instance id (`group.instance.id`) that was in a group is in it again soon after its session time-out.",
    exceptions=(
        "it comes back within the patience",
        "it left by a request",
        "another member comes instead, before or after",
        "no static member is left in the group",
    ),
    confirm=(MEMBERS,),
    advice=(
        looks(
            "The message names the client and the host of the member's last process, and what it held: see whether "
            "that host runs, and what the process logged last."
        ),
        looks("Other members have its partitions now: compare their lag with what it was before."),
        looks("If it was stopped for good, nothing is wrong: the incident ends a day after it opened."),
    ),
    resolves="When the instance id or another member joins, when no static member is left, or a day after it opened.",
)

RULES = (STATIC_MEMBER_MISSING,)
