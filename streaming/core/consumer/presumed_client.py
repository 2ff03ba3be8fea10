"""Whether a sticky leader that no trait tells is held to Kafka's own class: that is likely, never certain.

All of this must speak for it (docs/protocol/consumer.md, section 4):

    assignments          in version 1 or later: all libraries of other languages that have a class `sticky` write
                         version 0 (sarama, franz-go, kafka-python, aiokafka)
    members              none shows another library (`client_library`)
    earlier answers      Kafka's class gave the last ones of this group, and each one of this leader that is remembered

A leader that once answered otherwise is a stranger while it is a member: nothing more is held against it but the laws.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import ClientLibrary
from . import leaders_release
from .assignors import KEEPING
from .client_library import any_foreign

FEWEST_EQUAL = 2
"""Answers in a row that Kafka's class gave, before a leader is held to it. One alone may be chance: it gave 4 of 47
answers of other libraries' leaders, never two in a row (consumer.md 4)."""
_OTHERWISE = (ReasonKind.CLIENT_UNKNOWN, ReasonKind.RELEASE_OR_CLIENT)


@dataclass(frozen=True, slots=True)
class StickyAnswers:
    """How many of a group's last answers, up to `FEWEST_EQUAL`, Kafka's class gave; those to one member alone tell
    nothing. `strangers`: members that answered otherwise as leaders."""

    equal: int = 0
    strangers: frozenset[str] = frozenset()


NO_ANSWERS = StickyAnswers()


def presumed_java(body: GroupGeneration, before: StickyAnswers, configured: Mapping[str, ClientLibrary]) -> bool:
    """Whether this generation's leader, that no trait tells, is likely Kafka's own client. `before`: the answers before
    this one; `configured`: libraries by client id or pattern."""
    if body.leader is None or body.leader in before.strangers or before.equal < FEWEST_EQUAL:
        return False
    return bool(leaders_release.version_of(body)) and not any_foreign(body, configured)


def noted(
    before: StickyAnswers, body: GroupGeneration, verdict: Verdict, configured: Mapping[str, ClientLibrary]
) -> StickyAnswers:
    if body.protocol not in KEEPING:
        return NO_ANSWERS
    strangers = before.strangers & {one.member_id for one in body.members}
    kind = None if verdict.reason is None else verdict.reason.kind
    if verdict.grade is Grade.UNEXPLAINED or kind in _OTHERWISE:
        return StickyAnswers(0, strangers | ({body.leader} if body.leader is not None else set()))
    if any_foreign(body, configured):
        return StickyAnswers(0, strangers)
    more = verdict.grade is Grade.MATCH and len(body.members) > 1
    return StickyAnswers(min(before.equal + more, FEWEST_EQUAL), strangers)
