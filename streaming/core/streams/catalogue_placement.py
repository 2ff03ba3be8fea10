"""Rules of the high-availability assignor of Kafka Streams: S-07 to S-17 and S-28 of docs/protocol/streams.md 8."""

from rebalance_monitor.streaming.core.incidents.confirming import rule_of_record
from rebalance_monitor.streaming.core.incidents.rule import declared
from rebalance_monitor.streaming.core.incidents.step import looks
from rebalance_monitor.streaming.core.model.findings import Severity
from .bugs import IGNORED_REJOINS
from .catalogue import LEADER, OWN_ASSIGNOR, RELEASES

_SETTINGS = looks("Compare `clusters[].streams` of the monitor's configuration with the leader's configuration.")
_MOVING = "tasks are still on the move"

FEW_COPIES = rule_of_record(
    code="STREAMS-S07",
    title="streams_copies_missing",
    alert="KafkaStreamsCopiesMissing",
    wrong="Tasks of a Streams application have fewer copies of their state than configured.",
    severity=Severity.HIGH,
    meaning="Every task with state has num.standby.replicas copies, or as many as there are other processes.",
    exceptions=(
        "fewer processes than copies",
        OWN_ASSIGNOR,
    ),
    advice=(
        looks(
            "If the process that runs such a task fails, its state is read from the changelog first: that takes long."
        ),
        _SETTINGS,
    ),
)
MANY_WARM_UPS = rule_of_record(
    code="STREAMS-S08",
    title="streams_too_many_warm_ups",
    alert="KafkaStreamsTooManyWarmUps",
    wrong="A Streams application warms up more copies at a time than configured.",
    severity=Severity.MEDIUM,
    meaning="Beyond num.standby.replicas there are at most max.warmup.replicas copies.",
    exceptions=(
        "copies of withheld tasks",
        OWN_ASSIGNOR,
    ),
    advice=(
        _SETTINGS,
        RELEASES,
    ),
)
BEHIND_ACTIVE = rule_of_record(
    code="STREAMS-S09",
    title="streams_task_far_behind",
    alert="KafkaStreamsTaskFarBehind",
    wrong="A Streams task was given to a process that lacks its state, although another process has it.",
    severity=Severity.HIGH,
    meaning="A task with state runs on a process that is caught up, or on the one that lags least.",
    exceptions=(
        "the leader could not read end offsets",
        OWN_ASSIGNOR,
    ),
    advice=(
        looks("The task stands still until its state is restored from the changelog."),
        RELEASES,
    ),
)
BEHIND_STANDBY = rule_of_record(
    code="STREAMS-S10",
    title="streams_copy_far_behind",
    alert="KafkaStreamsCopyFarBehind",
    wrong="Copies of Streams tasks are kept where less of their state is than elsewhere.",
    severity=Severity.MEDIUM,
    meaning="Copies are on the processes that lag least behind the one that runs the task.",
    exceptions=(OWN_ASSIGNOR,),
    advice=(
        _SETTINGS,
        LEADER,
    ),
)
UNEVEN_ACTIVES = rule_of_record(
    code="STREAMS-S11",
    title="streams_uneven_tasks",
    alert="KafkaStreamsUnevenTasks",
    wrong="The tasks of a Streams application are not evenly shared by its processes.",
    severity=Severity.MEDIUM,
    meaning="Once nothing moves any more, active tasks per thread differ by one at most between processes.",
    exceptions=(
        _MOVING,
        OWN_ASSIGNOR,
    ),
    advice=(
        LEADER,
        RELEASES,
    ),
)
UNEVEN_TOTAL = rule_of_record(
    code="STREAMS-S12",
    title="streams_uneven_tasks",
    alert="KafkaStreamsUnevenTasks",
    wrong="The tasks and copies of a Streams application are not evenly shared by its processes.",
    severity=Severity.MEDIUM,
    meaning="Once nothing moves any more, tasks with state per thread, copies counted, differ by one at most.",
    exceptions=(
        "processes with different numbers of threads",
        "client tags",
    ),
    advice=(LEADER,),
)
UNEVEN_SUBTOPOLOGY = rule_of_record(
    code="STREAMS-S13",
    title="streams_uneven_subtopology",
    alert="KafkaStreamsUnevenSubtopology",
    wrong="The tasks of one sub-topology are not evenly shared by the processes.",
    severity=Severity.LOW,
    meaning="Once nothing moves any more, the tasks of each sub-topology differ by one at most between equal "
    "processes.",
    exceptions=("processes with different numbers of threads",),
    advice=(LEADER,),
)
UNEVEN_THREADS = rule_of_record(
    code="STREAMS-S14",
    title="streams_uneven_threads",
    alert="KafkaStreamsUnevenThreads",
    wrong="The tasks of one Streams process are not evenly shared by its threads.",
    severity=Severity.MEDIUM,
    meaning="Within a process, tasks per thread differ by one at most, with copies and without.",
    exceptions=(
        "tasks change hands",
        "a leader up to 3.1",
    ),
    advice=(RELEASES,),
)
UNSTICKY_THREAD = rule_of_record(
    code="STREAMS-S15",
    title="streams_task_left_its_thread",
    alert="KafkaStreamsTaskLeftItsThread",
    wrong="A Streams task moved to another thread of the same process without need.",
    severity=Severity.LOW,
    meaning="A thread keeps the tasks that it has state of, as far as every thread gets its share.",
    exceptions=("a thread that has more than its share",),
    advice=(
        looks("The task is closed and opened again; a store in memory is restored from the changelog."),
        RELEASES,
    ),
)
NO_PROBING = rule_of_record(
    code="STREAMS-S16",
    title="streams_no_probing",
    alert="KafkaStreamsNoProbing",
    wrong="Copies of a Streams application warm up, and no rebalance will move the tasks to them.",
    severity=Severity.HIGH,
    issues=(IGNORED_REJOINS.issue,),
    issues_fit=False,
    meaning="While copies warm up, a probing rebalance is set.",
    exceptions=(OWN_ASSIGNOR,),
    advice=(
        looks("The tasks stay where they are until something else makes the group rebalance."),
        looks(
            "Why the leader set no probing rebalance, no record tells. KAFKA-10455 is another harm: with a leader of "
            "release 2.6.0 a rebalance that is set may not come."
        ),
        _SETTINGS,
    ),
)
DEADLINE_CARRIER = rule_of_record(
    code="STREAMS-S17",
    title="streams_deadline_misplaced",
    alert="KafkaStreamsDeadlineMisplaced",
    wrong="The deadline of the probing rebalance of a Streams application is not the leader's, or on wrong threads.",
    severity=Severity.MEDIUM,
    meaning="The first thread of the leader's process has the deadline, and no other. It is the leader's time plus "
    "`probing.rebalance.interval.ms`.",
    exceptions=(
        OWN_ASSIGNOR,
        "the monitor does not know the interval: the leader's deadlines agree with each other",
    ),
    advice=(LEADER,),
)
IMBALANCE_FACTOR = rule_of_record(
    code="STREAMS-S28",
    title="streams_imbalance_factor",
    alert="KafkaStreamsImbalanceFactor",
    wrong="A Streams process runs many more or fewer tasks than its share of all threads.",
    severity=Severity.INFO,
    meaning="Once nothing moves any more, each process runs its share of tasks within 20 % (a draft of KIP-441).",
    exceptions=(_MOVING,),
    advice=(LEADER,),
    report=True,
)
PLACEMENT_RULES = declared(vars())
