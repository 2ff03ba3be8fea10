"""Every rule that can be broken, declared once: code, title, usual severity, and the Kafka issues it resembles.

Codes are the numbers of the law in the description of the protocol: CONNECT-I… hold within one record, CONNECT-K…
across records, CONNECT-S… for static assignments. One code has one title; a title is shared where several laws look at
the same harm from different sides (`duplicate_active`, `imbalance`).
"""

from streaming.core.results import Severity
from streaming.core.rules import catalogue_across, catalogue_record, catalogue_static, catalogue_status
from streaming.core.rules.confirming import (
    GROUP_RECORD,
    MEMBERS,
)
from streaming.core.rules.rule import Rule

CONSUMER_UNDECODABLE = Rule(
    code="CONSUMER-C10",
    title="undecodable_member",
    severity=Severity.HIGH,
    meaning="Every member of a completed generation has a readable subscription and assignment.",
    exceptions=("a member that is about to join has neither",),
    confirm=(GROUP_RECORD, MEMBERS),
    advice=(
        "Find the member's host in the message: its assignor writes bytes of its own.",
        "Take it out of the group if it does not belong there.",
    ),
    resolves="With the first generation in which every member can be read.",
)

RULES: tuple[Rule, ...] = (
    *catalogue_record.RULES,
    *catalogue_static.RULES,
    *catalogue_across.RULES,
    *catalogue_status.RULES,
    CONSUMER_UNDECODABLE,
)
