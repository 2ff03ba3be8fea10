"""The rules that hold of groups of every kind, whatever their lifecycle: of their rebalances, of how far members come
with what they hold, of members that come and go, and of the monitor itself, whose fold of a group may fail.
"""

from rebalance_monitor.streaming.core.model.findings import Severity
from .confirming import FOLD_ERRORS, GROUP_STATE, KEPT_STATES, MEMBERS, OFFSETS, REBALANCES, TOO_FEW_REPLICAS
from .rule import MINUTE_MS, Rule, declared
from .step import in_place, looks, rejoins

STUCK_REBALANCE = Rule(
    code="GROUP-G1",
    title="stuck_rebalance",
    alert="KafkaGroupStuckRebalance",
    wrong="A rebalance of the group does not end: nobody gets an assignment.",
    severity=Severity.CRITICAL,
    needs_every_generation=False,
    for_ms=0,
    pages=True,
    patience="after the longest rebalance time-out of the last record's members (Connect: and their session time-out)",
    meaning="A group is in PreparingRebalance, and then in CompletingRebalance, no longer than its members allow.",
    exceptions=(
        "a generation was written meanwhile",
        "a group that is polled was seen settled, or with other members, meanwhile",
        "the brokers were not asked, or did not answer",
        "a group whose last record has no members, so that nobody knows its time-outs",
    ),
    confirm=(GROUP_STATE, REBALANCES, TOO_FEW_REPLICAS),
    advice=(
        looks("See which members the group's page lists: the coordinator waits for one of them to join again."),
        looks(
            "Look at each member's process: one that is busy with a record, or pausing, joins only when it polls again."
        ),
        rejoins("Restart a process that hangs: the coordinator waits for it no longer than its session time-out then."),
        looks("If all processes are well, the brokers cannot end the rebalance: look at them, not at the members."),
        looks("When it ends, the incident names the members that did not join again."),
    ),
    resolves="With the next record of the group; where it is polled, when it is seen settled or with other members.",
)
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
STATIC_MEMBER_MISSING = Rule(
    code="GROUP-G4",
    title="static_member_missing",
    alert="KafkaGroupStaticMemberMissing",
    wrong="A static member went, did not come back, and nobody came instead.",
    severity=Severity.INFO,
    needs_every_generation=False,
    for_ms=0,
    patience="after 10 min beyond the member's session time-out",
    meaning="An instance id (`group.instance.id`) that was in a group is in it again soon after its session time-out.",
    exceptions=(
        "it comes back within the patience",
        "it left by a request",
        "another member comes instead, before or after",
        "no static member is left in the group",
    ),
    confirm=(MEMBERS,),
    advice=(
        looks(
            "The message names the client and the host of the member's last process, and what it held: see whether "
            "that host runs, and what the process logged last."
        ),
        looks("Other members have its partitions now: compare their lag with what it was before."),
        looks("If it was stopped for good, nothing is wrong: the incident ends a day after it opened."),
    ),
    resolves="When the instance id or another member joins, when no static member is left, or a day after it opened.",
)
GENERATION_BACK = Rule(
    code="GROUP-G7",
    title="generation_went_back",
    alert="KafkaGroupGenerationWentBack",
    wrong="The generation of a group went back while the group was not deleted.",
    severity=Severity.MEDIUM,
    for_ms=0,
    meaning="A coordinator counts on from the newest record of the group, so a generation is never below one that was "
    "read, unless the coordinator does not have that record any more.",
    exceptions=(
        "the group was deleted and made again",
        "it begins with its first generation",
        "records were not read in between",
        "no member is in both records: the group may have been deleted, and its tombstone cleaned away",
    ),
    confirm=(MEMBERS,),
    advice=(
        looks(
            "Look for an unclean leader election of the group's partition of `__consumer_offsets`, or for a broker "
            "that was restored from a copy."
        ),
        looks(
            "Offsets that the group committed may have gone back, too: its members read records a second time, "
            "or begin where `auto.offset.reset` says."
        ),
    ),
    resolves="With the next generation.",
)
CRASH_LOOP = Rule(
    code="GROUP-G5",
    title="crash_loop",
    alert="KafkaGroupCrashLoop",
    wrong="A member of the group is lost or leaves, and comes back, again and again: each time the group rebalances.",
    severity=Severity.MEDIUM,
    needs_every_generation=False,
    for_ms=0,
    patience="when it has come back `judge.crash_loop_returns` times within `judge.crash_loop_ms`, and for 5 min",
    meaning="A member (by its `group.instance.id`, client id or host) comes back to its group fewer than "
    "`judge.crash_loop_returns` times within `judge.crash_loop_ms`.",
    exceptions=(
        "a rolling deployment, and one that is taken back",
        "a process that fails to start a few times within five minutes, and then stays",
        "members that come are others each time, as where a group is scaled",
        "several members share the name, and each may have been restarted a few times",
        "a group on one host that is empty in between: a program that is run again and again",
    ),
    confirm=(MEMBERS, REBALANCES),
    advice=(
        looks(
            "The message names the member: see in its process's log and in its supervisor's why it ended last (memory, "
            "an exception, a failed probe)."
        ),
        looks(
            "If it never ended, it was removed: it was silent for longer than `session.timeout.ms`, or between two "
            "polls for longer than `max.poll.interval.ms`."
        ),
        looks(
            "If it ends at the same record each time, that record cannot be handled: the committed offset of its "
            "partition does not grow."
        ),
        looks("If members are started and stopped on purpose, let whatever does it wait longer between two steps."),
    ),
    resolves="When nobody has come back under that name for `judge.crash_loop_ms`, or the group is deleted.",
)
REBALANCE_STORM = Rule(
    code="GROUP-G6",
    title="rebalance_storm",
    alert="KafkaGroupRebalanceStorm",
    wrong="The group rebalances more often than members that come and go, and what they give up, explain.",
    severity=Severity.MEDIUM,
    for_ms=0,
    keep_firing_ms=5 * MINUTE_MS,
    pages_after_ms=10 * MINUTE_MS,
    absorbs=True,
    meaning="Members that come or go, and partitions that change hands, explain how often a group rebalances. Twenty "
    "generations within ten minutes need no reason.",
    exceptions=(
        "a rolling deployment",
        "a group that is scaled every minute",
        "a Streams application whose leader sets the time of each next rebalance",
        "a group of Connect workers: CONNECT-K10",
    ),
    confirm=(REBALANCES, GROUP_STATE),
    advice=(
        looks(
            "Look at the coordinator's log: each `Preparing to rebalance group` has a reason, and the member that "
            "caused it."
        ),
        looks(
            "A member that joins again without having left changes what it subscribes to, or calls for a rebalance by "
            "itself: compare its client's release with the others'."
        ),
        in_place(
            "Mend what makes that client call for rebalances: its release, its configuration, or what the application "
            "does between two polls."
        ),
        looks("While the storm lasts, members of an eager group read little or nothing: look at the group's lag."),
    ),
    resolves="After five minutes in which the group rebalanced no more often than its records explain.",
)
FEWER_MEMBERS = Rule(
    code="GROUP-E1",
    title="fewer_members_than_expected",
    alert="KafkaGroupFewerMembersThanExpected",
    wrong="The group has fewer members than its owner expects.",
    severity=Severity.MEDIUM,
    needs_every_generation=False,
    meaning="A group has at least as many members as `groups[].members_at_least` says.",
    exceptions=(
        "nothing is expected of the group",
        "a group that was deleted, unless it is expected by its whole name",
    ),
    confirm=(GROUP_STATE, MEMBERS),
    advice=(
        looks("The message names who went and what nobody has meanwhile: see whether these processes run."),
        looks("If one runs and is not in the group, its log says why it does not join."),
        in_place("If the group is to be smaller from now on, correct `groups[].members_at_least` and send SIGHUP."),
    ),
    resolves="When the group has as many members again, or the configuration expects no more than it has.",
)
MORE_LAG = Rule(
    code="GROUP-E2",
    title="more_lag_than_expected",
    alert="KafkaGroupMoreLagThanExpected",
    wrong="The group has records to read that are older than its owner expects.",
    severity=Severity.MEDIUM,
    needs_every_generation=False,
    for_ms=0,
    patience="when all samples of 5 min show it",
    meaning="The first record that a group has not read is no older than `groups[].lag_s` says.",
    exceptions=(
        "samples in between that show less",
        "no offsets were sampled, or samples do not reach back so far",
    ),
    confirm=(OFFSETS, MEMBERS),
    advice=(
        looks("The message names the partition that is farthest behind, and who holds it: look at that process first."),
        looks("If all partitions are behind, compare what is written with what the members read: more may be needed."),
        looks("See whether the lag began with a rebalance: the group's page shows what each one held up."),
    ),
    resolves="When a sample shows no more lag than expected, or the configuration expects no less.",
)
MORE_REBALANCES = Rule(
    code="GROUP-E3",
    title="more_rebalances_than_expected",
    alert="KafkaGroupMoreRebalancesThanExpected",
    wrong="The group has rebalanced more often within an hour than its owner expects.",
    severity=Severity.MEDIUM,
    for_ms=0,
    meaning="Within any hour a group completes no more generations than `groups[].rebalances_per_hour` says.",
    exceptions=(
        "generations farther apart",
        "a record that is written again without a rebalance",
    ),
    confirm=(REBALANCES, MEMBERS),
    advice=(
        looks("The group's page shows what caused each of the last rebalances."),
        looks(
            "A deployment causes up to two for each member that is restarted: plan a maintenance window for it, or "
            "expect as many."
        ),
        looks("If members come and go without one, look for `crash_loop` of the same group."),
    ),
    resolves="An hour after the first of the rebalances that were too many, or the configuration expects no fewer.",
)
EXPECTATIONS = (FEWER_MEMBERS, MORE_LAG, MORE_REBALANCES)
"""Of what an owner expects (`fold.expected`)."""
MONITOR_ERROR = Rule(
    code="MONITOR-E1",
    title="monitor_error",
    alert="KafkaRebalanceMonitorError",
    wrong="The monitor failed on records of this group and judges the group anew from the next ones.",
    severity=Severity.MEDIUM,
    needs_every_generation=False,
    for_ms=0,
    meaning="The monitor can fold every record of the group.",
    confirm=(FOLD_ERRORS, KEPT_STATES),
    advice=(
        looks(
            "The monitor has an error of its own: report it with the fingerprint in the message and the trace in its "
            "log."
        ),
        looks(
            "The records named are committed as `not_judged: internal error`; the group was begun anew, so what "
            "depends on "
            "earlier records (who holds what, the leader's memory) is known again after the next generations."
        ),
        looks("Look at this group by other means until then: other groups are not affected."),
    ),
    resolves="After ten generations folded without an error, or a day without one.",
)

OF_EVERY_GROUP = declared(vars())
OUTLIVE_EMPTY = frozenset(one.code for one in (CRASH_LOOP, REBALANCE_STORM, MONITOR_ERROR, *EXPECTATIONS))
"""Codes of the rules whose incidents go on where a group has no members for a while."""
