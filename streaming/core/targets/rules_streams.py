"""Rules about Streams groups of the new protocol (KIP-1071): EPOCHS-T1 to T11 are the laws EPOCHS-E1 to E11 of tasks,
T12 and T13 are about copies (docs/protocol/coordinator-log.md 7.1)."""

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.incidents.rule import Check
from rebalance_monitor.streaming.core.incidents.step import looks
from rebalance_monitor.streaming.core.model.findings import Severity
from . import rules_consumer
from .rules_consumer import COORDINATOR, FAILOVER, NEW_TARGET, OF_NO_CLIENT, rule_of_target

STATE = Check(
    "kafka-streams-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP --state --verbose",
    "the state of a Streams group of the new protocol, and how far the group epoch is ahead of the target's",
)
MEMBERS = Check(
    "kafka-streams-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP --members --verbose",
    "each member of a Streams group of the new protocol with its process, its epoch, its tasks and its target",
)
CONFIRM = (STATE, MEMBERS)
_CLIENT = looks("Look at the thread that the message names: it may be restoring, in a long poll loop, or cut off.")

TWO_HOLDERS = replace(
    rules_consumer.TWO_HOLDERS,
    code="EPOCHS-T1",
    title="streams_task_with_two_actives",
    alert="KafkaStreamsTaskWithTwoActives",
    wrong="Two threads of a Streams application were given the same task to run.",
    meaning="What members run, or have yet to give up, is disjoint: an active task is handed out when nobody has it.",
    advice=(
        looks("Both threads handle the task's records, and both write its changelog: results may be wrong since then."),
        *OF_NO_CLIENT,
    ),
)
TWO_TARGETS = replace(
    TWO_HOLDERS,
    code="EPOCHS-T2",
    meaning="A task is active in one member's target at most.",
    advice=(looks("The second of the two waits for a task that it never gets, or both run it."), *OF_NO_CLIENT),
)
EPOCHS_FALL = replace(
    rules_consumer.EPOCHS_FALL,
    code="EPOCHS-T3",
    title="streams_epochs_out_of_order",
    alert="KafkaStreamsEpochsOutOfOrder",
    wrong="An epoch of a Streams group went back, or passed the one that it follows.",
)
UNLIKE_TARGET = replace(
    rules_consumer.UNLIKE_TARGET,
    code="EPOCHS-T4",
    title="streams_held_unlike_target",
    alert="KafkaStreamsHeldUnlikeTarget",
    wrong="A thread of a Streams application is stable and has other tasks than its target.",
    meaning="A member that is stable at the newest target's epoch has exactly the tasks of its target, in their roles.",
    exceptions=("a target is due, and it has less", "a static member that is away"),
)
UNLIKE_STATE = replace(
    rules_consumer.UNLIKE_STATE,
    code="EPOCHS-T5",
    title="streams_member_state_inconsistent",
    alert="KafkaStreamsMemberStateInconsistent",
    wrong="The state of a thread of a Streams application does not fit the tasks that it has.",
    meaning="Exactly the members that revoke have tasks to give up. Until then they gain none, and who had a task that "
    "its target names keeps it.",
    exceptions=("a state that no known release has",),
)
WAITS_FOR_NOTHING = replace(
    UNLIKE_STATE,
    code="EPOCHS-T6",
    meaning="A member that waits for tasks has a proper part of its target.",
    exceptions=(),
)
STUCK_REVOKING = replace(
    rules_consumer.STUCK_REVOKING,
    code="EPOCHS-T7",
    title="streams_stuck_reconciliation",
    alert="KafkaStreamsStuckReconciliation",
    wrong="A thread of a Streams application does not reach its target.",
    advice=(
        _CLIENT,
        looks("Other threads wait for what it has: the group's page names them."),
        FAILOVER,
    ),
    resolves="When the member gives the tasks up, or is removed.",
)
LAGGING = replace(
    rules_consumer.LAGGING,
    code="EPOCHS-T8",
    title="streams_member_lagging",
    alert="KafkaStreamsMemberLagging",
    wrong="A thread of a Streams application has not asked for the newest target for longer than its session time-out.",
    exceptions=("it has tasks to give up first",),
    advice=(
        _CLIENT,
        looks("A broker with a longer `group.streams.session.timeout.ms` waits longer than 45 s."),
        FAILOVER,
    ),
)
WAITING_LONG = replace(
    STUCK_REVOKING,
    code="EPOCHS-T9",
    patience=rules_consumer.WAITING_LONG.patience,
    meaning="A member that waits gets its tasks within the time that their holders may take. A copy also waits for "
    "every other copy of the task in its process.",
    exceptions=("a newer target came meanwhile",),
    advice=(
        looks("The message names who has what it waits for: look at that thread first."),
        looks("Tasks that nobody has are handed out with the waiting member's own heartbeat."),
    ),
    resolves="When the member has its target, or gets another one.",
)
NO_TARGET = replace(
    rules_consumer.NO_TARGET,
    code="EPOCHS-T10",
    title="streams_target_overdue",
    alert="KafkaStreamsTargetOverdue",
    wrong="A Streams group needs a new target and gets none.",
    patience="after the broker's session time-out (45 s) and 8 s more",
    meaning="The coordinator computes a target with the next heartbeat after a new group epoch; for a group that was "
    "empty it waits 3 s for more members.",
    exceptions=("nobody is in the group",),
    advice=(
        COORDINATOR,
        looks("A broker with a longer `group.streams.session.timeout.ms` waits longer than 45 s."),
        looks("A broker with a longer `group.streams.initial.rebalance.delay.ms` waits longer than 3 s for members."),
    ),
)
WITHOUT_OWNER = replace(
    rules_consumer.WITHOUT_OWNER,
    code="EPOCHS-T11",
    title="streams_task_without_thread",
    alert="KafkaStreamsTaskWithoutThread",
    wrong="No thread of a Streams application was given a task of it.",
    meaning="In the newest target each task of the topology is active with a member, once its topics are there.",
    exceptions=("a new target is due", "a topic of the topology is missing"),
    advice=(
        looks("Nobody handles the records of these partitions: their lag grows until a thread has the task."),
        looks("Topics that must have equally many partitions and have not keep the coordinator from giving tasks."),
        COORDINATOR,
        NEW_TARGET,
    ),
    resolves="With the target that gives the tasks to a member.",
)
COPIES_TOGETHER = rule_of_target(
    code="EPOCHS-T12",
    title="streams_copies_in_one_process",
    alert="KafkaStreamsCopiesInOneProcess",
    wrong="One process of a Streams application has two copies of a task.",
    severity=Severity.HIGH,
    meaning="A process has one copy of a task at most: it runs it, or keeps a standby, or warms it up.",
    exceptions=("two processes on one host",),
    advice=(
        looks("Both copies use one directory of state, and are lost together: the task has a standby less than asked."),
        looks("Two processes with one process id break this: see whether a container image has a state directory."),
        COORDINATOR,
    ),
)
WARM_UP_ALONE = rule_of_target(
    code="EPOCHS-T13",
    title="streams_warm_up_without_active",
    alert="KafkaStreamsWarmUpWithoutActive",
    wrong="A task of a Streams application warms up, and nobody is to run it until then.",
    severity=Severity.HIGH,
    meaning="A task that warms up is active with another member.",
    advice=OF_NO_CLIENT,
)
