"""The rules of every kind of group, as the fold asks for them: behind a record, behind a target, and by the clock."""

from collections.abc import Sequence

from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Standing
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from . import expected, held_up, lag, recurring, restless, stuck
from .intake import Intake
from .published import source_of
from .state import Envelope


def recorded(fold: Intake, row: Row, outputs: Sequence[Output], before: Envelope) -> None:
    """Publish what its session said of a classic group's record, and what follows from it. `before`: the envelope
    before the record."""
    fold.publish(recurring.recorded(fold, outputs, source_of(row), row.timestamp_ms))
    restless.recorded(fold, row, outputs, before)
    expected.recorded(fold, row, outputs, before)
    held_up.recorded(fold, row, before)


def computed(fold: Intake, target: Generation) -> None:
    """What follows from a target, once it is published."""
    restless.computed(fold, target)
    expected.computed(fold, target)
    held_up.computed(fold, target)


def stands(fold: Intake, standing: Standing) -> None:
    """The state of a group with targets, in Kafka's words."""
    if standing.state == "Empty":
        expected.emptied(fold, standing)


def deleted(fold: Intake, row: Row) -> None:
    """The group was deleted, and does not go on under another protocol."""
    expected.deleted(fold, row)


def ended(fold: Intake, row: Row, before: frozenset[str]) -> None:
    """A rebalance has ended, with this record. `before`: the members of the record before."""
    stuck.ended(fold, row, before)


def due_ms(fold: Intake) -> int | None:
    """When the next timer of these rules is due, by the coordinator's clock."""
    times = (restless.due_ms(fold), recurring.due_ms(fold), expected.due_ms(fold))
    return min((one for one in times if one is not None), default=None)


def fire(fold: Intake, at_ms: int, *, historic: bool) -> None:
    restless.fire(fold, at_ms, historic=historic)
    recurring.fire(fold, at_ms, historic=historic)
    expected.fire(fold, at_ms, historic=historic)


def look(fold: Intake, tick: Tick, last: LastRecord | None) -> None:
    """What was polled of the group, and what is expected of it. `last`: the record judged last."""
    stuck.look(fold, tick, last)
    expected.look(fold, tick, last, lag.look(fold, tick, last))
