"""The rules about how far a group's members come with what they hold, in whatever kind of group of consumers."""

from rebalance_monitor.streaming.core.incidents.confirming import MEMBERS, OFFSETS
from rebalance_monitor.streaming.core.incidents.rule import MINUTE_MS, Rule
from rebalance_monitor.streaming.core.incidents.step import looks
from rebalance_monitor.streaming.core.model.results import Severity

NOT_ADVANCING = Rule(
    code="GROUP-G2",
    title="partitions_not_advancing",
    alert="KafkaGroupPartitionsNotAdvancing",
    wrong="A member holds partitions whose committed offsets stand still while records come in.",
    severity=Severity.MEDIUM,
    for_ms=0,
    patience="after the longest time that a member may be busy between two polls (`max.poll.interval.ms`), and 5 min",
    meaning="The committed offset of a partition grows as long as it is behind an end offset that grows.",
    exceptions=(
        "everything is read, or was a moment ago",
        "nothing is written",
        "nobody has seen the group commit: its offsets may be kept elsewhere",
        "a partition without a committed offset",
        "a long handling within `max.poll.interval.ms`",
        "the brokers were not asked, or did not answer",
        "a thread of a Streams application that may be restoring the state of its task (information)",
    ),
    confirm=(OFFSETS, MEMBERS),
    advice=(
        looks(
            "Look at the process of the member that the message names: it handles one record for long, waits for "
            "another system, or fails at the same record again and again."
        ),
        looks("If the application has paused these partitions, or keeps their offsets elsewhere, nothing is wrong."),
        looks(
            "A thread of a Streams application that was just given the task may be restoring its state from the "
            "changelogs: its metrics `restore-remaining-records-total` tell how much is left."
        ),
        looks("If other members stood at the same partition before, read the record at its committed offset."),
    ),
    resolves="When the committed offset grows or reaches the end, or when the partition goes to another member.",
)

LAG_ON_ONE = Rule(
    code="GROUP-G3",
    title="lag_on_one_member",
    alert="KafkaGroupLagOnOneMember",
    wrong="One member holds over half of the group's lag, far more than its partitions' share.",
    severity=Severity.INFO,
    for_ms=10 * MINUTE_MS,
    meaning="Members of one group lag about equally far behind on each of their partitions.",
    exceptions=(
        "a lag of fewer than 1,000 records in the whole group",
        "a member with as much lag on each partition as the others",
        "a group of one member",
        "partitions of which no offset is known",
    ),
    confirm=(OFFSETS, MEMBERS),
    advice=(
        looks("Compare its partitions: if one of them has most of the lag, its records' keys are unevenly spread."),
        looks("If all of them lag, compare the member's host with the others': processor, memory, network, release."),
    ),
    resolves="When it holds half of the group's lag or less.",
)

RULES = (NOT_ADVANCING, LAG_ON_ONE)
