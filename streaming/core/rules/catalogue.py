"""Every rule that can be broken, declared once: code, title, usual severity, and the Kafka issues it resembles.

Codes are the numbers of the law in the description of the protocol: CONNECT-I… hold within one record, CONNECT-K…
across records, CONNECT-S… for static assignments. One code has one title; a title is shared where several laws look at
the same harm from different sides (`duplicate_active`, `imbalance`).
"""

from dataclasses import dataclass

from streaming.core.results import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a finding of this code is called, how bad it usually is, and which Kafka bugs have looked like it."""

    code: str
    title: str
    severity: Severity
    issues: tuple[str, ...] = ()


DUPLICATE_HOLD = Rule(
    code="CONNECT-I1", title="duplicate_active", severity=Severity.CRITICAL, issues=("KAFKA-8463", "KAFKA-9841")
)
DUPLICATE_ACTIVE = Rule(
    code="CONNECT-I2",
    title="duplicate_active",
    severity=Severity.CRITICAL,
    issues=("KAFKA-9184", "KAFKA-9841", "KAFKA-9849"),
)
IMBALANCE = Rule(
    code="CONNECT-I8",
    title="imbalance",
    severity=Severity.MEDIUM,
    issues=("KAFKA-4553", "KAFKA-10413", "KAFKA-12495"),
)
UNDECODABLE_MEMBER = Rule(code="CONNECT-I12", title="undecodable_member", severity=Severity.HIGH)
UNASSIGNED_TOO_LONG = Rule(
    code="CONNECT-K5",
    title="unassigned_too_long",
    severity=Severity.HIGH,
    issues=("KAFKA-9848", "KAFKA-15693", "KAFKA-15676"),
)
CONSUMER_UNDECODABLE = Rule(code="CONSUMER-C10", title="undecodable_member", severity=Severity.HIGH)

RULES = (
    DUPLICATE_HOLD,
    DUPLICATE_ACTIVE,
    IMBALANCE,
    UNDECODABLE_MEMBER,
    UNASSIGNED_TOO_LONG,
    CONSUMER_UNDECODABLE,
)
