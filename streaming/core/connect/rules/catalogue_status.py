"""The rules that compare a Connect group with what its workers say they run, CONNECT-K2 to CONNECT-K4, K19 to K21."""

from rebalance_monitor.streaming.core.incidents.confirming import (
    ASSIGNMENTS,
    FAILED_STATUSES,
    RUNNING_HERE,
    STATUS,
    STATUS_LOG,
    STOP_DOUBLE,
)
from rebalance_monitor.streaming.core.incidents.rule import Rule, declared
from rebalance_monitor.streaming.core.incidents.step import WorkerMove, in_place, looks, moves
from rebalance_monitor.streaming.core.model.findings import Severity

RUNNING_TWICE = Rule(
    code="CONNECT-K2",
    title="duplicate_active",
    alert="KafkaConnectDuplicateTask",
    wrong="By their own statuses, two workers run the same connector or task at the same time.",
    severity=Severity.CRITICAL,
    for_ms=0,
    pages=True,
    issues=("KAFKA-9184", "KAFKA-9849", "KAFKA-10763", "KAFKA-13719"),
    meaning="No two workers run one connector or task: a worker starts it after the former holder stopped it. Info "
    "and only possible until the former owner gives a sign of life; high and likely where the group has just fallen "
    "from a cooperative protocol to eager, for then nobody stops what moves.",
    exceptions=(
        "the first worker died or was cut off",
        "status writes out of order",
        "a clock that runs ahead",
        "MirrorMaker's dedicated mode, where all workers have one id",
    ),
    confirm=(STATUS_LOG, RUNNING_HERE, ASSIGNMENTS),
    advice=STOP_DOUBLE,
    resolves="When the former owner says that it has stopped, or the group drops it.",
)
RUNNING_NOT_HELD = Rule(
    code="CONNECT-K3",
    title="running_not_held",
    alert="KafkaConnectRunningNotHeld",
    wrong="A worker reports that it runs a connector or task that it does not hold.",
    severity=Severity.HIGH,
    issues=("KAFKA-10763", "KAFKA-12525"),
    meaning="A worker whose status says RUNNING holds the connector or task in the generation of that status.",
    exceptions=(
        "it was just revoked",
        "the first eager generation after a cooperative one",
        "the record of that generation is not read yet",
        "a status of an earlier generation",
    ),
    confirm=(RUNNING_HERE, STATUS_LOG, ASSIGNMENTS),
    advice=STOP_DOUBLE,
    resolves="When its worker's status says that it has stopped, or its worker is assigned it.",
)
HELD_NOT_RUNNING = Rule(
    code="CONNECT-K4",
    title="held_not_running",
    alert="KafkaConnectHeldNotRunning",
    wrong="A worker was assigned a connector or task and has not reported its start in `judge.start_wait_ms`.",
    severity=Severity.MEDIUM,
    issues=("KAFKA-8449", "KAFKA-9851"),
    meaning="A worker starts what it is assigned within `judge.start_wait_ms`.",
    exceptions=(
        "the connector is paused or stopped",
        "the worker has not read the configuration yet",
        "workers' statuses have no address of their own",
        "what the worker said may have been compacted away",
        "the first eager generation after a cooperative one, for what stays where it was",
    ),
    confirm=(STATUS, STATUS_LOG),
    advice=(
        looks("The worker was assigned the connector or task and has not reported its start: its log says why."),
        in_place(
            "Start it again in its place.",
            'curl -X POST "http://$WORKER/connectors/$CONNECTOR/restart?includeTasks=true"',
            "kubectl annotate kafkaconnector $CONNECTOR strimzi.io/restart-task=$TASK",
        ),
        moves(
            "A worker that starts nothing at all has lost its herder thread or its rights: restart it.",
            WorkerMove.RESTART_NAMED,
        ),
    ),
    resolves="When the worker's status says RUNNING, PAUSED, STOPPED or FAILED.",
)
FAILED_JOB = Rule(
    code="CONNECT-K19",
    title="failed",
    alert="KafkaConnectTaskFailed",
    wrong="The worker that holds a connector or task reports it as FAILED: it does no work until somebody restarts it.",
    severity=Severity.MEDIUM,
    meaning="The worker that holds a connector or task does not report it as FAILED. Connect restarts nothing that has "
    "failed: it does no work until somebody restarts it.",
    exceptions=(
        "restarted, and running again",
        "deleted",
        "another worker holds it now",
        "a former owner said so",
    ),
    confirm=(STATUS, FAILED_STATUSES),
    advice=(
        looks(
            "Read why it failed: the trace of the connector and of each failed task.",
            "curl -s http://$WORKER/connectors/$CONNECTOR/status",
            "kubectl get kafkaconnector $CONNECTOR -o jsonpath='{.status.connectorStatus}'",
        ),
        in_place(
            "Correct the cause: the other system, its credentials, the record that cannot be handled "
            "(`errors.tolerance` and a dead letter queue)."
        ),
        in_place(
            "Restart only what has failed; it stays on its worker.",
            'curl -X POST "http://$WORKER/connectors/$CONNECTOR/restart?includeTasks=true&onlyFailed=true"',
            "kubectl annotate kafkaconnector $CONNECTOR strimzi.io/restart-task=$TASK",
        ),
    ),
    resolves="When its worker says that it runs, it is deleted, paused or stopped, or another worker holds it.",
    needs_every_generation=False,
)
RESTART_LOOP = Rule(
    code="CONNECT-K20",
    title="restart_loop",
    alert="KafkaConnectRestartLoop",
    wrong="A task changed between FAILED, RESTARTING and RUNNING more than `judge.restart_loop_changes` times "
    "in `judge.restart_loop_ms`.",
    severity=Severity.MEDIUM,
    for_ms=0,
    meaning="A task changes between FAILED, RESTARTING and RUNNING at most `judge.restart_loop_changes` times within "
    "`judge.restart_loop_ms`.",
    exceptions=("a restart of the connector", "a rebalance", "restarts that lie far apart", "the task was deleted"),
    confirm=(STATUS, STATUS_LOG),
    advice=(
        looks(
            "Something restarts the task (an operator's automatic restart, a script), and it fails again each time. "
            "The trace says why.",
            "curl -s http://$WORKER/connectors/$CONNECTOR/status",
            "kubectl get kafkaconnector $CONNECTOR -o jsonpath='{.spec.autoRestart}{.status.autoRestart}'",
        ),
        in_place(
            "Pause the connector, or end the automatic restart, until the cause is corrected: each restart may repeat "
            "records.",
            "curl -X PUT http://$WORKER/connectors/$CONNECTOR/pause",
            'kubectl patch kafkaconnector $CONNECTOR --type merge -p \'{"spec":{"state":"paused"}}\'',
        ),
    ),
    resolves="When enough of the changes are longer ago than `judge.restart_loop_ms`, or the task is deleted.",
    needs_every_generation=False,
)
WORKER_LOST = Rule(
    code="CONNECT-K21",
    title="worker_lost",
    alert="KafkaConnectWorkerLost",
    wrong="A worker was lost with its connectors and tasks, did not come back, and no worker came instead.",
    severity=Severity.MEDIUM,
    for_ms=0,
    patience="after the largest of the delay, the session time-out and `judge.start_wait_ms`",
    meaning="A worker that the group has lost is in it again, or another one instead, before the scheduled delay is "
    "over.",
    exceptions=(
        "it comes back before the delay is over",
        "it stopped its connectors and tasks before it went",
        "another worker comes instead",
        "nothing tells how it went",
        "no worker is left: `all_workers_gone` says so",
    ),
    confirm=(ASSIGNMENTS, STATUS),
    advice=(
        looks(
            "See whether the worker's process runs and answers. One that runs and is not in the group stands still or "
            "is cut off: its log, the host's memory, the network.",
            "curl -s http://$WORKER/",
        ),
        looks(
            "The message says how much stood still because of it when the delay was over. The other workers take it "
            "then: see whether they carry the load."
        ),
        looks("If it was stopped for good, nothing is wrong: the incident ends a day after it opened."),
    ),
    resolves="With the generation in which it, or another worker, joins; when no worker is left; or a day after it "
    "opened.",
)
RULES = declared(vars())
