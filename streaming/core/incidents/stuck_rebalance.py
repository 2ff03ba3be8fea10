"""The rule about a rebalance that does not end, in whatever kind of classic group."""

from rebalance_monitor.streaming.core.incidents.confirming import GROUP_STATE, REBALANCES, TOO_FEW_REPLICAS
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import looks, rejoins
from rebalance_monitor.streaming.core.model.results import Severity

STUCK_REBALANCE = Rule(
    code="GROUP-G1",
    title="stuck_rebalance",
    alert="KafkaGroupStuckRebalance",
    wrong="A rebalance of the group does not end: nobody gets an assignment.",
    severity=Severity.CRITICAL,
    needs_every_generation=False,
    for_ms=0,
    pages=True,
    patience="after the longest rebalance time-out of the last record's members (Connect: and their session time-out)",
    meaning="A group is in PreparingRebalance, and then in CompletingRebalance, no longer than its members allow.",
    exceptions=(
        "a generation was written meanwhile",
        "a group that is polled was seen settled, or with other members, meanwhile",
        "the brokers were not asked, or did not answer",
        "a group whose last record has no members, so that nobody knows its time-outs",
    ),
    confirm=(GROUP_STATE, REBALANCES, TOO_FEW_REPLICAS),
    advice=(
        looks("See which members the group's page lists: the coordinator waits for one of them to join again."),
        looks(
            "Look at each member's process: one that is busy with a record, or pausing, joins only when it polls again."
        ),
        rejoins("Restart a process that hangs: the coordinator waits for it no longer than its session time-out then."),
        looks("If all processes are well, the brokers cannot end the rebalance: look at them, not at the members."),
        looks("When it ends, the incident names the members that did not join again."),
    ),
    resolves="With the next record of the group; where it is polled, when it is seen settled or with other members.",
)

RULES = (STUCK_REBALANCE,)
