"""How far groups have come: committed offsets and end offsets of their partitions, as brokers said when asked.

What is kept of a partition is its last offsets, and since when it stands still although there is something to read:

    asked 10:00:00, answered 10:00:01     committed 100, end 100     caught up
    asked 10:00:30, answered 10:00:31     committed 100, end 140     stands from 10:00:31 on, 40 records behind
    asked 10:01:00, answered 10:01:01     committed 100, end 190     still: it surely stood from 10:00:31 to 10:01:00
    asked 10:01:30, answered 10:01:31     committed 150, end 200     it has advanced: another stand begins

An end offset is the last stable offset: no consumer, whatever its isolation level, is held up before it by a
transaction. A transaction that stays open stops the end offset, so no member is blamed for it.

Of a group its last lags are kept, and of a partition, whichever groups read it, its last end offsets: they tell lag in
seconds (`passed_ends`) and whether the group catches up (`lag_trend`). All times come from samples, so the same samples
give the same answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from zlib import crc32

from rebalance_monitor.schemas.frozen import maker, replace
from .changelogs import ChangelogEnds
from .lag_trend import MOST_TOTALS, Total, Trend, trend_of
from .passed_ends import Behind, PassedEnds, first_end

MOST_ENDS = 100_000
"""Partitions whose end offsets are kept. Of others lag in seconds is not known."""
ENDS_KEPT_MS = 3_600_000
"""A partition that no sample shows for so long is forgotten."""
RECENT_SAMPLES = 3
"""A partition that has moved within so many samples advances: by default a sink connector commits once in a minute."""


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """The group's committed offset, and the end offset: None where no broker told it in this sample."""

    committed: int
    end: int | None


@dataclass(frozen=True, slots=True)
class ProgressSample:
    """What brokers said of some groups, by group and partition (`topic-number`).

    Times by the monitor's clock, ms: each offset was so at a moment between `asked_ms` and `answered_ms`. A partition
    without a committed offset is missing. `watched`: all groups that are asked for in turn. `changelogs`: where
    those of Streams applications end, by application. `changed_ms`: of groups whose commits are read in the log, when
    one last changed an offset, by the coordinator's clock.
    """

    asked_ms: int
    answered_ms: int
    groups: Mapping[str, Mapping[str, PartitionOffsets]]
    watched: frozenset[str]
    changelogs: Mapping[str, ChangelogEnds] = field(default_factory=dict)
    changed_ms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionProgress:
    """One partition of a group. It surely stood at `committed` from `since_ms` to `seen_ms` with something to read,
    unless it is `caught_up`; `samples` showed it so, and `end_since` was its end offset in the first of them.

    `first`: nothing was known of it before, so nobody saw it advance. `asked_ms`: of the last sample that showed it;
    `grew_after_ms`: its committed offset grew last after this time, None where nobody saw it grow. `end_known`: a
    broker told its end offset in that sample; else `end` is of an earlier one.
    """

    committed: int
    end: int
    since_ms: int
    seen_ms: int
    end_since: int
    samples: int = 1
    first: bool = False
    asked_ms: int = 0
    grew_after_ms: int | None = None
    end_known: bool = True

    @property
    def lag(self) -> int:
        return max(self.end - self.committed, 0)

    @property
    def known_lag(self) -> int | None:
        """The same; None where the end offset is not known, or lies before the committed one: then the topic was made
        anew, records were lost, or a transaction holds the end back."""
        return self.end - self.committed if self.end_known and self.end >= self.committed else None

    @property
    def caught_up(self) -> bool:
        return self.end <= self.committed

    @property
    def advancing(self) -> bool:
        """Whether there is something to read, and it was seen to move a short time ago."""
        return not self.caught_up and not self.first and self.samples <= RECENT_SAMPLES

    def after(self, told: PartitionOffsets, sample: ProgressSample) -> "PartitionProgress":
        if told.end is None and told.committed == self.committed:
            return replace(self, end_known=False) if self.end_known else self
        end = max(self.end, told.committed) if told.end is None else told.end
        stands = told.committed == self.committed and not self.caught_up and end >= self.end
        if not stands:
            grew_ms = self.asked_ms if told.committed > self.committed else self.grew_after_ms
            return begun(told.committed, end, sample, grew_after_ms=grew_ms, end_known=told.end is not None)
        return _made(
            self.committed,
            end,
            self.since_ms,
            max(sample.asked_ms, self.since_ms),
            self.end_since,
            self.samples + 1,
            self.first,
            sample.asked_ms,
            self.grew_after_ms,
            told.end is not None,
        )


_made = maker(PartitionProgress)


def begun(
    committed: int,
    end: int,
    sample: ProgressSample,
    *,
    first: bool = False,
    grew_after_ms: int | None = None,
    end_known: bool = True,
) -> PartitionProgress:
    """A partition from this sample on."""
    at_ms = sample.answered_ms
    return _made(committed, end, at_ms, at_ms, end, 1, first, sample.asked_ms, grew_after_ms, end_known)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledGroup:
    """A group in its last sample. `commits`: a committed offset of it was seen to grow, so its members commit to
    Kafka.

    `without_end`: partitions with a committed offset whose end no broker has told yet. `first_ms`: of the first
    sample, answered; `changed_ms`: of the last one that showed another committed offset than the one before (or, where
    samples tell it, when that was committed), None where none did. `totals`: its lag in the last samples; `trend`: what
    they come to, None while that is not known.
    """

    asked_ms: int
    answered_ms: int
    partitions: Mapping[str, PartitionProgress] = field(default_factory=dict)
    commits: bool = False
    without_end: frozenset[str] = frozenset()
    first_ms: int = 0
    changed_ms: int | None = None
    totals: tuple[Total, ...] = ()
    trend: Trend | None = None


@dataclass(frozen=True, slots=True)
class ProgressOfGroups:
    """The groups that are asked for, as far as they were answered. `answered_ms`: of the last sample, None before the
    first; `ends`: the last end offsets of each partition. Nothing of it is stored: a job that begins anew asks again.
    """

    groups: Mapping[str, SampledGroup] = field(default_factory=dict)
    answered_ms: int | None = None
    ends: Mapping[str, PassedEnds] = field(default_factory=dict)

    def with_sample(self, sample: ProgressSample) -> "ProgressOfGroups":
        """After one more sample. A group that it does not tell of stays as it was, as long as it is asked for."""
        groups = {name: known for name, known in self.groups.items() if name in sample.watched}
        for name, told in sample.groups.items():
            groups[name] = _sampled(name, self.groups.get(name), told, sample)
        return ProgressOfGroups(groups, sample.answered_ms, _with_ends(self.ends, sample))

    def behind(self, partition: str, committed: int, now_ms: int) -> Behind | None:
        """How long ago the first record was written that is behind this offset; None where no end offset is kept."""
        ends = self.ends.get(partition)
        return None if ends is None else ends.behind(committed, now_ms)


NO_PROGRESS_KNOWN = ProgressOfGroups()


def _with_ends(known: Mapping[str, PassedEnds], sample: ProgressSample) -> Mapping[str, PassedEnds]:
    at_ms = sample.answered_ms
    ends = {name: one for name, one in known.items() if one.at_ms[-1] >= at_ms - ENDS_KEPT_MS}
    for told in sample.groups.values():
        for name, offsets in told.items():
            if offsets.end is None:
                continue
            if name in ends:
                ends[name] = ends[name].after(at_ms, offsets.end)
            elif len(ends) < MOST_ENDS:
                ends[name] = first_end(at_ms, offsets.end)
    return ends


def _sampled(
    group: str, before: SampledGroup | None, told: Mapping[str, PartitionOffsets], sample: ProgressSample
) -> SampledGroup:
    known = {} if before is None else before.partitions
    grown = any(name in known and one.committed > known[name].committed for name, one in told.items())
    moved = grown or any(name in known and one.committed != known[name].committed for name, one in told.items())
    partitions = {}
    for name, offsets in told.items():
        if name in known:
            partitions[name] = known[name].after(offsets, sample)
        elif offsets.end is not None:
            partitions[name] = begun(offsets.committed, offsets.end, sample, first=True)
    changed_ms = sample.answered_ms if moved else None if before is None else before.changed_ms
    totals = (*(() if before is None else before.totals), _total(partitions, sample))[-MOST_TOTALS:]
    return SampledGroup(
        asked_ms=sample.asked_ms,
        answered_ms=sample.answered_ms,
        partitions=partitions,
        commits=grown or (before is not None and before.commits),
        without_end=frozenset(told) - frozenset(partitions),
        first_ms=sample.answered_ms if before is None else before.first_ms,
        changed_ms=sample.changed_ms.get(group, changed_ms),
        totals=totals,
        trend=trend_of(totals, None if before is None else before.trend),
    )


def _total(partitions: Mapping[str, PartitionProgress], sample: ProgressSample) -> Total:
    lag = ends = known = 0
    for name in sorted(partitions):
        one = partitions[name]
        own = one.known_lag
        if own is not None:
            lag, ends, known = lag + own, ends + one.end, crc32(name.encode(errors="surrogatepass"), known)
    return Total(sample.asked_ms, sample.answered_ms, lag, ends, known)
