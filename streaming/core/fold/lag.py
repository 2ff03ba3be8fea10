"""How far members come with what they hold: polled offsets, held against who holds each partition by the records.

A partition stands still if its committed offset did not grow for longer than a member may be busy, although there was
something to read all the time and more was written. Only time in which somebody held it counts.

    10:00:00  record of generation 7: m1 has t-0; its members may be busy for 5 min between two polls
    10:00:31  polled: t-0 committed 100, end 140; other partitions of the group advance
    10:10:20  polled: committed 100, end 900       still within 5 min for the handling and 5 min for the commit
    10:10:50  polled: committed 100, end 950       partitions_not_advancing opens: m1, t-0, since generation 7
    10:14:10  polled: committed 700, end 990       it is over

A member may handle records and commit elsewhere, so a finding is likely at most, and nothing is found in a group that
was never seen to commit. A sample that is older than the group's last record says nothing: others may hold its
partitions now. No sample, no conclusion: neither begins an incident, nor ends one.

A thread of a Streams application restores the state of a task before it reads its partitions, which may take hours. So
what a thread was given and has not been seen to advance is information only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.cluster.progress import PartitionProgress, SampledGroup
from rebalance_monitor.streaming.core.incidents.damping import patience_ms
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.of_every_group import LAG_ON_ONE, NOT_ADVANCING
from rebalance_monitor.streaming.core.incidents.transitions import PartKey
from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.results import (
    Certainty,
    Evidence,
    GroupProgress,
    Part,
    Severity,
    Subject,
)
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from . import group_lag, held_up
from .capabilities import Holdings, Holds
from .intake import Intake
from .state import Envelope

BUSY_MS = 300_000
"""How long a member may be busy between two polls where no record says so: the default of `max.poll.interval.ms`."""
COMMIT_MS = 300_000
"""How long after a handling its offset is surely committed: Connect's sinks commit once in a minute, consumers every
five seconds, both by default."""
LEAST_SAMPLES = 3
LEAST_LAG = 1_000
"""Records: what a consumer fetches with two polls (`max.poll.records`) is too little lag for a finding."""
TIMES_THE_OTHERS = 2
"""A member lags more than the others if the lag of its partitions is on average so many times theirs."""
MOST_FOUND = 500
"""Partitions of one group that an incident names."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one group's progress at a tick. Times by the monitor's clock, ms."""

    progress: SampledGroup
    holdings: Holdings
    held_since_ms: int
    until_ms: int
    patience_ms: int
    taken_ms: Mapping[str, int]

    def restoring(self, name: str, partition: PartitionProgress) -> bool:
        """Whether its member may not have begun to read it: a task with state restores it first, however long."""
        taken_ms = self.taken_ms.get(name)
        if taken_ms is None:
            return False
        return partition.grew_after_ms is None or partition.grew_after_ms < taken_ms

    def stands_ms(self, partition: PartitionProgress) -> int:
        """For how long it has surely stood still in somebody's hands."""
        return min(partition.seen_ms, self.until_ms) - max(partition.since_ms, self.held_since_ms)

    def stuck(self, partition: PartitionProgress) -> bool:
        """Whether that is too long, and more was written meanwhile."""
        growing = not partition.caught_up and partition.end > partition.end_since and partition.samples >= LEAST_SAMPLES
        return self.progress.commits and growing and self.stands_ms(partition) > self.patience_ms

    def well(self, partition: PartitionProgress) -> bool:
        """Whether nothing holds it up: not where nobody has seen it move, nor where it stands for long."""
        return partition.caught_up or (not partition.first and self.stands_ms(partition) <= self.patience_ms)


def look(fold: Intake, tick: Tick, last: LastRecord | None) -> GroupProgress | None:
    """Open and end the rules' incidents by what was polled, and publish the last sample, which is returned. `last`: the
    record judged last."""
    asked = (one.holdings() for one in fold.able(Holds))
    holdings = next((one for one in asked if one is not None), None)
    sampled = group_lag.newest_sample(fold, last)
    progress = None if sampled is None else group_lag.published(fold, sampled, holdings, held_up.look(fold))
    if progress is not None:
        fold.results.append(progress)
    if holdings is None:
        return progress
    at_ms = clocks.groups_time(fold.envelope, tick.now_ms)
    moment = fold.moment(at_ms, historic=False)
    held = _held({key: one for key, one in fold.open().items() if one.code == NOT_ADVANCING.code})
    gone = tuple(key for key, (name, member) in held.items() if name not in holdings.members.get(member, ()))
    notices = [Notice(moment=moment, over=gone, why="another member holds it now, or nobody")] if gone else []
    known = _known(fold, tick, last, holdings)
    if known is not None and last is not None:
        here = Evidence(source=last.source)
        partitions = known.progress.partitions
        well = tuple(key for key, (name, _) in held.items() if name in partitions and known.well(partitions[name]))
        found = tuple(islice(_not_advancing(known, fold.envelope, here), MOST_FOUND))
        notices.append(
            Notice(moment=moment, found=found, over=well, why="its committed offset has grown or reached the end")
        )
        lags = _lags(known)
        if lags is not None:
            already = {key for key, one in fold.open().items() if one.code == LAG_ON_ONE.code}
            found = tuple(_lag_on_one(lags, known, here, already=bool(already)))
            notices.append(Notice(moment=moment, found=found, evaluated=frozenset({LAG_ON_ONE.code})))
    if notices:
        fold.publish(notices)
        fold.results += fold.book.attend(at_ms)
    return progress


def _held(parts: Mapping[PartKey, Part]) -> dict[PartKey, tuple[str, str]]:
    """The partition and the member that each open part names."""
    named = {key: {subject.type: subject.id for subject in one.subjects} for key, one in parts.items()}
    return {key: (one.get("partition", ""), one.get("member", "")) for key, one in named.items()}


def _known(fold: Intake, tick: Tick, last: LastRecord | None, holdings: Holdings) -> _Known | None:
    """None where no sample tells of the group as its last record shows it."""
    progress = group_lag.newest_sample(fold, last)
    if progress is None or last is None or not holdings.members:
        return None
    configured_ms = patience_ms(fold.settings, fold.group, NOT_ADVANCING)
    busy_ms = BUSY_MS if holdings.busy_ms is None else holdings.busy_ms
    since_ms = last.at_ms if holdings.since_ms is None else holdings.since_ms
    return _Known(
        progress,
        holdings,
        clocks.monitors_time(fold.envelope, since_ms),
        tick.now_ms,
        busy_ms + COMMIT_MS if configured_ms is None else configured_ms,
        {name: clocks.monitors_time(fold.envelope, at_ms) for name, at_ms in holdings.taken_ms.items()},
    )


def _not_advancing(known: _Known, envelope: Envelope, here: Evidence) -> Iterator[Finding]:
    for member, names in known.holdings.members.items():
        for name in names:
            partition = known.progress.partitions.get(name)
            if partition is None or not known.stuck(partition):
                continue
            since_ms = max(partition.since_ms, known.held_since_ms)
            text = (
                f"it stands at offset {partition.committed} since generation "
                f"{_generation_at(envelope, since_ms)}, {utc(since_ms)}, "
                f"and its end offset grew from {partition.end_since} to {partition.end}"
            )
            restoring = known.restoring(name, partition)
            if restoring:
                text += "; its member has not been seen to advance it and may be restoring its state"
            yield Finding(
                rule=NOT_ADVANCING,
                severity=Severity.INFO if restoring else NOT_ADVANCING.severity,
                certainty=Certainty.POSSIBLE if restoring else Certainty.LIKELY,
                subjects=(Subject("partition", name), Subject("member", member)),
                message=f"{member} holds {name}: {text}",
                evidence=(here, Evidence(text=f"polled {partition.samples} times: {text}")),
                cause=(Subject("member", member),),
            )


def _generation_at(envelope: Envelope, at_ms: int) -> int:
    """The generation of the group at this time of the monitor's clock, as far as its newest records tell."""
    until_ms = clocks.groups_time(envelope, at_ms)
    before = [generation for generation, ended_ms in envelope.written if ended_ms <= until_ms]
    return before[-1] if before else envelope.generation or 0


@dataclass(frozen=True, slots=True)
class _Lag:
    """What one member holds: partitions, their lag, and the largest of a single one."""

    partitions: int
    records: int
    largest: tuple[int, str]


def _lags(known: _Known) -> dict[str, _Lag] | None:
    """The lag of each member that holds a partition; None where an offset of any partition is not known."""
    found = {}
    for member, names in known.holdings.members.items():
        lags = [
            (partition.lag, name) for name in names if (partition := known.progress.partitions.get(name)) is not None
        ]
        if len(lags) < len(names):
            return None
        if lags:
            found[member] = _Lag(len(lags), sum(lag for lag, _ in lags), max(lags))
    return found


def _lag_on_one(lags: Mapping[str, _Lag], known: _Known, here: Evidence, *, already: bool) -> Iterator[Finding]:
    """The member with more than half of all lag. It must lag far more than the others for an incident to open, and not
    for it to go on (`already`)."""
    total = sum(one.records for one in lags.values())
    partitions = sum(one.partitions for one in lags.values())
    if total < LEAST_LAG or len(lags) < 2:
        return
    member, most = max(lags.items(), key=lambda item: item[1].records)
    others, others_partitions = total - most.records, partitions - most.partitions
    far = most.records * others_partitions >= TIMES_THE_OTHERS * others * most.partitions
    if most.records * 2 <= total or not (far or already):
        return
    lag, name = most.largest
    mostly = f", most of it on {name} alone" if most.partitions > 1 and lag * 2 > most.records else ""
    text = (
        f"{most.records} of the group's {total} records of lag, on {most.partitions} of {partitions} partitions{mostly}"
    )
    polled = f"polled within {known.progress.answered_ms - known.progress.asked_ms} ms: {text}"
    yield Finding(
        rule=LAG_ON_ONE,
        severity=LAG_ON_ONE.severity,
        certainty=Certainty.CERTAIN,
        subjects=(Subject("member", member),),
        message=f"at {utc(known.progress.answered_ms)} {member} held {text}",
        evidence=(here, Evidence(text=polled)),
        cause=(Subject("member", member),),
    )
