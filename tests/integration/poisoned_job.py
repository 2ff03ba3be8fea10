"""`python -m tests.integration.poisoned_job CONFIG GROUP`: `rebalance-monitor run` with a fold that fails at every
generation of one group."""

import sys
from collections.abc import Callable, Sequence

from rebalance_monitor.streaming.cli.run import run
from rebalance_monitor.streaming.core.clocks.others import OtherClocks
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.settings import ClusterSettings


class FailsAt:
    """`fold_group`, but a generation of this group with members raises."""

    def __init__(self, poisoned: str) -> None:
        self._poisoned = poisoned

    def __call__(
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
        before_record: Callable[[Row], None] = lambda _row: None,
    ) -> FoldOutcome:
        def look(row: Row) -> None:
            before_record(row)
            if group == self._poisoned and isinstance(row.body, GroupGeneration) and row.body.members:
                raise KeyError(row.body.leader)

        return fold_group(
            settings,
            group,
            state,
            rows,
            tick,
            knowledge=knowledge,
            end_of_input=end_of_input,
            witnesses=witnesses,
            before_record=look,
        )


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1], fold=FailsAt(sys.argv[2])))
