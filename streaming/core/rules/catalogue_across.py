"""The rules from one record of a Connect group to the next, and about time: CONNECT-K1, CONNECT-K5 to K17."""

from streaming.core.results import Severity
from streaming.core.rules.rule import MINUTE_MS, Rule

HOLD_NOT_CARRIED_OVER = Rule(
    code="CONNECT-K1",
    title="hold_not_carried_over",
    severity=Severity.MEDIUM,
    issues=("KAFKA-9851", "KAFKA-10763"),
    meaning="A member reports in the next generation exactly what it held after the one before.",
    exceptions=(
        "it gave up its jobs: no allocation",
        "it missed the answer and reports what it had before",
        "generations are missing between",
    ),
)
UNASSIGNED_TOO_LONG = Rule(
    code="CONNECT-K5",
    title="unassigned_too_long",
    severity=Severity.HIGH,
    issues=("KAFKA-9848", "KAFKA-15693", "KAFKA-15676"),
    for_ms=0,
    pages=True,
    absorbed=True,
    meaning="A configured job has a holder again once the scheduled delay and both time-outs are over.",
    exceptions=(
        "another departure opened a new window",
        "taken back from a delay candidate, which starts its wait anew",
        "the group has no member at all",
    ),
)
DELAY_NEVER_RESOLVED = Rule(
    code="CONNECT-K6",
    title="delay_never_resolved",
    severity=Severity.HIGH,
    issues=("KAFKA-9184",),
    for_ms=0,
    meaning="When an announced delay is over, the rebalance that ends it comes.",
    exceptions=("the group emptied",),
)
WINDOW_END_MOVED = Rule(
    code="CONNECT-K7",
    title="delay_end_moved",
    severity=Severity.MEDIUM,
    issues=("KAFKA-9184",),
    meaning="While jobs wait for a lost worker, every round of one leader announces the same end of the delay.",
    exceptions=("a new window after a reset", "the pause between two revoking rounds gave way to a loss"),
)
DELAY_WITHOUT_LOSS = Rule(
    code="CONNECT-K8",
    title="delay_without_loss",
    severity=Severity.INFO,
    meaning="A delay means that jobs wait for a lost worker, or is the pause between two revoking rounds.",
    exceptions=("the pause between two revoking rounds",),
)
WINDOW_CUT_SHORT = Rule(
    code="CONNECT-K9",
    title="delay_cut_short",
    severity=Severity.INFO,
    meaning="Lost jobs are handed out when their window is over, not before.",
    exceptions=(
        "the jobs came back",
        "another leader",
        "the leader's memory is void after a config mismatch",
        "the lost jobs were deleted",
        "a loss that shares the pause between two revoking rounds",
    ),
)
REBALANCE_STORM = Rule(
    code="CONNECT-K10",
    title="rebalance_storm",
    severity=Severity.MEDIUM,
    issues=("KAFKA-9184", "KAFKA-12495"),
    for_ms=0,
    keep_firing_ms=5 * MINUTE_MS,
    meaning="Members that come or go, config changes, revocations and delays explain how often a group rebalances.",
    exceptions=("a rolling restart", "many connectors created at once"),
)
CONFIG_MISMATCH_PERSISTS = Rule(
    code="CONNECT-K11",
    title="config_mismatch_persists",
    severity=Severity.HIGH,
    issues=("KAFKA-10218", "KAFKA-9849"),
    for_ms=MINUTE_MS,
    meaning="Leader and members catch up with the config topic within a round or two.",
    exceptions=("the config topic is new and starts over", "the member has just joined"),
)
OFFSET_REGRESSION = Rule(
    code="CONNECT-K12",
    title="config_offset_regression",
    severity=Severity.HIGH,
    meaning="Assignments never refer to a lower config offset than earlier ones.",
    exceptions=("the config topic is new and starts over", "the leader has restarted and lags"),
)
PROTOCOL_DOWNGRADE = Rule(
    code="CONNECT-K13",
    title="protocol_downgrade",
    severity=Severity.MEDIUM,
    meaning="A group does not fall to a lower protocol, or all of its workers follow within ten minutes.",
    exceptions=("a rolling downgrade",),
)
REVOCATION_NOT_FOLLOWED_UP = Rule(
    code="CONNECT-K14",
    title="revocation_not_followed_up",
    severity=Severity.HIGH,
    issues=("KAFKA-10763",),
    for_ms=0,
    meaning="A round that takes jobs from workers is followed by the one that gives them to others.",
    exceptions=("the group emptied",),
)
REVOKED_JOB_LOST = Rule(
    code="CONNECT-K15",
    title="revoked_job_not_replaced",
    severity=Severity.HIGH,
    for_ms=MINUTE_MS,
    meaning="What one round takes away, the next successful one gives to somebody.",
    exceptions=(
        "deleted meanwhile",
        "taken back from a delay candidate, and a member left before the follow-up",
    ),
)
ZOMBIE_RETURN = Rule(
    code="CONNECT-K16",
    title="zombie_return",
    severity=Severity.INFO,
    meaning="A member that joins for the first time holds nothing; one that does was cut off or stood still.",
    exceptions=("restarted, and holds nothing",),
)
LEADER_WITHOUT_MEMORY = Rule(
    code="CONNECT-K17",
    title="leader_without_memory",
    severity=Severity.INFO,
    meaning="The leader stays the same; another one does not know which delays run and which jobs were lost.",
    exceptions=("the first generation of a group",),
)

RULES = (
    HOLD_NOT_CARRIED_OVER,
    UNASSIGNED_TOO_LONG,
    DELAY_NEVER_RESOLVED,
    WINDOW_END_MOVED,
    DELAY_WITHOUT_LOSS,
    WINDOW_CUT_SHORT,
    REBALANCE_STORM,
    CONFIG_MISMATCH_PERSISTS,
    OFFSET_REGRESSION,
    PROTOCOL_DOWNGRADE,
    REVOCATION_NOT_FOLLOWED_UP,
    REVOKED_JOB_LOST,
    ZOMBIE_RETURN,
    LEADER_WITHOUT_MEMORY,
)
