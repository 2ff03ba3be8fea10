"""Rules about share groups: SHARE-H1 to H5 are the laws of docs/protocol/coordinator-log.md 7.2 by number."""

from rebalance_monitor.streaming.core.incidents.rule import Check, Rule
from rebalance_monitor.streaming.core.incidents.step import looks
from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.targets.advice import (
    COORDINATOR,
    NEW_TARGET,
    NEXT_RECORDS,
    REPORT,
    UNCLEAN_ELECTION,
)

STATE = Check(
    "kafka-share-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP --state --verbose",
    "the group's state, its assignor, and how far the group epoch is ahead of the target's",
)
MEMBERS = Check(
    "kafka-share-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP --members --verbose",
    "each member of a share group with its epoch and its partitions",
)
_CONFIRM = (STATE, MEMBERS)
_SESSION = looks("A broker with a longer `group.share.session.timeout.ms` waits longer than 45 s.")
_PATIENCE = "after the broker's session time-out (45 s) and 5 s more"

EPOCHS_FALL = Rule(
    code="SHARE-H1",
    title="share_epochs_out_of_order",
    alert="KafkaShareEpochsOutOfOrder",
    wrong="An epoch of a share group went back, or passed the one that it follows.",
    severity=Severity.HIGH,
    meaning="A member's epoch follows the target's and the target's the group's, and none of them goes back.",
    exceptions=("the group was deleted and made again", "a member left and joined again"),
    confirm=_CONFIRM,
    advice=(
        UNCLEAN_ELECTION,
        COORDINATOR,
    ),
    resolves=NEXT_RECORDS,
)
UNLIKE_TARGET = Rule(
    code="SHARE-H2",
    title="share_held_unlike_target",
    alert="KafkaShareHeldUnlikeTarget",
    wrong="A member of a share group is at the newest target and holds something else.",
    severity=Severity.HIGH,
    meaning="A member that is at the newest target's epoch holds exactly its target.",
    exceptions=(
        "a topic of its target that it does not subscribe to any more",
        "a topic that was deleted, or that nobody has named",
        "a state that no known release has",
    ),
    confirm=_CONFIRM,
    advice=(COORDINATOR, REPORT),
    resolves=NEXT_RECORDS,
)
LAGGING = Rule(
    code="SHARE-H3",
    title="share_member_lagging",
    alert="KafkaShareMemberLagging",
    wrong="A member of a share group has not asked for the newest target for longer than its session time-out.",
    severity=Severity.MEDIUM,
    for_ms=0,
    patience=_PATIENCE,
    meaning="A member moves to a new target with its next heartbeat; one that sends none is removed.",
    exceptions=("it moved, or was removed, in time",),
    confirm=_CONFIRM,
    advice=(
        looks("Look at the client that the message names: it may be cut off from the coordinator."),
        _SESSION,
    ),
    resolves="When the member moves, or is removed.",
)
NO_TARGET = Rule(
    code="SHARE-H4",
    title="share_target_overdue",
    alert="KafkaShareTargetOverdue",
    wrong="A share group needs a new target and gets none.",
    severity=Severity.HIGH,
    for_ms=0,
    patience=_PATIENCE,
    meaning="The coordinator computes a target with the next heartbeat after a new group epoch.",
    exceptions=("nobody is in the group",),
    confirm=_CONFIRM,
    advice=(
        COORDINATOR,
        looks("An assignor of the broker's own (`group.share.assignors`) may fail: its errors are in that log."),
        _SESSION,
    ),
    resolves="With the next target.",
)
WITHOUT_MEMBER = Rule(
    code="SHARE-H5",
    title="share_partition_without_member",
    alert="KafkaSharePartitionWithoutMember",
    wrong="No member of the share group has a partition of a topic that the group subscribes to.",
    severity=Severity.CRITICAL,
    for_ms=0,
    pages=True,
    patience="after the broker's session time-out (45 s) and 5 min more",
    meaning="The newest target holds every partition of every subscribed topic that exists.",
    exceptions=("a new target is due", "a target that came in time", "a topic that nobody subscribes to"),
    confirm=_CONFIRM,
    advice=(
        looks("Nobody reads these partitions. Where the message says that their share state was never initialized, "
              "look for errors of the share coordinator, which writes `__share_group_state`, in the brokers' logs."),
        COORDINATOR,
        NEW_TARGET,
    ),
    resolves="With the target that gives the partitions to a member.",
)  # fmt: skip
RULES = (EPOCHS_FALL, UNLIKE_TARGET, LAGGING, NO_TARGET, WITHOUT_MEMBER)
