"""What a rebalance held up, by the lag of its group in the samples around it.

    10:00:00  lag   900    ┐
    10:00:30  lag 1,000    │ before: 1,000 at most
    10:01:00  lag   800    ┘
    10:01:12  the group rebalances, until 10:01:20
    10:01:30  lag 5,400                              held up: 4,400 records so far
    10:02:00  lag 2,100
    10:02:30  lag   950                              caught up after 78 s

Lag goes up and down between two commits; so the largest of three samples counts as what it was before. Not known is
what the samples do not tell: none lies close before, or behind; the group fell behind already; the partitions of which
the lag is known are not the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rebalance_monitor.streaming.core.model.results import HeldUp, Source
from .lag_trend import Total, Trend, trend_of

BEFORE_SAMPLES = 3
CLOSE_MS = 120_000
"""A sample that is farther away from the rebalance says nothing of it."""
LONGEST_MS = 3_600_000
"""What has not caught up by then has other reasons, too."""
FELL_BEHIND = "not known: the group was falling behind before"
NONE_BEFORE = "not known: no sample of its lag in the two minutes before"
NONE_BEHIND = "not known: no sample in the two minutes behind"
OTHER_PARTITIONS = "not known: the lag of other partitions is known than before"
FOLLOWED = "when it had caught up is not known: generation {} came before that"
EMPTY = "when it had caught up is not known: its members left before that"
LONG = "it has not caught up within an hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRebalance:
    """A rebalance whose cost is not known yet.

    Times by the monitor's clock, ms: it was seen to begin at `since_ms`, and its record is of `at_ms`. `looked_ms`: the
    question of the newest sample behind it that was looked at, None before the first; `before`, `most`: the lag
    before, and the largest since; `partitions`: of which both are, as `Total` says it.
    """

    source: Source
    generation: int
    since_ms: int
    at_ms: int
    rebalances: int = 1
    before: int | None = None
    most: int | None = None
    partitions: int = 0
    looked_ms: int | None = None

    @property
    def records(self) -> int | None:
        """By how much the lag grew, as far as it was looked at."""
        return None if self.before is None or self.most is None else max(self.most - self.before, 0)

    def held_up(
        self,
        why: str | None = None,
        *,
        final: bool = False,
        caught_up_ms: int | None = None,
        followed: int | None = None,
    ) -> HeldUp:
        """As it is published."""
        return HeldUp(
            generation=self.generation,
            rebalances=self.rebalances,
            since_ms=self.since_ms,
            before=self.before,
            records=self.records,
            caught_up_ms=caught_up_ms,
            final=final,
            why=why,
            followed=followed,
        )

    def unknown(self, why: str) -> HeldUp:
        """As it is published where nothing is known of it."""
        return replace(self, before=None, most=None).held_up(why, final=True)


def followed(known: OpenRebalance, new: OpenRebalance) -> tuple[OpenRebalance, HeldUp | None]:
    """Another rebalance follows. Where no sample lies between, both are one. Else what the lag was before the first one
    counts for the second one, too: what is in between is not caught up yet. So does the largest lag since, for of both
    the second one alone is in sums."""
    if known.looked_ms is None:
        since_ms, both = min(known.since_ms, new.since_ms), known.rebalances + 1
        return replace(
            known, source=new.source, generation=new.generation, at_ms=new.at_ms, since_ms=since_ms, rebalances=both
        ), None
    goes_on = replace(new, before=known.before, most=known.most, partitions=known.partitions)
    why = FOLLOWED.format(new.generation)
    return goes_on, known.held_up(why, final=True, followed=new.generation)


def looked_at(known: OpenRebalance, totals: Sequence[Total]) -> OpenRebalance | HeldUp:
    """With what these samples tell, oldest first; a HeldUp once that is all. The samples are those that are kept."""
    if known.looked_ms is None:
        begun = _begun(known, totals)
        if isinstance(begun, HeldUp):
            return begun
        known = begun
    before = known.before
    if before is None:
        return known
    for one in totals:
        if one.answered_ms <= known.since_ms or (known.looked_ms is not None and one.asked_ms <= known.looked_ms):
            continue
        if one.partitions != known.partitions:
            return known.unknown(OTHER_PARTITIONS)
        behind = one.asked_ms >= known.at_ms
        if behind and known.looked_ms is None and one.asked_ms - known.at_ms > CLOSE_MS:
            return known.unknown(NONE_BEHIND)
        known = replace(
            known,
            most=one.lag if known.most is None else max(known.most, one.lag),
            looked_ms=one.asked_ms if behind else known.looked_ms,
        )
        if behind and one.lag <= before:
            return known.held_up(final=True, caught_up_ms=one.answered_ms)
        if one.asked_ms - known.at_ms > LONGEST_MS:
            return known.held_up(LONG, final=True)
    return known


def _begun(known: OpenRebalance, totals: Sequence[Total]) -> OpenRebalance | HeldUp:
    """With the lag before, as far as a sample before is close."""
    before = [one for one in totals if one.answered_ms <= known.since_ms and one.partitions]
    if known.before is not None:
        return known
    if not before or known.since_ms - before[-1].asked_ms > CLOSE_MS:
        if any(one.asked_ms >= known.at_ms for one in totals):
            return known.unknown(NONE_BEFORE)
        return known
    if _fell_behind(before):
        return known.unknown(FELL_BEHIND)
    partitions = before[-1].partitions
    lags = [one.lag for one in before[-BEFORE_SAMPLES:] if one.partitions == partitions]
    return replace(known, before=max(lags), partitions=partitions)


def _fell_behind(before: Sequence[Total]) -> bool:
    trend: Trend | None = None
    for end in range(1, len(before) + 1):
        trend = trend_of(before[:end], trend)
    return trend is Trend.FALLING_BEHIND
