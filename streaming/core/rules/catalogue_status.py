"""The rules that compare a Connect group with what its workers say they run, CONNECT-K2 to CONNECT-K4."""

from streaming.core.results import Severity
from streaming.core.rules.confirming import (
    ASSIGNMENTS,
    RUNNING_HERE,
    STATUS,
    STATUS_LOG,
    STOP_DOUBLE,
)
from streaming.core.rules.rule import Rule

RUNNING_TWICE = Rule(
    code="CONNECT-K2",
    title="duplicate_active",
    severity=Severity.CRITICAL,
    for_ms=0,
    pages=True,
    issues=("KAFKA-9184", "KAFKA-9849", "KAFKA-10763", "KAFKA-13719"),
    meaning="No two workers run one job: whoever starts it comes after the one before has stopped it. Info and only "
    "possible until the former owner gives a sign of life; high and likely where the group has just fallen from a "
    "cooperative protocol to eager, for then nobody stops what moves.",
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
    severity=Severity.HIGH,
    issues=("KAFKA-10763", "KAFKA-12525"),
    meaning="A worker that says it runs a job holds it in the generation it says so for.",
    exceptions=(
        "the job was just revoked",
        "the first eager generation after a cooperative one",
        "the record of that generation is not read yet",
        "a status of an earlier generation",
    ),
    confirm=(RUNNING_HERE, STATUS_LOG, ASSIGNMENTS),
    advice=STOP_DOUBLE,
    resolves="When its worker says that it has stopped, or is given the job.",
)
HELD_NOT_RUNNING = Rule(
    code="CONNECT-K4",
    title="held_not_running",
    severity=Severity.MEDIUM,
    issues=("KAFKA-8449", "KAFKA-9851"),
    meaning="Who is given a job takes it up within `judge.start_wait_ms`.",
    exceptions=(
        "the connector is paused or stopped",
        "the worker has not read the configuration yet",
        "no worker's statuses can be told apart",
        "what the worker said may have been compacted away",
        "the first eager generation after a cooperative one, for what stays where it was",
    ),
    confirm=(STATUS, STATUS_LOG),
    advice=(
        "The worker was given the job and has not said that it runs: its log says what it waits for.",
        '`curl -X POST "http://$WORKER/connectors/$CONNECTOR/restart?includeTasks=true"` starts it again.',
        "A worker that starts nothing at all has lost its herder thread or its rights: restart it.",
    ),
    resolves="When the worker says that the job runs, is paused, stopped or failed.",
)
RULES = (RUNNING_TWICE, RUNNING_NOT_HELD, HELD_NOT_RUNNING)
