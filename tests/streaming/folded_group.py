"""A group as a job folds it that reads along: call by call, each with the state that the one before has left."""

from collections.abc import Sequence

from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings


class FoldedGroup:
    """`results`: what all calls have published; `outcome`: of the last one. `knowledge` is that of the next."""

    def __init__(self, settings: ClusterSettings, group: str, knowledge: Knowledge = NOTHING_KNOWN) -> None:
        self.settings, self.group, self.knowledge = settings, group, knowledge
        self.state: Saved | None = None
        self.results: list[Result] = []
        self.outcome: FoldOutcome | None = None

    def fold(
        self, rows: Sequence[Row] = (), now_ms: int | None = None, *, historic: bool = False, ends: bool = False
    ) -> FoldOutcome:
        """One call, with a tick where there is a time; `ends`: the input ends with it."""
        tick = None if now_ms is None else Tick(now_ms, historic=historic)
        outcome = fold_group(
            self.settings, self.group, self.state, rows, tick, knowledge=self.knowledge, end_of_input=ends
        )
        self.state, self.outcome = outcome.state, outcome
        self.results += outcome.results
        return outcome
