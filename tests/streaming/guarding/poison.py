"""A fold that raises at records chosen by a test, in place of the real one."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.settings import ClusterSettings

SECRET = "a value of somebody's record"
OFFSETS_TOPIC = "__consumer_offsets"


def nothing(_row: Row) -> None:
    """Nobody looks on."""


@dataclass(slots=True)
class Poisoned:
    """`fold_group`, but it raises `error` before the records of __consumer_offsets at these offsets of `group` (None:
    of any group), and with `at_tick` in every fold that has a tick. `seen` is told of each record; `calls` lists how
    many rows each fold was given."""

    offsets: Collection[int]
    error: type[BaseException] = KeyError
    group: str | None = None
    topic: str = OFFSETS_TOPIC
    at_tick: bool = False
    seen: Callable[[Row], None] = nothing
    calls: list[int] = field(default_factory=list)

    def __call__(
        self,
        settings: ClusterSettings,
        group: str,
        state: Saved | None,
        rows: Sequence[Row],
        tick: Tick | None,
        *,
        before_record: Callable[[Row], None] = nothing,
        **more: Any,
    ) -> FoldOutcome:
        self.calls.append(len(rows))
        if self.at_tick and tick is not None:
            raise self.error(SECRET)

        def look(row: Row) -> None:
            before_record(row)
            self.seen(row)
            if self.group in (None, group) and row.topic == self.topic and row.offset in self.offsets:
                raise self.error(SECRET)

        return fold_group(settings, group, state, rows, tick, before_record=look, **more)
