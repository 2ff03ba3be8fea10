"""What may be behind an answer of a Connect leader, and why one cannot be judged (connect.md 4 and 5)."""

from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind

UNKNOWN_MAXIMUM = Reason(
    ReasonKind.UNKNOWN_MAXIMUM_DELAY, "unknown setting: scheduled.rebalance.max.delay.ms of the leader"
)
CONFIG_BEHIND = Reason(ReasonKind.CONFIG_BEHIND, "config snapshot one record behind its offset")
CONFIG_FLAGGED = Reason(
    ReasonKind.CONFIG_INCONSISTENT,
    "a connector's tasks are inconsistent for the leader and not for others, or the other way round",
)
REVIVED = Reason(
    ReasonKind.TASKS_REVIVED, "a connector that was made anew has its old tasks back, as in releases before 3.7.1"
)
HISTORY_MISSING = Reason(ReasonKind.HISTORY_MISSING, "history missing before the first record")
MISSING_GENERATIONS = Reason(ReasonKind.MISSING_GENERATIONS, "missing generations")
UNSEEN_REBALANCES = Reason(
    ReasonKind.UNSEEN_REBALANCES, "the leader may have led before, in rebalances that were not seen"
)
TOO_MANY = Reason(
    ReasonKind.MEMORY_BOUND, "the leader's memory is not known, and more of what it may be was possible than was tried"
)
CLOCKS_APART = Reason(ReasonKind.CLOCKS_APART, "the coordinator's clock has moved against the leader's")
ARRAY_ORDER = Reason(ReasonKind.ARRAY_ORDER, "order inside the arrays")
EQUAL_CHOICE = Reason(
    ReasonKind.EQUAL_CHOICE, "another choice among the workers that declare the same connector or task"
)
COMPACTED = Reason(
    ReasonKind.CONFIG_COMPACTED,
    "the config topic was compacted, or holds aborted transactions: what was configured at this generation's offset is "
    "not known",
)
MARKER_OR_RECORD = Reason(
    ReasonKind.CONFIG_COMPACTED,
    "the config topic has holes of one offset, markers of transactions or records that compaction took away, not known "
    "which: with a lost record the answer is right",
)


def other_answer(text: str) -> Reason:
    """What differs from the expected answer."""
    return Reason(ReasonKind.OTHER_ANSWER, text)


def other_release(configured: str | None) -> Reason:
    """The leader answers as another release than the `configured` one, or than the leaders before it."""
    others = "those before it" if configured is None else f"the configured {configured}"
    return Reason(ReasonKind.OTHER_RELEASE, f"the leader runs another release than {others}")
