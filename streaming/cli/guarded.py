"""The fold of commands that read captures: an error costs one group, and is told on stderr at the end."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.isolation import place_of
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import FoldGroup
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Source
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import FoldError
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, decode
from rebalance_monitor.streaming.guarding.decoding import decoded
from rebalance_monitor.streaming.guarding.fold import fold_isolated, pieces_of
from rebalance_monitor.streaming.guarding.traces import error_of


class Guarded:
    """The fold that isolates the group it fails at, and what it failed with."""

    def __init__(self, fold: FoldGroup, decode: Callable[[RawRecord, ClusterSettings], Row | None] = decode) -> None:
        self._fold, self._decode = fold, decode
        self.errors: list[tuple[str, FoldError]] = []

    def __call__(
        self,
        settings: ClusterSettings,
        group: str,
        state: Saved | None,
        rows: Sequence[Row],
        tick: Tick | None,
        **more: Any,
    ) -> FoldOutcome:
        outcome = fold_isolated(settings, group, state, pieces_of(rows), tick, fold=self._fold, **more)
        self.errors += ((group, error) for error in outcome.errors)
        return outcome

    def read(self, record: RawRecord, settings: ClusterSettings) -> Row | None:
        """The row of a record; an unreadable one where the decoding fails."""
        place = (record.topic, record.partition, record.offset, record.timestamp_ms, record.key, record.value)

        def failed(why: Exception) -> None:
            self.errors.append(("", error_of(why, Source(record.topic, record.partition, record.offset))))

        return decoded(
            lambda *_: self._decode(record, settings),
            *place,
            of_groups=record.topic == OFFSETS_TOPIC,
            on_error=failed,
        )

    def tell(self) -> None:
        """Each error in a line on stderr; its trace the first time."""
        traced: set[str] = set()
        for group, error in self.errors:
            where = f"group {group}, {place_of(error.record)}" if group else place_of(error.record)
            print(f"rebalance-monitor: internal error {error.fingerprint} ({where})", file=sys.stderr)
            if error.fingerprint not in traced:
                print(error.trace, file=sys.stderr)
            traced.add(error.fingerprint)
