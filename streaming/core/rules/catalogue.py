"""Every rule that can be broken, declared once: code, title, usual severity, and the Kafka issues it resembles.

Codes are the numbers of the law in the description of the protocol: CONNECT-I… hold within one record, CONNECT-K…
across records, CONNECT-S… for static assignments; MONITOR-E… is about the monitor itself. One code has one title; a
title is shared where several laws look at the same harm from different sides (`duplicate_active`, `imbalance`).
"""

from streaming.core.results import Severity
from streaming.core.rules import catalogue_across, catalogue_record, catalogue_static, catalogue_status
from streaming.core.rules.confirming import (
    FOLD_ERRORS,
    GROUP_RECORD,
    KEPT_STATES,
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

MONITOR_ERROR = Rule(
    code="MONITOR-E1",
    title="monitor_error",
    severity=Severity.MEDIUM,
    for_ms=0,
    meaning="The monitor can fold every record of the group.",
    confirm=(FOLD_ERRORS, KEPT_STATES),
    advice=(
        "The monitor has an error of its own: report it with the fingerprint in the message and the trace in its log.",
        "The records named are committed as `not_judged: internal error`; the group was begun anew, so what depends on "
        "earlier records (who holds what, the leader's memory) is known again after the next generations.",
        "Look at this group by other means until then: other groups are not affected.",
    ),
    resolves="After ten generations folded without an error, or a day without one.",
)

RULES: tuple[Rule, ...] = (
    *catalogue_record.RULES,
    *catalogue_static.RULES,
    *catalogue_across.RULES,
    *catalogue_status.RULES,
    CONSUMER_UNDECODABLE,
    MONITOR_ERROR,
)
