"""The rules about one record of a Connect group, CONNECT-I1 to CONNECT-I13 (connect.md 7.1)."""

from rebalance_monitor.streaming.core.incidents.confirming import (
    ALL_STATUSES,
    ASSIGNMENTS,
    CONFIG_LOG,
    GROUP_RECORD,
    NEXT_GENERATION,
    REBALANCE_ONCE,
    RUNNING_HERE,
    STATUS,
    STOP_DOUBLE,
    VERSIONS,
)
from rebalance_monitor.streaming.core.incidents.rule import Rule, declared
from rebalance_monitor.streaming.core.incidents.step import WorkerMove, in_place, looks, moves
from rebalance_monitor.streaming.core.model.findings import Severity

DUPLICATE_HOLD = Rule(
    code="CONNECT-I1",
    title="duplicate_active",
    alert="KafkaConnectDuplicateTask",
    wrong="Two workers hold the same connector or task, or both may run it.",
    for_ms=0,
    pages=True,
    severity=Severity.CRITICAL,
    needs_every_generation=False,
    issues=("KAFKA-8463", "KAFKA-9841"),
    meaning="After a rebalance no connector or task is held by two workers.",
    exceptions=("the rebalance ended in an error and revoked nothing",),
    confirm=(ASSIGNMENTS, RUNNING_HERE, STATUS),
    advice=STOP_DOUBLE,
    resolves="When a generation leaves the connector or task with one worker, usually the very next one: a leader "
    "takes a duplicate that members report from all holders.",
)
DUPLICATE_ACTIVE = Rule(
    code="CONNECT-I2",
    title="duplicate_active",
    alert="KafkaConnectDuplicateTask",
    wrong="Two workers joined a rebalance and both report the same connector or task as theirs.",
    for_ms=0,
    pages=True,
    severity=Severity.CRITICAL,
    needs_every_generation=False,
    issues=("KAFKA-9184", "KAFKA-9841", "KAFKA-9849"),
    meaning="No two workers report the same connector or task as theirs; what a zombie reports is revoked from all "
    "who have it. What a worker reports was given to it; that it runs, only its statuses prove (CONNECT-K2).",
    exceptions=("a zombie returned and every holder must stop it: medium",),
    confirm=(ASSIGNMENTS, RUNNING_HERE, STATUS),
    advice=STOP_DOUBLE,
    resolves="When a generation leaves the connector or task with one worker, usually the very next one: a leader "
    "takes a duplicate that members report from all holders.",
)
ASSIGNED_WHILE_ACTIVE = Rule(
    code="CONNECT-I3",
    title="assigned_while_active",
    alert="KafkaConnectTaskAssignedWhileHeld",
    wrong="The leader assigned a connector or task that another worker still reports as its own.",
    severity=Severity.CRITICAL,
    needs_every_generation=False,
    issues=("KAFKA-8463",),
    meaning="A connector or task is assigned only when no worker reports it as held.",
    confirm=(ASSIGNMENTS, RUNNING_HERE),
    advice=STOP_DOUBLE,
    resolves="With the next generation in which its holder alone reports the connector or task.",
)
UNASSIGNED = Rule(
    code="CONNECT-I4",
    title="unassigned",
    alert="KafkaConnectUnassignedTask",
    wrong="After a rebalance, nobody holds a configured connector or task, and no delay or revocation explains it.",
    absorbed=True,
    severity=Severity.HIGH,
    issues=("KAFKA-9848", "KAFKA-15693"),
    meaning="After a rebalance a worker holds every configured connector and task; critical if none does twice in a "
    "row.",
    exceptions=(
        "revoked in this rebalance",
        "lost, and the delay runs",
        "the rebalance ended in an error",
        "configured by the very last config record, which the leader may not have applied",
        "a freshly started worker may read the connector's tasks as inconsistent",
    ),
    confirm=(STATUS, ASSIGNMENTS),
    advice=REBALANCE_ONCE,
    resolves="When a generation assigns the connectors and tasks, or they are deleted.",
)
HELD_BUT_DELETED = Rule(
    code="CONNECT-I5",
    title="held_but_deleted",
    alert="KafkaConnectDeletedConnectorRunning",
    wrong="A worker still holds a connector or task that was deleted.",
    severity=Severity.MEDIUM,
    issues=("KAFKA-8869", "KAFKA-16838"),
    meaning="What is no longer configured is taken away, and never handed out (critical).",
    exceptions=(
        "a new leader does not remember it",
        "the leader forgot the rebalance before",
        "a zombie brought it back",
        "deleted by the very last config record, which the leader may not have applied",
    ),
    confirm=(ALL_STATUSES, CONFIG_LOG),
    advice=(
        moves(
            "Restart the worker that the message names: it stops the deleted connector or task at once.",
            WorkerMove.RESTART_NAMED,
        ),
        moves(
            "Or restart any other worker. A leader that took over after the deletion learns of it only in its second "
            "rebalance.",
            WorkerMove.RESTART_ANOTHER,
        ),
    ),
    resolves="When the holder gives it up, at the latest when it restarts.",
)
ASSIGNED_AND_REVOKED = Rule(
    code="CONNECT-I6",
    title="assigned_and_revoked",
    alert="KafkaConnectAssignedAndRevoked",
    wrong="One rebalance took a connector or task from a worker and gave it to another, so both may run it.",
    severity=Severity.CRITICAL,
    needs_every_generation=False,
    meaning="No task is revoked from one worker and assigned in the same rebalance: it must stop before it starts.",
    confirm=(ASSIGNMENTS, RUNNING_HERE),
    advice=STOP_DOUBLE,
    resolves=NEXT_GENERATION,
)
REVOKED_NOT_HELD = Rule(
    code="CONNECT-I7",
    title="revoked_but_not_held",
    alert="KafkaConnectRevokedNotHeld",
    wrong="The leader revoked a connector or task from a worker that does not hold it.",
    severity=Severity.LOW,
    meaning="The leader revokes from a worker only what this worker reports as its own.",
    exceptions=("the delay is over, and balancing takes back what a candidate was just given",),
    confirm=(GROUP_RECORD, ASSIGNMENTS),
    advice=(looks("Nothing to do: the worker has nothing to stop, and the rebalance that follows assigns it."),),
    resolves=NEXT_GENERATION,
)
IMBALANCE = Rule(
    code="CONNECT-I8",
    title="imbalance",
    alert="KafkaConnectImbalance",
    wrong="Nothing is pending, and one worker holds at least two more connectors, or two more tasks, than another.",
    absorbed=True,
    severity=Severity.MEDIUM,
    needs_every_generation=False,
    issues=("KAFKA-4553", "KAFKA-10413", "KAFKA-12495"),
    meaning="With nothing pending, workers differ by at most one connector and by at most one task.",
    exceptions=(
        "revocations are under way",
        "a delay or back-off runs",
        "a worker holds a connector or task that is no longer configured",
        "leaders before 3.4 do not balance within one",
        "connectors and tasks together may differ by two",
    ),
    confirm=(ALL_STATUSES, RUNNING_HERE),
    advice=(
        moves(
            "If the load matters, restart the worker that leads the group: the next leader knows of no lost worker, "
            "assigns at once what the old one held, and gives it a share when it is back.",
            WorkerMove.RESTART_LEADER,
        ),
        moves(
            "Or keep the worker that holds too much away for longer than `scheduled.rebalance.max.delay.ms`: then the "
            "others get its connectors and tasks.",
            WorkerMove.KEEP_NAMED_AWAY,
        ),
        moves(
            "Do not just restart that worker where a delay is configured: the leader waits for it and gives everything "
            "back to it.",
            WorkerMove.RESTART_NAMED,
            useless_in="A0 A1 A2 A3a A3b",
        ),
        moves("Or add a worker: the others give it what is above the mean.", WorkerMove.START_WORKER),
        moves(
            "An upgrade to 3.5.2 or later ends it for good: leaders since 3.4 balance by themselves.",
            WorkerMove.UPGRADE,
        ),
    ),
    resolves="With the next calm generation in which workers differ by at most one.",
)
HEADER_INCONSISTENT = Rule(
    code="CONNECT-I9",
    title="header_inconsistent",
    alert="KafkaConnectInconsistentAssignment",
    wrong="In one generation, members received different leaders, offsets, delays or protocol versions.",
    severity=Severity.CRITICAL,
    needs_every_generation=False,
    meaning="All members receive the same protocol version, error, leader, leader URL, config offset and delay.",
    exceptions=(
        "releases before 3.3 write version 1 for sessioned",
        "the leader runs another release than the configured one: info",
    ),
    confirm=(ASSIGNMENTS, VERSIONS),
    advice=(
        moves(
            "Members act on different leaders or delays. Restart the leader: the next answer is the same for all.",
            WorkerMove.RESTART_LEADER,
        ),
        looks("A worker that is no Apache Kafka release may write headers of its own; then report it to its makers."),
    ),
    resolves=NEXT_GENERATION,
)
CONFIG_OFFSET_WRONG = Rule(
    code="CONNECT-I10",
    title="config_offset_wrong",
    alert="KafkaConnectWrongConfigOffset",
    wrong="The assignment refers to another config offset than the highest one that a member has read.",
    severity=Severity.HIGH,
    meaning="Assignments refer to the highest config offset any member has read, or to a fresher one if the leader "
    "itself was behind; only such a leader may answer with a config mismatch.",
    confirm=(ASSIGNMENTS, CONFIG_LOG),
    advice=(
        looks(
            "Workers follow configurations of different age: see whether the worker named can read the config topic."
        ),
        moves("If the worker named stays behind, restart it: it reads the topic anew.", WorkerMove.RESTART_NAMED),
    ),
    resolves=NEXT_GENERATION,
)
DELAY_OUT_OF_RANGE = Rule(
    code="CONNECT-I11",
    title="delay_out_of_range",
    alert="KafkaConnectDelayOutOfRange",
    wrong="The announced delay is negative or longer than the leader's maximum, or comes with an error.",
    severity=Severity.MEDIUM,
    meaning="The delay lies between 0 and the leader's maximum, and an error carries neither delay nor assignment.",
    exceptions=("the leader's maximum is not known",),
    confirm=(ASSIGNMENTS,),
    advice=(
        looks(
            "Compare `scheduled.rebalance.max.delay.ms` on all workers: the leader's value counts, and they should be "
            "equal."
        ),
        in_place(
            "Give the monitor the value: `clusters[].connect.<group>.max_delay_ms`; a worker that must differ from the "
            "others stands in `max_delay_ms_by_worker`."
        ),
    ),
    resolves=NEXT_GENERATION,
)
UNDECODABLE_MEMBER = Rule(
    code="CONNECT-I12",
    title="undecodable_member",
    alert="KafkaGroupUndecodableMember",
    wrong="The subscription or assignment of a group member cannot be decoded.",
    severity=Severity.HIGH,
    needs_every_generation=False,
    meaning="Every member of a completed generation has a readable subscription and assignment.",
    exceptions=("a member that is about to join has neither",),
    confirm=(GROUP_RECORD, VERSIONS),
    advice=(
        looks("Find the member's host in the message: it is a release or a client that writes another format."),
        looks("If it does not belong to the group, its configuration has a wrong `group.id`: ask whoever runs it."),
    ),
    resolves="With the first generation in which every member can be read.",
)
UNEXPLAINED = Rule(
    code="CONNECT-I13",
    title="unexplained_assignment",
    alert="KafkaConnectUnexplainedAssignment",
    wrong="All connectors and tasks are assigned, but no known Kafka release assigns them in this way.",
    absorbed=True,
    report=True,
    severity=Severity.HIGH,
    meaning="The assignment is what some leader of a Kafka release could have answered; asked where no other rule "
    "names what is wrong.",
    exceptions=(
        "an older algorithm family",
        "an unknown fork that speaks a protocol of its own",
        "a gap in the history",
    ),
    confirm=(ASSIGNMENTS, VERSIONS),
    advice=(
        looks("No immediate action: everything is assigned, but no known Kafka release assigns in this way."),
        in_place("Name the leader's release in `clusters[].connect.<group>.release` if the configuration lacks it."),
        in_place(
            "If the message names another maximum delay: correct `max_delay_ms`, or list the worker that differs from "
            "the others in `max_delay_ms_by_worker`."
        ),
        looks("If it stays, keep the evidence: a report on it is worth more than a restart."),
    ),
    resolves="With the next generation that can be explained.",
)

RULES = declared(vars())
