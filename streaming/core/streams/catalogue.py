"""Rules about one record of a Streams group: S-01 to S-06, S-22 to S-27 of docs/protocol/streams.md 8, and what every
classic group is held to.

The rules of the high-availability assignor are in `catalogue_placement`, those across records in `catalogue_across`.
"""

from rebalance_monitor.streaming.core.incidents.confirming import GROUP_RECORD, instance_id_contested, rule_of_record
from rebalance_monitor.streaming.core.incidents.rule import declared
from rebalance_monitor.streaming.core.incidents.step import looks
from rebalance_monitor.streaming.core.model.findings import Severity
from .bugs import OLD_ENDPOINT, OWN_NEWEST_VERSION, TASKS_OF_A_MATE

OWN_ASSIGNOR = "an assignor of the application's own"
LEADER = looks("The leader's process computes the assignment: the group's page names it, with its host.")
RELEASES = looks("Compare the releases of Kafka Streams that the processes run: the leader's decides.")

TWO_ACTIVES = rule_of_record(
    code="STREAMS-S01",
    title="streams_task_with_two_actives",
    alert="KafkaStreamsTaskWithTwoActives",
    wrong="Two threads of a Streams application were given the same task to run.",
    severity=Severity.CRITICAL,
    needs_every_generation=False,
    issues=(TASKS_OF_A_MATE.issue,),
    issues_fit=False,
    meaning="Every task is run by one thread at most, and every partition is given to one thread at most.",
    advice=(
        looks(
            "Both threads handle the task's records, and both write its changelog: results may be wrong since "
            "the rebalance."
        ),
        LEADER,
        RELEASES,
    ),
)
MISSING_TASK = rule_of_record(
    code="STREAMS-S02",
    title="streams_task_without_thread",
    alert="KafkaStreamsTaskWithoutThread",
    wrong="No thread of a Streams application was given a task of it.",
    severity=Severity.CRITICAL,
    meaning="Every task is given to a thread, or withheld until the thread that owns its partitions gives them up.",
    exceptions=(
        "the leader handed out an error",
        "the topic is not read any more",
        OWN_ASSIGNOR,
    ),
    advice=(
        looks("Nobody handles the records of these partitions: their lag grows until a thread has the task."),
        LEADER,
    ),
)
TAKEN_EARLY = rule_of_record(
    code="STREAMS-S03",
    title="streams_partition_taken_early",
    alert="KafkaStreamsPartitionTakenEarly",
    wrong="A thread was given a partition that another thread still owned.",
    severity=Severity.CRITICAL,
    recurs=True,
    meaning="A leader gives no thread a partition that another one reports as its own: the owner gives it up first.",
    exceptions=("the report is of an older generation",),
    advice=(
        looks(
            "Records of the partition may have been handled twice, from the rebalance on until the owner gave it up."
        ),
        looks(
            "A single one is over when the owner has given the partition up, a second later: it is history, and people "
            "are notified only of one that lasts, or when a third generation within an hour does it."
        ),
        RELEASES,
    ),
    resolves="With the next generation in which it is not so; after a third within an hour, an hour after the last.",
)
HAND_OVER_UNTOLD = rule_of_record(
    code="STREAMS-S04",
    title="streams_hand_over_untold",
    alert="KafkaStreamsHandOverUntold",
    wrong="A Streams task changes hands, and no thread is to join again to get it.",
    severity=Severity.HIGH,
    meaning="While a task is withheld, its new thread is to join again at once; otherwise no thread is.",
    exceptions=(
        "members of versions below 7",
        "no record shows yet which task reads what an owner is to give up",
        OWN_ASSIGNOR,
    ),
    advice=(
        looks("If the group's next generation does not come soon, nobody runs the task: see whether its lag grows."),
        LEADER,
    ),
)
ACTIVE_AND_STANDBY = rule_of_record(
    code="STREAMS-S05",
    title="streams_active_and_standby",
    alert="KafkaStreamsActiveAndStandby",
    wrong="One process of a Streams application runs a task and keeps a copy of it, too.",
    severity=Severity.HIGH,
    needs_every_generation=False,
    meaning="No process has a task as active and as standby.",
    advice=(
        looks("The copy protects from nothing: the task's state is on one process fewer than configured."),
        LEADER,
    ),
)
STANDBY_WITHOUT_STATE = rule_of_record(
    code="STREAMS-S06",
    title="streams_standby_without_state",
    alert="KafkaStreamsStandbyWithoutState",
    wrong="A process keeps a copy of a Streams task that has no state.",
    severity=Severity.HIGH,
    meaning="Only tasks of sub-topologies with a store have copies.",
    exceptions=("a leader up to 2.5",),
    advice=(
        looks("Compare the topology that the monitor was given with the one that runs: stores may have been added."),
        RELEASES,
    ),
)
OFFSET_SUMS = rule_of_record(
    code="STREAMS-S22",
    title="streams_offset_sums_wrong",
    alert="KafkaStreamsOffsetSumsWrong",
    wrong="Threads of a Streams application report state that cannot be.",
    severity=Severity.MEDIUM,
    meaning="One thread at most says that it runs a task, no thread reports an unknown sum, and none reports more than "
    "the changelogs of the task hold, as far as samples of end offsets tell.",
    exceptions=(
        "a report of an older generation",
        "a sum up to the end offset, or one of which no sample before and after the record tells",
        "a changelog that was made anew",
        "a source topic that serves as changelog",
        "a directory that may be left of another topology, or of a store that is gone",
    ),
    advice=(
        looks("The leader places tasks by these reports: it takes a wrong reporter for one that is caught up."),
        looks(
            "A sum above the end offset: the directory's checkpoint is of another changelog, or the changelog lost "
            "records. The thread that opens the directory logs `TaskCorruptedException` and restores all of it."
        ),
        RELEASES,
    ),
)
HOST_MAPS = rule_of_record(
    code="STREAMS-S23",
    title="streams_host_maps_wrong",
    alert="KafkaStreamsHostMapsWrong",
    wrong="Threads of a Streams application do not agree where tasks are served.",
    severity=Severity.MEDIUM,
    issues=(OLD_ENDPOINT.issue,),
    issues_fit=False,
    meaning="All threads get the same host maps, with the application.server of every process, each of which is "
    "set once.",
    exceptions=(
        "processes without an application.server",
        "a process that has no task yet",
        "payloads of version 1 have no host maps",
    ),
    advice=(
        looks("Interactive queries may ask the wrong process until the next rebalance."),
        looks("If two processes have one application.server: each needs an address of its own."),
    ),
)
SHARED_PROCESS_ID = rule_of_record(
    code="STREAMS-S24",
    title="streams_process_id_shared",
    alert="KafkaStreamsProcessIdShared",
    wrong="Two processes of a Streams application have the same process id.",
    severity=Severity.HIGH,
    needs_every_generation=False,
    meaning="The threads of one process id are on one process.",
    exceptions=("threads of one process that a proxy shows with two hosts",),
    advice=(
        looks(
            "The leader takes both for one process, and gives tasks to whichever thread: state is looked for "
            "where it is not."
        ),
        looks(
            "See whether a state directory was copied: its file kafka-streams-process-metadata holds the id. A "
            "process with an empty directory gets an id of its own."
        ),
    ),
)
VERSIONS = rule_of_record(
    code="STREAMS-S25",
    title="streams_versions_differ",
    alert="KafkaStreamsVersionsDiffer",
    wrong="A leader of a Streams group wrote another version than all threads can read.",
    severity=Severity.LOW,
    issues=(OWN_NEWEST_VERSION.issue, TASKS_OF_A_MATE.issue),
    issues_fit=False,
    meaning="Assignments have the least version that a member uses, and name the least that a member supports.",
    exceptions=("a rolling upgrade: members use different versions",),
    advice=(RELEASES,),
)
ERROR_ASSIGNMENT = rule_of_record(
    code="STREAMS-S26",
    title="streams_error_assignment",
    alert="KafkaStreamsErrorAssignment",
    wrong="The leader of a Streams group handed out an error instead of tasks.",
    severity=Severity.CRITICAL,
    needs_every_generation=False,
    for_ms=0,
    meaning="Assignments carry no error code.",
    advice=(
        looks("Code 1: a source topic is missing. Code 3: the assignment failed; the leader's log has the exception."),
        looks(
            "Code 4: a thread asked for the shutdown of the whole application, because its handler of uncaught "
            "exceptions answered `SHUTDOWN_APPLICATION`. The message names the thread and its host: that process's log "
            "has the exception."
        ),
        looks(
            "The threads of all processes end: nothing is handled until the cause is gone and the processes are "
            "started again."
        ),
    ),
    resolves="With the next generation without an error, or when all threads have left the group: then nobody handles "
    "anything until processes are started again.",
)
TASK_SHAPE = rule_of_record(
    code="STREAMS-S27",
    title="streams_task_shape_wrong",
    alert="KafkaStreamsTaskShapeWrong",
    wrong="A Streams thread was given partitions that do not fit its tasks.",
    severity=Severity.CRITICAL,
    meaning="Each given partition has a task, and the number of its task. All tasks of a sub-topology read the same "
    "topics, and a copy has the partitions of its task.",
    exceptions=("a source topic with fewer partitions",),
    advice=(
        looks("The thread fails when it reads the assignment: see its log."),
        LEADER,
    ),
)
STREAMS_UNDECODABLE = rule_of_record(
    code="STREAMS-S30",
    title="undecodable_member",
    alert="KafkaGroupUndecodableMember",
    wrong="The subscription or assignment of a Streams thread cannot be decoded.",
    severity=Severity.HIGH,
    needs_every_generation=False,
    meaning="Every member of a completed generation has a readable subscription and assignment, and readable Streams "
    "payloads in them.",
    exceptions=("a member that is about to join has neither",),
    advice=(
        looks("Find the member's host in the message, and the release of Kafka Streams that runs there."),
        looks(
            "If it does not belong to the group, its configuration has a wrong `application.id`: ask whoever runs it."
        ),
    ),
    resolves="With the first generation in which every member can be read.",
)
STREAMS_CONTESTED = instance_id_contested(code="STREAMS-S31")
PLUG_IN_FAILED = rule_of_record(
    code="STREAMS-S32",
    title="plug_in_failed",
    alert="KafkaRebalanceMonitorPlugInFailed",
    wrong="The monitor could not use the task assignor that it was given for a Streams application.",
    severity=Severity.MEDIUM,
    meaning="The plug-in answers each call in its time, memory and number of processes, with an assignment that "
    "Kafka's validation accepts, and with the same one whatever the order of Python's sets.",
    confirm=(GROUP_RECORD,),
    advice=(
        looks(
            "The message says what the plug-in did, and for how long it is paused; the monitor's log has the last "
            "lines that it printed."
        ),
        looks("Run `rebalance-monitor config check`: it loads every plug-in of the configuration."),
        looks("The application runs on: its generations are committed as `not_judged` until the plug-in answers."),
    ),
    resolves="With the first generation for which the plug-in answers.",
)
TOPOLOGY_MISFIT = rule_of_record(
    code="STREAMS-S33",
    title="streams_topology_does_not_fit",
    alert="KafkaStreamsTopologyDoesNotFit",
    wrong="The topology text in the monitor's configuration is not that of the application that runs.",
    severity=Severity.LOW,
    needs_every_generation=False,
    meaning="A configured topology (`clusters[].streams.<application>.topology`) has the sub-topologies that records "
    "show, and each reads the topics that records show.",
    exceptions=("a sub-topology that no record has shown yet",),
    advice=(
        looks("The text is left aside: verdicts rest on what the records show, and may be less certain."),
        looks(
            "Print `Topology.describe()` of the release that runs, and put its text into the monitor's configuration; "
            "or remove `topology` there."
        ),
    ),
    resolves="With the next generation that fits the text.",
)
RECORD_RULES = declared(vars())
