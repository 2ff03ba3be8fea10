"""A generation that is written again: the verdict on the first record stands, if the second repeats its assignments.

A coordinator writes a generation a second time when a static member comes back with another member id, or when the
leader repeats its request before the first record was replicated (coordinator-log.md 5.2, D and E). It repeats all
assignments then. So the second record is no round of its own. It shows no input of an assignor either: the member that
came back has its new process's subscription.

    generation 7   a (member a-1): t-0   b (member b-1): t-1     match
    generation 7   a (member a-2): t-0   b (member b-1): t-1     the same assignments: the first verdict stands
    generation 7   a (member a-2): t-1   b (member b-1): t-0     no coordinator writes this: judged by itself

Compaction may take the first record away while the job is down, and a capture may lack it. What is left looks like a
round, only its time tells: a generation's first record is seldom written more than 300 ms after its join phase has
ended (1,065 ms at most in 840 records of real groups), another one whenever a static member comes back.
"""

import hashlib
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Grade, Source, Verdict
from .published import body_of
from .state import Envelope

SLOW_SYNC_MS = 300
"""Seldom takes a group longer from the end of its join phase to the record of its assignment."""
TEXT = "the same generation was written again, as when a static member is replaced"
UNKNOWN_FIRST = (
    "a static member came after the assignment was made, or the group took long to write it: the record may repeat one "
    "that is not known"
)
_MAY_REPEAT = Reason(ReasonKind.WRITTEN_AGAIN, UNKNOWN_FIRST)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstVerdict:
    """What the first record of a generation was judged to be. `given`: names the assignments of all its members."""

    generation: int
    source: Source
    given: str
    grade: Grade
    assignor: str | None = None
    eras: tuple[str, ...] = ()
    reason: Reason | None = None


def first_verdict(body: GroupGeneration, source: Source, verdict: Verdict) -> FirstVerdict:
    """The verdict on this record, for copies of it."""
    return FirstVerdict(
        generation=body.generation,
        source=source,
        given=_given(body),
        grade=verdict.grade,
        assignor=verdict.assignor,
        eras=verdict.eras,
        reason=verdict.reason,
    )


def repeats(before: Envelope, first: FirstVerdict | None, body: GroupGeneration) -> bool:
    """Whether this record is of the generation before, and repeats its assignments as far as is known. `first`: the
    verdict on the newest generation."""
    if before.deleted or before.generation != body.generation:
        return False
    return first is None or first.generation != body.generation or first.given == _given(body)


def first_may_be_missing(before: Envelope, row: Row) -> bool:
    """Whether this record may repeat one that is not known: a static member has come since the record `before`, and it
    was not written just after the join phase. Then it may show subscriptions that its assignment was not made from."""
    body = body_of(row)
    if body.generation == before.generation and not before.deleted:
        return False
    if all(member.instance_id is None or member.member_id in before.member_ids for member in body.members):
        return False
    return body.state_ms <= 0 or not 0 <= row.timestamp_ms - body.state_ms < SLOW_SYNC_MS


def not_the_first(verdict: Verdict) -> Verdict:
    """The verdict on a record that may repeat one that is not known."""
    if verdict.grade is not Grade.UNEXPLAINED:
        return verdict
    return Verdict(grade=Grade.NOT_JUDGED, assignor=verdict.assignor, reason=_MAY_REPEAT)


def is_unknown(verdict: Verdict) -> bool:
    """Whether a record is not judged because it may repeat one that is not known: what its members sent may be newer
    than what they were given."""
    return verdict.reason == _MAY_REPEAT


def taken_over(first: FirstVerdict | None, body: GroupGeneration) -> Verdict:
    """The verdict on a record that repeats the one before; not judged where nothing is known of that one."""
    if first is None or first.generation != body.generation:
        return Verdict(grade=Grade.NOT_JUDGED, assignor=body.protocol, reason=Reason(ReasonKind.WRITTEN_AGAIN, TEXT))
    kind = ReasonKind.WRITTEN_AGAIN if first.reason is None else first.reason.kind
    more = "" if first.reason is None else f": {first.reason.text}"
    text = f"{TEXT}; the assignment at offset {first.source.offset} stands{more}"
    return Verdict(grade=first.grade, assignor=first.assignor, eras=first.eras, reason=Reason(kind, text))


def otherwise(first: FirstVerdict | None, body: GroupGeneration, verdict: Verdict) -> Verdict:
    """The verdict on a record that was judged by itself; says so, where nothing explains a second record of the same
    generation with other assignments."""
    if verdict.grade is not Grade.UNEXPLAINED or first is None or first.generation != body.generation:
        return verdict
    more = "" if verdict.reason is None else f": {verdict.reason.text}"
    text = f"the same generation was written again with other assignments than at offset {first.source.offset}{more}"
    return replace(verdict, reason=Reason(ReasonKind.OTHER_ANSWER, text))


def _given(body: GroupGeneration) -> str:
    """The same for the same assignments, whatever the ids of static members are."""
    digest = hashlib.sha256()
    for name, blob in sorted((one.instance_id or one.member_id, one.assignment_bytes) for one in body.members):
        for part in (name.encode("utf-8", "surrogatepass"), blob):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
