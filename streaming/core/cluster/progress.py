"""How far groups have come: committed offsets and end offsets of their partitions, as brokers said when asked.

What is kept of a partition is its last offsets, and since when it stands still although there is something to read:

    asked 10:00:00, answered 10:00:01     committed 100, end 100     caught up
    asked 10:00:30, answered 10:00:31     committed 100, end 140     stands from 10:00:31 on, 40 records behind
    asked 10:01:00, answered 10:01:01     committed 100, end 190     still: it surely stood from 10:00:31 to 10:01:00
    asked 10:01:30, answered 10:01:31     committed 150, end 200     it has advanced: another stand begins

An end offset is the last stable offset: no consumer, whatever its isolation level, is held up before it by a
transaction. A transaction that stays open stops the end offset, so no member is blamed for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .changelogs import ChangelogEnds

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
    those of Streams applications end, by application.
    """

    asked_ms: int
    answered_ms: int
    groups: Mapping[str, Mapping[str, PartitionOffsets]]
    watched: frozenset[str]
    changelogs: Mapping[str, ChangelogEnds] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionProgress:
    """One partition of a group. It surely stood at `committed` from `since_ms` to `seen_ms` with something to read,
    unless it is `caught_up`; `samples` showed it so, and `end_since` was its end offset in the first of them.

    `first`: nothing was known of it before, so nobody saw it advance. `asked_ms`: of the last sample that showed it;
    `grew_after_ms`: its committed offset grew last after this time, None where nobody saw it grow.
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

    @property
    def lag(self) -> int:
        """Records between both offsets."""
        return max(self.end - self.committed, 0)

    @property
    def caught_up(self) -> bool:
        """Whether there is nothing to read."""
        return self.end <= self.committed

    @property
    def advancing(self) -> bool:
        """Whether there is something to read, and it was seen to move a short time ago."""
        return not self.caught_up and not self.first and self.samples <= RECENT_SAMPLES

    def after(self, told: PartitionOffsets, sample: ProgressSample) -> "PartitionProgress":
        """With one more sample."""
        if told.end is None and told.committed == self.committed:
            return self
        end = max(self.end, told.committed) if told.end is None else told.end
        stands = told.committed == self.committed and not self.caught_up and end >= self.end
        if not stands:
            grew_ms = self.asked_ms if told.committed > self.committed else self.grew_after_ms
            return begun(told.committed, end, sample, first=False, grew_after_ms=grew_ms)
        return PartitionProgress(
            committed=self.committed,
            end=end,
            since_ms=self.since_ms,
            seen_ms=max(sample.asked_ms, self.since_ms),
            end_since=self.end_since,
            samples=self.samples + 1,
            first=self.first,
            asked_ms=sample.asked_ms,
            grew_after_ms=self.grew_after_ms,
        )


def begun(
    committed: int, end: int, sample: ProgressSample, *, first: bool, grew_after_ms: int | None = None
) -> PartitionProgress:
    """A partition from this sample on."""
    at_ms = sample.answered_ms
    return PartitionProgress(
        committed=committed,
        end=end,
        since_ms=at_ms,
        seen_ms=at_ms,
        end_since=end,
        samples=1,
        first=first,
        asked_ms=sample.asked_ms,
        grew_after_ms=grew_after_ms,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledGroup:
    """A group in its last sample. `commits`: a committed offset of it was seen to grow, so its members commit to
    Kafka."""

    asked_ms: int
    answered_ms: int
    partitions: Mapping[str, PartitionProgress] = field(default_factory=dict)
    commits: bool = False


@dataclass(frozen=True, slots=True)
class ProgressOfGroups:
    """The groups that are asked for, as far as they were answered. `answered_ms`: of the last sample, None before the
    first. Nothing of it is stored: a job that begins anew asks again."""

    groups: Mapping[str, SampledGroup] = field(default_factory=dict)
    answered_ms: int | None = None

    def with_sample(self, sample: ProgressSample) -> "ProgressOfGroups":
        """After one more sample. A group that it does not tell of stays as it was, as long as it is asked for."""
        groups = {name: known for name, known in self.groups.items() if name in sample.watched}
        for name, told in sample.groups.items():
            groups[name] = _sampled(self.groups.get(name), told, sample)
        return ProgressOfGroups(groups, sample.answered_ms)


NO_PROGRESS_KNOWN = ProgressOfGroups()


def _sampled(before: SampledGroup | None, told: Mapping[str, PartitionOffsets], sample: ProgressSample) -> SampledGroup:
    known = {} if before is None else before.partitions
    grown = any(name in known and one.committed > known[name].committed for name, one in told.items())
    partitions = {}
    for name, offsets in told.items():
        if name in known:
            partitions[name] = known[name].after(offsets, sample)
        elif offsets.end is not None:
            partitions[name] = begun(offsets.committed, offsets.end, sample, first=True)
    return SampledGroup(
        asked_ms=sample.asked_ms,
        answered_ms=sample.answered_ms,
        partitions=partitions,
        commits=grown or (before is not None and before.commits),
    )
