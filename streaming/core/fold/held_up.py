"""What the last rebalance of a group held up: begun with its record, and settled by samples of offsets.

    record of generation 7, live       it is open; one before it that no sample has looked at is counted with it
    a sample is newer than the record  its lag is held against the lag before (`cluster.held_up`)
    the lag is what it was, or another rebalance comes, or an hour is over        RebalanceCost of its generation

Only groups whose members read partitions have a cost, and only while records are read as they come.
"""

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.cluster.held_up import EMPTY, OpenRebalance, followed, looked_at
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Generation, HeldUp, RebalanceCost, Source
from .capabilities import Holds
from .intake import Intake
from .published import body_of, source_of
from .state import Envelope


def recorded(fold: Intake, row: Row, before: Envelope) -> None:
    """A classic group's record: a rebalance has ended, or nobody is left. `before`: the envelope before the record."""
    body = body_of(row)
    if body.members:
        again = body.generation == before.generation and before.incarnation == fold.envelope.incarnation
        if not again:  # else it is no rebalance
            _begins(fold, source_of(row), body.generation, row.timestamp_ms)
    elif (known := fold.envelope.open_rebalance) is not None:
        _settled(fold, known, known.held_up(EMPTY, final=True))


def computed(fold: Intake, target: Generation) -> None:
    """The coordinator has computed a target: its members rebalance."""
    _begins(fold, target.source, target.generation, target.at_ms)


def look(fold: Intake) -> HeldUp | None:
    """What the last rebalance held up by the samples so far; None where there is none."""
    known = fold.envelope.open_rebalance
    sampled = fold.knowledge.progress.groups.get(fold.group)
    if known is None or sampled is None:
        return None
    told = looked_at(known, sampled.totals)
    if isinstance(told, HeldUp):
        _settled(fold, known, told)
        return told
    if told != known:
        fold.envelope = replace(fold.envelope, open_rebalance=told)
    return told.held_up()


def _begins(fold: Intake, source: Source, generation: int, at_ms: int) -> None:
    live = fold.tick is not None and not fold.finite and not fold.envelope.historic
    if not live or not fold.able(Holds):
        return
    here_ms = clocks.monitors_time(fold.envelope, at_ms)
    seen, known = fold.knowledge.groups.rebalancing.get(fold.group), fold.envelope.open_rebalance
    since_ms = here_ms if seen is None else min(seen.begun_ms, here_ms)
    new = OpenRebalance(source=source, generation=generation, since_ms=since_ms, at_ms=here_ms)
    if known is not None:
        new, told = followed(known, new)
        if told is not None:
            _settled(fold, known, told)
    fold.envelope = replace(fold.envelope, open_rebalance=new)


def _settled(fold: Intake, known: OpenRebalance, told: HeldUp) -> None:
    fold.envelope = replace(fold.envelope, open_rebalance=None)
    if known.before is not None or told.why != EMPTY:  # else nobody has asked for its offsets
        cost = RebalanceCost(cluster=fold.settings.name, group=fold.group, source=known.source, held_up=told)
        fold.results.append(cost)
