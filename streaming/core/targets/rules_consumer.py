"""Rules about KIP-848 consumer groups: EPOCHS-E1 to E10 are the laws of docs/protocol/coordinator-log.md 6.4 by number,
E11 is the other half of law 2. Rules about other kinds of groups are these with other words; `rules` has them all."""

from functools import partial

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.incidents.confirming import MEMBERS
from rebalance_monitor.streaming.core.incidents.rule import Check, Rule
from rebalance_monitor.streaming.core.incidents.step import looks, rejoins
from rebalance_monitor.streaming.core.model.findings import Severity

STATE = Check(
    "kafka-consumer-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP --state --verbose",
    "the group's state, its assignor, and how far the group epoch is ahead of the target's",
)
CONFIRM = (STATE, MEMBERS)
COORDINATOR = looks(
    "The coordinator computes this by itself: look for errors of the group in the log of the broker that is named as "
    "COORDINATOR with `--state` above.",
    'grep -E "WARN|ERROR" server.log | grep "$GROUP" | tail',
    'kubectl logs $KAFKA_POD | grep -E "WARN|ERROR" | grep "$GROUP" | tail',
)
NEW_TARGET = rejoins(
    "If nothing is found there, restart one member (one without a `group.instance.id`): the coordinator computes a new "
    "target when it joins."
)
OF_NO_CLIENT = (
    COORDINATOR,
    looks("Compare the broker's release with Kafka's issues: no client can bring this about."),
)
UNCLEAN_ELECTION = looks(
    "An unclean leader election of the partition of `__consumer_offsets` loses records: look for one."
)
FAILOVER = looks("The coordinator begins to count anew when another broker takes over: look for a failover.")
rule_of_target = partial(Rule, resolves="With the next records of the group in which it is not so.")
_CLIENT = looks("Look at the client that the message names: it may be in a long poll loop, paused, or cut off.")

TWO_HOLDERS = rule_of_target(
    code="EPOCHS-E1",
    title="partition_with_two_owners",
    alert="KafkaConsumerPartitionWithTwoOwners",
    wrong="Two consumers of one group were given the same partition.",
    severity=Severity.CRITICAL,
    meaning="What members hold, or have yet to give up, is disjoint: a partition is handed out when nobody has it.",
    advice=(
        looks("Both consumers handle the partition's records, and each commits over the other's offsets."),
        *OF_NO_CLIENT,
    ),
)
TWO_TARGETS = replace(
    TWO_HOLDERS,
    code="EPOCHS-E2",
    meaning="A partition stands in one member's target at most.",
    advice=(
        looks("The second of the two waits for a partition that it never gets, or both consume it."),
        *OF_NO_CLIENT,
    ),
)
EPOCHS_FALL = rule_of_target(
    code="EPOCHS-E3",
    title="epochs_out_of_order",
    alert="KafkaConsumerEpochsOutOfOrder",
    wrong="An epoch of a KIP-848 group went back, or passed the one that it follows.",
    severity=Severity.HIGH,
    meaning="A member's epoch follows the target's and the target's the group's, and none of them goes back.",
    exceptions=(
        "the group was deleted and made again",
        "the member was removed and joined again",
        "a static member that came back",
    ),
    advice=(UNCLEAN_ELECTION, COORDINATOR),
)
UNLIKE_TARGET = rule_of_target(
    code="EPOCHS-E4",
    title="held_unlike_target",
    alert="KafkaConsumerHeldUnlikeTarget",
    wrong="A consumer is stable and holds something else than its target.",
    severity=Severity.HIGH,
    meaning="A member that is stable at the newest target's epoch holds exactly its target.",
    exceptions=(
        "a subscription that became smaller, while a target is due",
        "another regular expression, until it is resolved",
        "a static member that is away",
    ),
    advice=OF_NO_CLIENT,
)
UNLIKE_STATE = rule_of_target(
    code="EPOCHS-E5",
    title="member_state_inconsistent",
    alert="KafkaConsumerMemberStateInconsistent",
    wrong="The state of a consumer does not fit what it holds.",
    severity=Severity.MEDIUM,
    meaning="Exactly the members that revoke have partitions to give up. Until then they gain none, and who held a "
    "partition that its target names keeps it.",
    exceptions=("a state that no known release has", "a subscription that became smaller, while a target is due"),
    advice=OF_NO_CLIENT,
)
WAITS_FOR_NOTHING = replace(
    UNLIKE_STATE,
    code="EPOCHS-E6",
    meaning="A member that waits for partitions holds a proper part of its target.",
    exceptions=(),
)
STUCK_REVOKING = rule_of_target(
    code="EPOCHS-E7",
    title="stuck_reconciliation",
    alert="KafkaConsumerStuckReconciliation",
    wrong="A consumer does not reach its target.",
    severity=Severity.HIGH,
    for_ms=0,
    patience="after the member's rebalance time-out and 10 s more",
    meaning="A member gives up what it has to within its rebalance time-out (`max.poll.interval.ms`); if not, the "
    "coordinator removes it.",
    exceptions=("the coordinator removed the member in time",),
    advice=(
        _CLIENT,
        looks("Other consumers wait for what it holds: the group's page names them."),
        FAILOVER,
    ),
    resolves="When the member gives the partitions up, or is removed.",
)
LAGGING = rule_of_target(
    code="EPOCHS-E8",
    title="member_lagging",
    alert="KafkaConsumerMemberLagging",
    wrong="A consumer has not asked for the newest target for longer than its session time-out.",
    severity=Severity.MEDIUM,
    for_ms=0,
    patience="after the broker's session time-out (45 s) and 5 s more",
    meaning="A member moves to a new target with its next heartbeat; one that sends none is removed.",
    exceptions=(
        "it has partitions to give up first",
        "a member of the classic protocol has its rebalance time-out, too",
    ),
    advice=(
        _CLIENT,
        looks("A broker with a longer `group.consumer.session.timeout.ms` waits longer than 45 s."),
        FAILOVER,
    ),
    resolves="When the member moves, or is removed.",
)
WAITING_LONG = replace(
    STUCK_REVOKING,
    code="EPOCHS-E9",
    patience="after twice the longest rebalance time-out, the session time-out and 10 s more",
    meaning="A member that waits gets its partitions within the time that their holders may take.",
    exceptions=("a newer target came meanwhile",),
    advice=(
        looks("The message names who holds what it waits for: look at that client first."),
        looks("Partitions that nobody holds are handed out with the waiting member's own heartbeat."),
    ),
    resolves="When the member has its target, or gets another one.",
)
NO_TARGET = rule_of_target(
    code="EPOCHS-E10",
    title="target_overdue",
    alert="KafkaConsumerTargetOverdue",
    wrong="A KIP-848 group needs a new target and gets none.",
    severity=Severity.HIGH,
    for_ms=0,
    patience="after the broker's session time-out (45 s) and 5 s more",
    meaning="The coordinator computes a target with the next heartbeat after a new group epoch.",
    exceptions=("nobody is in the group", "members of the classic protocol alone have their rebalance time-out, too"),
    advice=(
        COORDINATOR,
        looks("An assignor of the broker's own (`group.consumer.assignors`) may fail: its errors are in that log."),
        looks("A broker with a longer `group.consumer.session.timeout.ms` waits longer than 45 s."),
    ),
    resolves="With the next target.",
)
WITHOUT_OWNER = rule_of_target(
    code="EPOCHS-E11",
    title="partition_without_owner",
    alert="KafkaConsumerPartitionWithoutOwner",
    wrong="No consumer of the group has a partition of a topic that the group subscribes to.",
    severity=Severity.CRITICAL,
    for_ms=0,
    pages=True,
    patience="after the longest rebalance time-out, the session time-out and 5 min more",
    meaning="The newest target holds every partition of every subscribed topic that exists.",
    exceptions=("a new target is due", "a target that came in time"),
    advice=(
        looks("Nobody reads these partitions: their lag grows until a member has them. The group's page names them."),
        COORDINATOR,
        NEW_TARGET,
    ),
    resolves="With the target that gives the partitions to a member.",
)
