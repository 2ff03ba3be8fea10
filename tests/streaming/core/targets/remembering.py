"""Replays of nearly the same records: a group of which the same is read, and of whose times the same is said, is folded
once. A fold depends on nothing else."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.clocks.others import OtherClocks
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Source
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import RawRecord, decode, replay


@dataclass
class _Listening(OtherClocks):
    """Clocks, and what they were asked and answered."""

    clocks: OtherClocks
    said: list[tuple[str, tuple[Any, ...], Any]] = field(default_factory=list)

    def _asked(self, what: str, *about: Any) -> Any:
        answer = getattr(self.clocks, what)(*about)
        self.said.append((what, about, answer))
        return answer

    def one_clock(self, before: Source, row: Row) -> bool:
        return bool(self._asked("one_clock", before, row))

    def slow_ms(self, row: Row) -> int:
        return int(self._asked("slow_ms", row))

    def known_until(self, newest: Source) -> bool:
        return bool(self._asked("known_until", newest))

    def between(self, place: tuple[str, int], start: int, end: int | None) -> int:
        return int(self._asked("between", place, start, end))

    def newest_ms(self) -> int:
        return int(self._asked("newest_ms"))


@dataclass(frozen=True, slots=True)
class _Folded:
    """`rows` are kept, so that no other row can be taken for one of them."""

    rows: Sequence[Row]
    said: list[tuple[str, tuple[Any, ...], Any]]
    outcome: FoldOutcome

    def holds(self, clocks: OtherClocks) -> bool:
        return all(getattr(clocks, what)(*about) == answer for what, about, answer in self.said)


class Capture:
    """The records of a capture, and replays of some of them."""

    def __init__(self, folder: Path) -> None:
        self.settings, self.knowledge = settings_of(folder), knowledge_of(folder)
        self.records = tuple(records_of(folder))
        self._rows: dict[int, Row | None] = {}
        self._folded: dict[tuple[Any, ...], list[_Folded]] = defaultdict(list)

    def told(self, some: Sequence[RawRecord]) -> Sequence[dict[str, Any]]:
        """What `replay` says of these of its records."""
        return replay(some, self.settings, knowledge=self.knowledge, fold=self._fold, read=self._read).objects

    def _read(self, record: RawRecord, settings: ClusterSettings) -> Row | None:
        place = id(record)  # `records` keeps it
        if place not in self._rows:
            self._rows[place] = decode(record, settings)
        return self._rows[place]

    def _fold(
        self,
        settings: ClusterSettings,
        group: str,
        state: Saved | None,
        rows: Sequence[Row],
        tick: Tick | None,
        *,
        knowledge: Knowledge = NOTHING_KNOWN,
        end_of_input: bool = False,
        witnesses: OtherClocks | None = None,
        **_: Any,
    ) -> FoldOutcome:
        assert state is None, "no group has two lives"
        assert witnesses is not None, "a replay hears all clocks"
        known = self._folded[group, tick, end_of_input, tuple(map(id, rows))]
        found = next((one.outcome for one in known if one.holds(witnesses)), None)
        if found is None:
            clocks = _Listening(witnesses)
            found = fold_group(
                settings, group, None, rows, tick, knowledge=knowledge, end_of_input=end_of_input, witnesses=clocks
            )
            known.append(_Folded(rows, clocks.said, found))
        return found
