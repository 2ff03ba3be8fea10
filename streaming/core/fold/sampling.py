"""A group whose records nobody may read: what was polled of it goes the way of a record, and counts for less.

Theory. A broker that is asked (DescribeGroups) says who is in a stable group and which bytes each member sent and was
given. It names no generation, and what was the case between two answers nobody knows. So each assignment that differs
from the one before is folded once, numbered by itself, and three things hold of all that follows from it:

    10:00:00  asked: m1 has a-0 and a-1                        assignment 1
    10:00:10  asked: the same                                  nothing
    10:00:20  asked: m1 has a-0, m2 has a-1                    assignment 2, made after 10:00:10 and by 10:00:20

    a verdict       at best explainable: rounds may be missing; what nothing explains is not judged
    a rule          that needs every generation is not judged; what any other finds is likely at most
    a result        is marked as sampled
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from rebalance_monitor.streaming.core.fold.state import Envelope, Queue
from rebalance_monitor.streaming.core.incidents.catalogue import Catalogue
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.transitions import Moment, PartKey
from rebalance_monitor.streaming.core.model.codec import dumps
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Certainty, Grade, Incident, Part, Result, Verdict

MISSING = "sampled: rounds may be missing"
GENERATIONS_MAY_BE_MISSING = Reason(ReasonKind.GENERATIONS_MAY_BE_MISSING, MISSING)
NO_LONGER = "the group is polled now, and this rule needs every generation"


def contents_of(body: GroupGeneration) -> str:
    """A name of what was polled, equal for equal contents. The order of members says nothing."""
    members = sorted(body.members, key=lambda one: one.member_id)
    plain = replace(body, members=tuple(members), generation=-1, sampled=None)
    return hashlib.sha256(dumps(plain).encode("utf-8", "surrogatepass")).hexdigest()


def placed(envelope: Envelope, queue: Queue, row: Row, body: GroupGeneration) -> Row:
    """What was polled, with its number among the assignments that were seen of this life of the group, and behind all
    that was folded, whatever the monitor's clock has done since."""
    place = f"{row.topic}-{row.partition}"
    number = max(envelope.generation or 0, queue.generation, 0) + 1
    offset = max(row.offset, envelope.next_offsets.get(place, 0))
    return replace(row, offset=offset, body=replace(body, generation=number))


def capped(verdict: Verdict) -> Verdict:
    """The verdict on an assignment of which it is not known what came before it."""
    match verdict.grade:
        case Grade.MATCH:
            return replace(verdict, grade=Grade.EXPLAINABLE, reason=GENERATIONS_MAY_BE_MISSING)
        case Grade.EXPLAINABLE:
            kind = ReasonKind.GENERATIONS_MAY_BE_MISSING if verdict.reason is None else verdict.reason.kind
            return replace(verdict, reason=Reason(kind, f"{verdict.why}; {MISSING}" if verdict.why else MISSING))
        case Grade.UNEXPLAINED:
            text = f"sampled: {verdict.why or 'no known leader answers so'}; a round that was not seen may explain it"
            return replace(verdict, grade=Grade.NOT_JUDGED, reason=Reason(ReasonKind.SAMPLED, text))
        case Grade.NOT_JUDGED:
            return verdict
        case _:
            assert_never(verdict.grade)


def admitted(catalogue: Catalogue, notice: Notice) -> Notice:
    """What of a notice holds although generations may be missing. Nothing is said of other rules."""
    found = tuple(_likely(one) for one in notice.found if not one.rule.needs_every_generation)
    evaluated = frozenset(code for code in notice.evaluated if not catalogue.rule(code).needs_every_generation)
    return replace(notice, found=found, evaluated=evaluated)


def _likely(finding: Finding) -> Finding:
    certainty = Certainty.LIKELY if finding.certainty is Certainty.CERTAIN else Certainty.POSSIBLE
    return replace(finding, certainty=certainty, message=f"{finding.message}; {MISSING}")


def no_longer(
    catalogue: Catalogue, body: GroupGeneration, open_parts: Mapping[PartKey, Part], moment: Moment
) -> tuple[Notice, ...]:
    """What ends with a generation that was polled: incidents of rules that are not judged any more."""
    over = tuple(key for key, one in open_parts.items() if catalogue.rule(one.code).needs_every_generation)
    return (Notice(moment=moment, over=over, why=NO_LONGER),) if over and body.sampled is not None else ()


def marked(result: Result) -> Result:
    """A result of a group that is polled."""
    return replace(result, sampled=True) if isinstance(result, Incident) else result
