"""The rules about groups that do not come to rest, of whatever kind they are."""

from rebalance_monitor.streaming.core.incidents.confirming import GROUP_STATE, MEMBERS, REBALANCES
from rebalance_monitor.streaming.core.incidents.rule import MINUTE_MS, Rule
from rebalance_monitor.streaming.core.incidents.step import in_place, looks
from rebalance_monitor.streaming.core.model.results import Severity

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
    resolves="Five minutes after the group has rebalanced no more often than explained.",
)

RULES = (CRASH_LOOP, REBALANCE_STORM)
