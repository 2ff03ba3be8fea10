"""Every rule that can be broken, declared once: code, title, usual severity, and the Kafka issues it resembles.

Codes are the numbers of the law in the description of the protocol: CONNECT-I… hold within one record, CONNECT-K…
across records, CONNECT-S… for static assignments. One code has one title; a title is shared where several laws look at
the same harm from different sides (`duplicate_active`, `imbalance`).
"""

from streaming.core.results import Severity
from streaming.core.rules import catalogue_record, catalogue_static
from streaming.core.rules.rule import MINUTE_MS, Rule

UNASSIGNED_TOO_LONG = Rule(
    code="CONNECT-K5",
    title="unassigned_too_long",
    severity=Severity.HIGH,
    issues=("KAFKA-9848", "KAFKA-15693", "KAFKA-15676"),
    for_ms=0,
    pages=True,
    absorbed=True,
)
CONSUMER_UNDECODABLE = Rule(code="CONSUMER-C10", title="undecodable_member", severity=Severity.HIGH)

# Across records: what a cluster that works never shows from one generation to the next.
HOLD_NOT_CARRIED_OVER = Rule(
    code="CONNECT-K1", title="hold_not_carried_over", severity=Severity.MEDIUM, issues=("KAFKA-9851", "KAFKA-10763")
)
DELAY_NEVER_RESOLVED = Rule(
    code="CONNECT-K6",
    title="delay_never_resolved",
    severity=Severity.HIGH,
    issues=("KAFKA-9184",),
    for_ms=0,
)
WINDOW_END_MOVED = Rule(code="CONNECT-K7", title="delay_end_moved", severity=Severity.MEDIUM, issues=("KAFKA-9184",))
DELAY_WITHOUT_LOSS = Rule(code="CONNECT-K8", title="delay_without_loss", severity=Severity.INFO)
WINDOW_CUT_SHORT = Rule(code="CONNECT-K9", title="delay_cut_short", severity=Severity.INFO)
REBALANCE_STORM = Rule(
    code="CONNECT-K10",
    title="rebalance_storm",
    severity=Severity.MEDIUM,
    issues=("KAFKA-9184", "KAFKA-12495"),
    for_ms=0,
    keep_firing_ms=5 * MINUTE_MS,
)
CONFIG_MISMATCH_PERSISTS = Rule(
    code="CONNECT-K11",
    title="config_mismatch_persists",
    severity=Severity.HIGH,
    issues=("KAFKA-10218", "KAFKA-9849"),
)
OFFSET_REGRESSION = Rule(code="CONNECT-K12", title="config_offset_regression", severity=Severity.HIGH)
PROTOCOL_DOWNGRADE = Rule(code="CONNECT-K13", title="protocol_downgrade", severity=Severity.MEDIUM)
REVOCATION_NOT_FOLLOWED_UP = Rule(
    code="CONNECT-K14",
    title="revocation_not_followed_up",
    severity=Severity.HIGH,
    issues=("KAFKA-10763",),
    for_ms=0,
)
REVOKED_JOB_LOST = Rule(code="CONNECT-K15", title="revoked_job_not_replaced", severity=Severity.HIGH)
ZOMBIE_RETURN = Rule(code="CONNECT-K16", title="zombie_return", severity=Severity.INFO)
LEADER_WITHOUT_MEMORY = Rule(code="CONNECT-K17", title="leader_without_memory", severity=Severity.INFO)

ACROSS_RECORDS = (
    HOLD_NOT_CARRIED_OVER,
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

RULES: tuple[Rule, ...] = (
    *catalogue_record.RULES,
    *catalogue_static.RULES,
    UNASSIGNED_TOO_LONG,
    CONSUMER_UNDECODABLE,
    *ACROSS_RECORDS,
)
