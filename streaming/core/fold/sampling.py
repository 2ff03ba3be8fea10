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

No answer is no proof that all is as it was. So the time of a polled group goes on as far as answers show it: timers and
notifications wait for an answer to a question that was asked when they were due, or later.

    10:00:20  asked: nobody has a-1                            a rule would speak at 10:06:05, if it lasts
    10:00:30  to 10:20:00: no answer of this group             nothing is said
    10:20:10  asked: the same                                  the rule speaks
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import assert_never

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.incidents.catalogue import Catalogue
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Lane, Notice
from rebalance_monitor.streaming.core.incidents.transitions import Moment, PartKey
from rebalance_monitor.streaming.core.model.codec import dumps
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import Certainty, Grade, Incident, JobState, Part, Result, Verdict
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from .state import Envelope, Queue

MISSING = "sampled: rounds may be missing"
GENERATIONS_MAY_BE_MISSING = Reason(ReasonKind.GENERATIONS_MAY_BE_MISSING, MISSING)
NO_LONGER = "the group is polled now, and this rule needs every generation"
GONE = ""
"""Stands for the contents of a group that is not there."""
OF_ANOTHER_KIND = "of another kind: "
"""Stands before the state of a group that is no classic one any more."""
ASKED_AGAIN_MS = 5_000
"""What is due of a polled group, and was not shown to last so long, is looked at again so much later."""


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


def of_another_kind(envelope: Envelope, body: GroupGeneration, lifecycle: str) -> bool:
    """Whether what was polled is a group of another kind than the one before: it was empty in between, for a broker
    takes members of one protocol type only."""
    if body.sampled is None or not body.protocol_type or envelope.deleted:
        return False
    return envelope.lifecycle not in (None, lifecycle)


def shown_until_ms(settings: ClusterSettings, knowledge: Knowledge, envelope: Envelope, group: str) -> int | None:
    """Until when the group surely was as it is known, by the monitor's clock: 0 where nothing shows it; None where its
    records are read, so that none is a proof."""
    if not settings.polled or envelope.polled is None:
        return None
    return knowledge.shown.until_ms(group, gone=envelope.polled == GONE)


def looked_again_ms(due_ms: int, tick: Tick | None, shown_until_ms: int | None) -> int:
    """When to look at a group again that has something due, all by the monitor's clock. `shown_until_ms` as above."""
    if tick is None or shown_until_ms is None or due_ms > tick.now_ms:
        return due_ms
    return tick.now_ms + ASKED_AGAIN_MS


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
    catalogue: Catalogue, body: GroupGeneration, open_parts: Callable[[Lane], Mapping[PartKey, Part]], moment: Moment
) -> list[Notice]:
    """What ends with a generation that was polled: incidents of either lane whose rules are not judged any more."""
    notices = []
    for lane in () if body.sampled is None else Lane:
        over = tuple(key for key, one in open_parts(lane).items() if catalogue.rule(one.code).needs_every_generation)
        notices += [Notice(moment=moment, lane=lane, over=over, why=NO_LONGER)] if over else []
    return notices


def marked(result: Result) -> Result:
    """A result of a group that is polled."""
    return replace(result, sampled=True) if isinstance(result, Incident | JobState) else result
