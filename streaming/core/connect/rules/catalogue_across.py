"""The rules from one record of a Connect group to the next, and about time: CONNECT-K1, CONNECT-K5 to K18."""

from rebalance_monitor.streaming.core.incidents.confirming import (
    ASSIGNMENTS,
    CONFIG_LOG,
    NEXT_GENERATION,
    NO_MEMBER_LEFT,
    NO_WORKER,
    REBALANCE_ONCE,
    REBALANCES,
    RUNNING_HERE,
    STATUS,
    STATUS_LOG,
    VERSIONS,
)
from rebalance_monitor.streaming.core.incidents.rule import MINUTE_MS, Rule, declared
from rebalance_monitor.streaming.core.incidents.step import WorkerMove, in_place, looks, moves
from rebalance_monitor.streaming.core.model.findings import Severity

HOLD_NOT_CARRIED_OVER = Rule(
    code="CONNECT-K1",
    title="assignment_not_carried_over",
    alert="KafkaConnectAssignmentLost",
    wrong="A worker reports other connectors or tasks than it held after the last rebalance.",
    severity=Severity.MEDIUM,
    issues=("KAFKA-9851", "KAFKA-10763"),
    meaning="A member reports in the next generation exactly what it held after the one before.",
    exceptions=(
        "it gave up everything: no allocation",
        "it missed the answer and reports what it had before",
        "generations are missing between",
    ),
    confirm=(ASSIGNMENTS, RUNNING_HERE),
    advice=(
        looks("See whether the worker runs what it reports (JMX): the report may be wrong, or what it runs."),
        moves(
            "If the two differ, restart it; releases before 2.7.1 lose connectors and tasks in this way.",
            WorkerMove.RESTART_NAMED,
        ),
    ),
    resolves="With the next generation in which the worker reports what it was assigned.",
)
UNASSIGNED_TOO_LONG = Rule(
    code="CONNECT-K5",
    title="unassigned_too_long",
    alert="KafkaConnectTaskUnassignedTooLong",
    wrong="Nobody holds a configured connector or task although its delay and both time-outs are over: it does "
    "no work.",
    severity=Severity.HIGH,
    needs_every_generation=False,
    issues=("KAFKA-9848", "KAFKA-15693", "KAFKA-15676"),
    for_ms=0,
    pages=True,
    absorbed=True,
    meaning="A configured connector or task has a holder again once the scheduled delay and both time-outs are over.",
    exceptions=(
        "another departure opened a new window",
        "taken back from a delay candidate, which starts its wait anew",
        "the group has no member at all: `all_workers_gone` says so",
        "by the clocks of two coordinators only, and over: info",
    ),
    confirm=(STATUS, ASSIGNMENTS, REBALANCES),
    advice=(
        moves(
            "The named connectors and tasks do no work. Restart the leader: the next one assigns everything that "
            "nobody holds.",
            WorkerMove.RESTART_LEADER,
        ),
        looks("If no rebalance follows, look at the coordinator's log for what keeps the group from completing one."),
        looks(
            "Under protocol `static`, nobody may run what only absent workers declare: `no_wildcard_worker` and "
            "`static_task_without_its_declaring_workers` say what to do."
        ),
        in_place(
            "Releases before 3.5.2 forget lost tasks where `scheduled.rebalance.max.delay.ms` is 0: give the delay a "
            "value above 0, or plan an upgrade."
        ),
    ),
    resolves="With the generation that assigns it.",
)
ALL_WORKERS_GONE = Rule(
    code="CONNECT-K18",
    title="all_workers_gone",
    alert="KafkaConnectAllWorkersGone",
    wrong="The group has no worker, and connectors are configured that are neither paused nor stopped: nothing runs.",
    severity=Severity.CRITICAL,
    needs_every_generation=False,
    for_ms=0,
    pages=True,
    patience="after the larger of the delay and the session time-out",
    meaning="While connectors are configured and neither paused nor stopped, the group has at least one worker; it is "
    "without one for no longer than the larger of the scheduled delay and the session time-out.",
    exceptions=(
        "a worker joins before the patience is over",
        "all connectors are paused or stopped",
        "all connectors were deleted",
        "the last leader read another config topic",
        "by the clocks of two coordinators only, and over: info",
    ),
    confirm=(NO_WORKER, NO_MEMBER_LEFT, CONFIG_LOG),
    advice=(
        moves(
            "No connector of this cluster runs. Start the workers: the first one gets everything at once.",
            WorkerMove.START_WORKER,
        ),
        looks("See why they ended: the container platform's events, the end of each worker's log, the host's memory."),
        looks(
            "If the workers run, they cannot join: look in their logs for authentication, the coordinator's address, "
            "and `group.id` and `config.storage.topic`, which must be the same on all."
        ),
        in_place(
            "If this was planned, announce a maintenance next time, or pause the connectors first: both keep it silent."
        ),
    ),
    resolves="With the first generation that has members, or when no connector is left to run.",
)
DELAY_NEVER_RESOLVED = Rule(
    code="CONNECT-K6",
    title="delay_never_resolved",
    alert="KafkaConnectDelayNeverResolved",
    wrong="The scheduled delay is over, and the rebalance that ends it has not come: lost tasks still wait.",
    severity=Severity.HIGH,
    issues=("KAFKA-9184",),
    for_ms=0,
    meaning="When an announced delay is over, the rebalance that ends it comes.",
    exceptions=("the group emptied", "by the clocks of two coordinators only, and over: info"),
    confirm=(ASSIGNMENTS, REBALANCES),
    advice=(
        moves(
            "Connectors and tasks wait for a rebalance that did not come: restart any worker, which causes one.",
            WorkerMove.RESTART_ANOTHER,
        ),
        looks("See whether the leader's process stands still (a long pause, a full disk, no memory)."),
        moves("If it does, restart the leader instead.", WorkerMove.RESTART_LEADER),
    ),
    resolves="With the next generation.",
)
WINDOW_END_MOVED = Rule(
    code="CONNECT-K7",
    title="delay_end_moved",
    alert="KafkaConnectDelayEndMoved",
    wrong="While tasks wait for a lost worker, the same leader announced another end of the delay.",
    severity=Severity.MEDIUM,
    issues=("KAFKA-9184",),
    meaning="While tasks wait for a lost worker, every rebalance of one leader announces the same end of the delay.",
    exceptions=(
        "a new window after a reset",
        "the pause between two rebalances that revoke gave way to a loss",
        "the clocks of two coordinators differ, the leader's own has gone on",
    ),
    confirm=(ASSIGNMENTS,),
    advice=(
        looks("Wait: connectors and tasks are assigned when the delay is over. Restart no worker until then."),
        looks("See which worker comes and goes: each departure within the delay adds to what waits."),
    ),
    resolves="When the window ends and they are assigned.",
    ends_with_delay=True,
)
DELAY_WITHOUT_LOSS = Rule(
    code="CONNECT-K8",
    title="delay_without_loss",
    alert="KafkaConnectDelayWithoutLoss",
    wrong="The leader announced a delay although no connector or task waits for a lost worker.",
    severity=Severity.INFO,
    meaning="A delay means that tasks wait for a lost worker, or is the pause between two rebalances that revoke.",
    exceptions=("the pause between two rebalances that revoke",),
    confirm=(ASSIGNMENTS,),
    advice=(looks("Nothing to do: nothing waits. The rebalance at its end is one more than needed."),),
    resolves="When the delay is over.",
    ends_with_delay=True,
)
WINDOW_CUT_SHORT = Rule(
    code="CONNECT-K9",
    title="delay_cut_short",
    alert="KafkaConnectDelayCutShort",
    wrong="Lost connectors or tasks were assigned before their delay was over.",
    severity=Severity.INFO,
    meaning="Lost connectors and tasks are assigned when their window is over, not before.",
    exceptions=(
        "they came back",
        "another leader",
        "the leader's memory is void after a config mismatch",
        "they were deleted",
        "a loss that shares the pause between two rebalances that revoke",
    ),
    confirm=(ASSIGNMENTS, REBALANCES),
    advice=(looks("Nothing to do: they run again earlier than announced. A worker that returns now gets other ones."),),
    resolves=NEXT_GENERATION,
)
REBALANCE_STORM = Rule(
    code="CONNECT-K10",
    title="rebalance_storm",
    alert="KafkaGroupRebalanceStorm",
    wrong="The group rebalances more often than members, config changes, revocations and delays explain.",
    severity=Severity.MEDIUM,
    issues=("KAFKA-9184", "KAFKA-12495"),
    for_ms=0,
    keep_firing_ms=5 * MINUTE_MS,
    pages_after_ms=10 * MINUTE_MS,
    absorbs=True,
    meaning="Members that come or go, config changes, revocations and delays explain how often a group rebalances.",
    exceptions=(
        "a rolling restart",
        "many connectors created at once",
        "revocations that follow members that come one after the other",
    ),
    confirm=(REBALANCES, ASSIGNMENTS),
    advice=(
        looks(
            "Look at the coordinator's log: its reason names the member that leaves, is dropped or joins again and "
            "again."
        ),
        looks("`session timeout` means a process that stands still; `leave` one that ends: look after that one first."),
        in_place(
            "Mend what makes that process end or stand still: memory, disk, network. Until then no rebalance that "
            "follows lasts."
        ),
        looks("After ten minutes the alert becomes critical: a group that rebalances all the time works little."),
    ),
    resolves="After five minutes in which the group rebalanced no more often than its records explain.",
)
CONFIG_MISMATCH_PERSISTS = Rule(
    code="CONNECT-K11",
    title="config_mismatch_persists",
    alert="KafkaConnectConfigMismatch",
    wrong="A worker, or the leader, stays behind the config topic through several rebalances.",
    severity=Severity.HIGH,
    issues=("KAFKA-10218", "KAFKA-9849"),
    for_ms=MINUTE_MS,
    meaning="Leader and members catch up with the config topic within a rebalance or two.",
    exceptions=("the config topic is new and starts over", "the member has just joined"),
    confirm=(ASSIGNMENTS, CONFIG_LOG),
    advice=(
        looks(
            "The worker named cannot read the config topic to its end: see its log, its network and its rights on the "
            "topic."
        ),
        moves(
            "If it does not catch up, restart it; while the leader is the one behind, nothing is assigned to anybody.",
            WorkerMove.RESTART_NAMED,
        ),
        looks(
            "Never? Compare `group.id` and `config.storage.topic` of all workers: two Connect clusters under one group "
            "id destroy each other. Generations that a foreign worker leads are not judged, and say so."
        ),
    ),
    resolves="When it has read the topic up to the others' offset.",
)
OFFSET_REGRESSION = Rule(
    code="CONNECT-K12",
    title="config_offset_regression",
    alert="KafkaConnectConfigOffsetRegression",
    wrong="Assignments refer to a lower config offset than before.",
    severity=Severity.HIGH,
    meaning="Assignments never refer to a lower config offset than earlier ones.",
    exceptions=("the config topic is new and starts over", "the leader has restarted and lags"),
    confirm=(CONFIG_LOG, ASSIGNMENTS),
    advice=(
        looks(
            "See whether the config topic was made anew or cut off. Then connectors may be missing: compare with what "
            "should be there."
        ),
        moves("Otherwise the leader lags: restart it.", WorkerMove.RESTART_LEADER),
    ),
    resolves="When assignments refer to the highest offset again.",
)
PROTOCOL_DOWNGRADE = Rule(
    code="CONNECT-K13",
    title="protocol_downgrade",
    alert="KafkaConnectProtocolDowngrade",
    wrong="The group fell to a lower protocol, and some workers still offer the higher one.",
    severity=Severity.MEDIUM,
    meaning="A group does not fall to a lower protocol, or all of its workers follow within ten minutes.",
    exceptions=("a rolling downgrade",),
    confirm=(ASSIGNMENTS, VERSIONS),
    advice=(
        looks(
            "Compare `connect.protocol` and the releases of all workers: one that offers only the lower protocol keeps "
            "all down."
        ),
        looks("Below `sessioned` internal requests are not signed: do not leave it like this."),
    ),
    resolves="When the group speaks the higher protocol again, or no worker offers it any more.",
)
REVOCATION_NOT_FOLLOWED_UP = Rule(
    code="CONNECT-K14",
    title="revocation_not_followed_up",
    alert="KafkaConnectRevocationStuck",
    wrong="Connectors or tasks were revoked, and the rebalance that assigns them again has not come: they do no work.",
    severity=Severity.HIGH,
    issues=("KAFKA-10763",),
    for_ms=0,
    meaning="A rebalance that revokes connectors or tasks is followed by one that assigns them to other workers.",
    exceptions=("the group emptied", "by the clocks of two coordinators only, and over: info"),
    confirm=(ASSIGNMENTS, REBALANCES),
    advice=(
        moves(
            "Connectors and tasks were stopped and assigned to nobody: restart any worker, which causes the missing "
            "rebalance.",
            WorkerMove.RESTART_ANOTHER,
        ),
        looks("See whether a worker cannot stop a task in time (`task.shutdown.graceful.timeout.ms`)."),
    ),
    resolves="With the next generation.",
)
REVOKED_JOB_LOST = Rule(
    code="CONNECT-K15",
    title="revoked_task_not_replaced",
    alert="KafkaConnectRevokedTaskLost",
    wrong="The rebalance after a revocation assigned the revoked connectors or tasks to nobody.",
    severity=Severity.HIGH,
    for_ms=MINUTE_MS,
    meaning="The next successful rebalance assigns all connectors and tasks that a rebalance revoked.",
    exceptions=(
        "deleted meanwhile",
        "taken back from a delay candidate, and a member left before the follow-up",
        "another leader took them, and this one waits for a worker that had them when it led",
    ),
    confirm=(STATUS, ASSIGNMENTS),
    advice=REBALANCE_ONCE,
    resolves="When it is assigned, or deleted.",
)
ZOMBIE_RETURN = Rule(
    code="CONNECT-K16",
    title="zombie_return",
    alert="KafkaConnectZombieReturned",
    wrong="A worker that the group had removed came back and still reports connectors or tasks as its own.",
    severity=Severity.INFO,
    meaning="A member that joins for the first time holds nothing; one that does was cut off or stood still.",
    exceptions=("restarted, and holds nothing",),
    confirm=(ASSIGNMENTS, STATUS_LOG),
    advice=(
        looks("Nothing to do now: its tasks are revoked. It may have worked unseen since the group gave it up."),
        looks("Find out why it was cut off: a long garbage collection, a full network, a stopped machine."),
    ),
    resolves="With the next generation in which it is an ordinary member.",
)
LEADER_WITHOUT_MEMORY = Rule(
    code="CONNECT-K17",
    title="leader_without_memory",
    alert="KafkaConnectLeaderChanged",
    wrong="Another worker leads the group; it does not know which delays ran and which tasks were lost.",
    severity=Severity.INFO,
    meaning="The leader stays the same; another one does not know which delays run and which tasks were lost.",
    exceptions=("the first generation of a group",),
    confirm=(ASSIGNMENTS,),
    advice=(looks("Nothing to do: this explains other findings. Open delays end with the leader that opened them."),),
    resolves=NEXT_GENERATION,
)

RULES = declared(vars())
