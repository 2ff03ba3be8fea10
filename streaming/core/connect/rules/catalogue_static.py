"""The rules about static assignments: CONNECT-S1 to S11 (connect.md 6.5), and CONNECT-P1 to P5, which are ours.

The S rules hold under protocol `static`, which no Kafka release speaks. Where the monitor's configuration says where
jobs are meant to run, S1 and S2 are wishes about a real group, and findings are info: a wish says nothing of jobs that
it does not name, so no other S rule follows from it. The P rules break no law at all: they say what a set of
declarations leads to.
"""

from functools import partial

from rebalance_monitor.streaming.core.incidents.confirming import (
    ALL_STATUSES,
    ASSIGNMENTS,
    CONFIG_LOG,
    DECLARATIONS,
    GROUPS,
    NEXT_GENERATION,
    RUNNING_HERE,
    STATUS,
    WISHES,
)
from rebalance_monitor.streaming.core.incidents.rule import Rule, declared
from rebalance_monitor.streaming.core.incidents.step import WorkerMove, in_place, looks, moves
from rebalance_monitor.streaming.core.model.findings import Severity

_of_declarations = partial(Rule, advice=(*DECLARATIONS, *WISHES), resolves=NEXT_GENERATION)

STATIC_ON_WILDCARD = _of_declarations(
    code="CONNECT-S1",
    title="static_task_on_wildcard_worker",
    alert="KafkaConnectStaticTaskOnWildcardWorker",
    wrong="A worker without declarations holds a connector or task that another worker declares.",
    severity=Severity.HIGH,
    needs_every_generation=False,
    meaning="No worker without declarations has a connector or task that another worker declares.",
    confirm=(ALL_STATUSES, ASSIGNMENTS),
)
STATIC_ON_OTHER = _of_declarations(
    code="CONNECT-S2",
    title="static_task_on_other_static_worker",
    alert="KafkaConnectStaticTaskOnWrongWorker",
    wrong="A worker with declarations holds a connector or task that only other workers declare.",
    severity=Severity.HIGH,
    needs_every_generation=False,
    meaning="A worker with declarations has no connector or task that only others declare.",
    confirm=(ALL_STATUSES, ASSIGNMENTS),
)
WILDCARD_ON_STATIC = _of_declarations(
    code="CONNECT-S3",
    title="wildcard_task_on_static_worker",
    alert="KafkaConnectWildcardTaskOnStaticWorker",
    wrong="A worker with declarations holds a connector or task that nobody declares.",
    severity=Severity.HIGH,
    needs_every_generation=False,
    meaning="A worker with declarations has no connector or task that nobody declares.",
    confirm=(ALL_STATUSES, ASSIGNMENTS),
)
NOT_TAKEN_AWAY = _of_declarations(
    code="CONNECT-S4",
    title="misplaced_task_not_revoked",
    alert="KafkaConnectMisplacedTaskNotRevoked",
    wrong="A worker kept, through a rebalance, a connector or task that it must not run.",
    severity=Severity.HIGH,
    meaning="A connector or task that its holder must not run is revoked in the very next rebalance, delay or not.",
    confirm=(ASSIGNMENTS, RUNNING_HERE),
)
STATIC_UNASSIGNED = _of_declarations(
    code="CONNECT-S5",
    title="static_task_unassigned",
    alert="KafkaConnectStaticTaskUnassigned",
    wrong="Nobody holds a connector or task although a present worker declares it.",
    severity=Severity.HIGH,
    absorbed=True,
    meaning="A connector or task that a present worker declares is held by it at once; no delay is kept for it.",
    exceptions=("revoked in this rebalance",),
    confirm=(STATUS, ASSIGNMENTS),
)
WILDCARD_UNASSIGNED = _of_declarations(
    code="CONNECT-S6",
    title="wildcard_task_unassigned",
    alert="KafkaConnectWildcardTaskUnassigned",
    wrong="Nobody holds a connector or task that nobody declares, and no delay runs for it.",
    severity=Severity.MEDIUM,
    absorbed=True,
    meaning="A connector or task that nobody declares is held by a worker without declarations, or waits for the "
    "delay.",
    exceptions=(
        "revoked in this rebalance",
        "lost, and the delay runs",
        "no worker without declarations is there: info",
    ),
    confirm=(STATUS, ASSIGNMENTS),
)
STATIC_IMBALANCE = Rule(
    code="CONNECT-S7",
    title="imbalance",
    alert="KafkaConnectImbalance",
    wrong="Workers without declarations differ by two or more in the undeclared connectors or tasks they hold.",
    severity=Severity.MEDIUM,
    needs_every_generation=False,
    absorbed=True,
    meaning="With nothing pending, workers without declarations differ by at most one wildcard connector and task.",
    exceptions=(
        "revocations are under way",
        "a delay or back-off runs",
        "a worker holds a connector or task that is no longer configured",
        "connectors and tasks together may differ by two",
    ),
    confirm=(ALL_STATUSES, RUNNING_HERE),
    advice=(
        looks(
            "Count what nobody declares, on the workers that declare nothing: only this is spread evenly. A leader "
            "that speaks `static` balances it within one in its next rebalance."
        ),
    ),
    resolves="With the next calm generation in which they differ by at most one.",
)
MISSING_JOB_HAS_EFFECT = _of_declarations(
    code="CONNECT-S8",
    title="declaration_of_missing_task_has_effect",
    alert="KafkaConnectMissingTaskHasEffect",
    wrong="A worker that declares only connectors and tasks that do not exist was given others.",
    severity=Severity.HIGH,
    meaning="Declaring a task that does not exist changes nothing; a worker that declares nothing else idles.",
    confirm=(ALL_STATUSES, CONFIG_LOG),
)
DECLARATIONS_OBEYED = Rule(
    code="CONNECT-S9",
    title="declarations_obeyed_without_static",
    alert="KafkaConnectDeclarationsObeyed",
    wrong="The group does not speak the protocol `static`, and yet its assignment follows declarations.",
    severity=Severity.HIGH,
    meaning="While the group speaks another protocol than static, declarations have no effect.",
    confirm=(ASSIGNMENTS, ALL_STATUSES),
    advice=(
        looks(
            "Compare what the workers declare with the protocol that each offers: declarations need `static` on all."
        ),
    ),
    resolves=NEXT_GENERATION,
)
LISTED_UNASSIGNED = _of_declarations(
    code="CONNECT-S10",
    title="task_with_several_declaring_workers_unassigned",
    alert="KafkaConnectDeclaredTaskUnassigned",
    wrong="Nobody holds a connector or task although several present workers declare it.",
    severity=Severity.HIGH,
    absorbed=True,
    meaning="A connector or task that several present workers declare runs on exactly one of them, whichever.",
    exceptions=("revoked in this rebalance", "any worker that declares it will do"),
    confirm=(STATUS, ASSIGNMENTS),
)
NOT_LIKE_SESSIONED = _of_declarations(
    code="CONNECT-S11",
    title="static_group_unlike_sessioned",
    alert="KafkaConnectStaticUnlikeSessioned",
    wrong="Nobody declares anything, and yet the group does not assign as under the protocol `sessioned`.",
    severity=Severity.HIGH,
    meaning="A static group in which nobody declares anything assigns exactly like sessioned.",
    confirm=(ASSIGNMENTS, ALL_STATUSES),
)

DECLARED_JOB_MISSING = Rule(
    code="CONNECT-P1",
    title="declared_task_missing",
    alert="KafkaConnectDeclaredTaskMissing",
    wrong="A worker declares a connector or task that does not exist.",
    severity=Severity.INFO,
    needs_every_generation=False,
    meaning="Every declared connector or task exists.",
    confirm=(CONFIG_LOG,),
    advice=(in_place("Create the connector, or remove it from the declarations of the workers named."),),
    resolves="When the connector or task exists or nobody declares it.",
)
STATIC_WORKER_IDLE = Rule(
    code="CONNECT-P2",
    title="static_worker_idle",
    alert="KafkaConnectStaticWorkerIdle",
    wrong="A worker with declarations holds nothing.",
    severity=Severity.INFO,
    needs_every_generation=False,
    meaning="Every worker with declarations has something to do.",
    exceptions=("revocations are under way", "a delay or back-off runs"),
    confirm=(ALL_STATUSES,),
    advice=(
        looks("The worker declares only connectors and tasks that do not exist or that others run."),
        moves("Let it declare nothing, or something that exists, and restart it.", WorkerMove.REDECLARE),
    ),
    resolves="When it is assigned one of the connectors or tasks that it declares.",
)
SINGLE_LISTER = Rule(
    code="CONNECT-P3",
    title="static_task_with_one_declaring_worker",
    alert="KafkaConnectStaticTaskSingleWorker",
    wrong="Only one worker declares a connector or task, so it stops while that worker is away.",
    severity=Severity.INFO,
    needs_every_generation=False,
    meaning="Every static connector or task has a second worker that declares it.",
    confirm=(ALL_STATUSES,),
    advice=(
        moves(
            "Start a second worker that declares the same: with one alone, everything stops for as long as that "
            "worker is away.",
            WorkerMove.START_WORKER,
        ),
    ),
    resolves="When a second worker declares it.",
)
LISTERS_AWAY = Rule(
    code="CONNECT-P4",
    title="static_task_without_its_declaring_workers",
    alert="KafkaConnectStaticTaskMoved",
    wrong="A worker without declarations runs a connector or task because all workers that declare it are away.",
    severity=Severity.INFO,
    needs_every_generation=False,
    meaning="No connector or task runs on a worker without declarations only because those that declare it are away.",
    confirm=(ALL_STATUSES, GROUPS),
    advice=(
        moves(
            "Start one of the workers again that declare the connector or task; until then it runs elsewhere.",
            WorkerMove.START_WORKER,
        ),
    ),
    resolves="When one of them is back: it is assigned the connector or task at once.",
)
NO_WILDCARD_WORKER = Rule(
    code="CONNECT-P5",
    title="no_wildcard_worker",
    alert="KafkaConnectNoWildcardWorker",
    wrong="Connectors or tasks are declared by nobody, and every worker declares something: nobody may run them.",
    severity=Severity.INFO,
    needs_every_generation=False,
    meaning="As long as nobody declares some connectors or tasks, some worker declares nothing.",
    confirm=(ALL_STATUSES,),
    advice=(
        moves(
            "Start a worker that declares nothing: it gets everything that nobody declares.", WorkerMove.START_WORKER
        ),
        looks(
            "Or declare the rest on some worker. Otherwise, once the delay and the time-outs are over, "
            "`unassigned_too_long` opens."
        ),
    ),
    resolves="When a worker without declarations joins, or nothing undeclared is left.",
)

RULES = declared(vars())
