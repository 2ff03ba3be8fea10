"""Whether the time of a probing rebalance is one that the leader can have set (streams.md 3.7, S-17).

The leader sets the time at which it assigns, by its own clock, plus `probing.rebalance.interval.ms`. It assigns after
the join phase has ended and before the record is written. Both of these times are of the coordinator's clock:

    join phase ends 10:00:07   leader assigns, its clock is 3 s ahead   record 10:00:08   deadline 10:10:10.5
    so the interval, and how far the leader's clock is ahead, are 10:02.5 to 10:03.5 together

Clocks that are right are at most `SKEW_MS` apart. The deadlines that the same leader set before tell how far its clock
really is ahead, and what its interval is where nobody says it: then it is any that Kafka accepts, always the same one.
A clock that was set is no mistake of the leader, so only what no clock explains is certain: a deadline that is
`FARTHEST_MS` off, or the very one of the generation before.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.span import FARTHEST_MS, SKEW_MS
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from .grading import Judged
from .hypotheses import Remembered
from .observed import ObservedRecord

LEAST_INTERVAL_MS = 60_000
"""Kafka accepts no shorter `probing.rebalance.interval.ms`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldDeadline:
    """What the deadlines of one leader tell: from its last record, of `at_ms`, the deadline `last_ms`; from all of them
    between which values the interval lies, with what the leader's clock is ahead of the coordinator's."""

    least_ms: int
    most_ms: int
    last_ms: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class WrongDeadline:
    """A deadline that the leader cannot have set. `sure`: no clock that was set explains it; `guessed`: nothing tells
    the interval but that Kafka accepts no shorter one."""

    text: str
    sure: bool
    guessed: bool = False


def joined_at(body: GroupGeneration, at_ms: int) -> int:
    """When the join phase ended; of a record that does not tell, at the earliest that members may take."""
    if body.state_ms > 0:
        return body.state_ms
    return at_ms - max((member.rebalance_timeout_ms for member in body.members), default=0)


def with_told_deadline(
    before: Mapping[str, ToldDeadline], record: ObservedRecord, joined_ms: int, at_ms: int
) -> dict[str, ToldDeadline]:
    """With this record, by the leader's member id. `joined_ms` and `at_ms`: the coordinator's time at the end of the
    join phase, and of the record. Of members that are gone nothing is kept."""
    members = {thread.id for thread in record.threads}
    found = {leader: its for leader, its in before.items() if leader in members}
    now = _deadline_of(record, joined_ms, at_ms)
    if now is None or record.leader is None:
        return found
    known = found.get(record.leader)
    if known is not None and known.least_ms <= now.most_ms and now.least_ms <= known.most_ms:
        least_ms, most_ms = max(known.least_ms, now.least_ms), min(known.most_ms, now.most_ms)
        now = ToldDeadline(least_ms=least_ms, most_ms=most_ms, last_ms=now.last_ms, at_ms=at_ms)
    return {**found, record.leader: now}


def wrong_deadline(
    before: Mapping[str, ToldDeadline], record: ObservedRecord, joined_ms: int, at_ms: int, interval_ms: int | None
) -> WrongDeadline | None:
    """What is wrong with the record's deadline, if it has one; `interval_ms`: as configured, None where nobody says."""
    now = _deadline_of(record, joined_ms, at_ms)
    if now is None:
        return None
    known = before.get(record.leader or "")
    if known is not None and now.last_ms == known.last_ms and joined_ms > known.at_ms:
        return WrongDeadline("the probing rebalance is set to the time of the generation before", sure=True)
    if interval_ms is None:
        off_ms = min(now.most_ms - LEAST_INTERVAL_MS, 0) if known is None else _off(now, known.least_ms, known.most_ms)
    else:
        off_ms = _off(now, interval_ms, interval_ms)
        if known is not None:
            off_ms = min(off_ms, _off(now, known.least_ms, known.most_ms), key=abs)
    if abs(off_ms) <= SKEW_MS:
        return None
    how = f"{abs(off_ms) / 1000:,.0f} s {'later' if off_ms > 0 else 'earlier'}"
    text = f"the probing rebalance is set {how} than the leader's time and its interval give"
    guessed = interval_ms is None and known is None
    return WrongDeadline(text, sure=abs(off_ms) > FARTHEST_MS, guessed=guessed)


def with_deadline(
    found: Judged, wrong: WrongDeadline | None, settings: StreamsSettings, remembered: Remembered
) -> Judged:
    """The verdict with what is wrong with the deadline. Kafka's own assignors set it all alike; an assignor of the
    application's own may set any."""
    verdict = found.verdict
    built_in = settings.plug_in is None and (settings.assignor is not None or remembered.built_in)
    if wrong is None or not built_in or verdict.grade not in (Grade.MATCH, Grade.EXPLAINABLE):
        return found
    if wrong.sure:
        reason = Reason(ReasonKind.OTHER_ANSWER, wrong.text)
        return replace(found, verdict=replace(verdict, grade=Grade.UNEXPLAINED, reason=reason))
    reason = verdict.reason or Reason(ReasonKind.CLOCKS_APART, f"{wrong.text}, unless a clock is set wrong")
    return replace(found, verdict=replace(verdict, grade=Grade.EXPLAINABLE, reason=reason))


def _off(now: ToldDeadline, least_ms: int, most_ms: int) -> int:
    """How much more than this, or less (negative), the interval is with the leader's clock; 0 within the bounds."""
    return now.least_ms - most_ms if now.least_ms > most_ms else min(now.most_ms - least_ms, 0)


def _deadline_of(record: ObservedRecord, joined_ms: int, at_ms: int) -> ToldDeadline | None:
    """What the record's first deadline tells; None where none is set."""
    times = (thread.next_rebalance_ms for thread in record.threads)
    deadline_ms = next((time for time in times if time), None)
    if deadline_ms is None:
        return None
    return ToldDeadline(least_ms=deadline_ms - at_ms, most_ms=deadline_ms - joined_ms, last_ms=deadline_ms, at_ms=at_ms)
