"""Rules about share groups: SHARE-H1 to H5 are the laws of docs/protocol/coordinator-log.md 7.2 by number."""

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.incidents.rule import Check
from rebalance_monitor.streaming.core.incidents.step import looks
from . import rules_consumer
from .rules_consumer import COORDINATOR, FAILOVER, NEW_TARGET

STATE = Check(
    "kafka-share-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP --state --verbose",
    "the group's state, its assignor, and how far the group epoch is ahead of the target's",
)
MEMBERS = Check(
    "kafka-share-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP --members --verbose",
    "each member of a share group with its epoch and its partitions",
)
CONFIRM = (STATE, MEMBERS)
_SESSION = looks("A broker with a longer `group.share.session.timeout.ms` waits longer than 45 s.")

EPOCHS_FALL = replace(
    rules_consumer.EPOCHS_FALL,
    code="SHARE-H1",
    title="share_epochs_out_of_order",
    alert="KafkaShareEpochsOutOfOrder",
    wrong="An epoch of a share group went back, or passed the one that it follows.",
    exceptions=("the group was deleted and made again", "a member left and joined again"),
)
UNLIKE_TARGET = replace(
    rules_consumer.UNLIKE_TARGET,
    code="SHARE-H2",
    title="share_held_unlike_target",
    alert="KafkaShareHeldUnlikeTarget",
    wrong="A member of a share group is at the newest target and holds something else.",
    meaning="A member that is at the newest target's epoch holds exactly its target.",
    exceptions=(
        "a topic of its target that it does not subscribe to any more",
        "a topic that was deleted, or that nobody has named",
        "a state that no known release has",
    ),
)
LAGGING = replace(
    rules_consumer.LAGGING,
    code="SHARE-H3",
    title="share_member_lagging",
    alert="KafkaShareMemberLagging",
    wrong="A member of a share group has not asked for the newest target for longer than its session time-out.",
    exceptions=("it moved, or was removed, in time",),
    advice=(
        looks("Look at the client that the message names: it may be cut off from the coordinator."),
        _SESSION,
        FAILOVER,
    ),
)
NO_TARGET = replace(
    rules_consumer.NO_TARGET,
    code="SHARE-H4",
    title="share_target_overdue",
    alert="KafkaShareTargetOverdue",
    wrong="A share group needs a new target and gets none.",
    exceptions=("nobody is in the group",),
    advice=(
        COORDINATOR,
        looks("An assignor of the broker's own (`group.share.assignors`) may fail: its errors are in that log."),
        _SESSION,
    ),
)
WITHOUT_MEMBER = replace(
    rules_consumer.WITHOUT_OWNER,
    code="SHARE-H5",
    title="share_partition_without_member",
    alert="KafkaSharePartitionWithoutMember",
    wrong="No member of the share group has a partition of a topic that the group subscribes to.",
    patience="after the broker's session time-out (45 s) and 5 min more",
    exceptions=("a new target is due", "a target that came in time", "a topic that nobody subscribes to"),
    advice=(
        looks("Nobody reads these partitions. Where the message says that their share state was never initialized, "
              "look for errors of the share coordinator, which writes `__share_group_state`, in the brokers' logs."),
        COORDINATOR,
        NEW_TARGET,
    ),
)  # fmt: skip
