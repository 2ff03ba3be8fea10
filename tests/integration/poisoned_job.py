"""`python -m tests.integration.poisoned_job CONFIG GROUP`: `rebalance-monitor run` with a fold that fails at every
generation of one group."""

import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from rebalance_monitor.streaming.cli.run import run
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.settings import ClusterSettings


class FailsAt:
    """`fold_group`, but a generation of this group with members raises."""

    def __init__(self, poisoned: str) -> None:
        self._poisoned = poisoned

    def __call__(
        self,
        settings: ClusterSettings,
        group: str,
        *given: Any,
        before_record: Callable[[Row], None] = lambda _row: None,
        **more: Any,
    ) -> FoldOutcome:
        def look(row: Row) -> None:
            before_record(row)
            if group == self._poisoned and isinstance(row.body, GroupGeneration) and row.body.members:
                raise KeyError(row.body.leader)

        return fold_group(settings, group, *given, before_record=look, **more)


if __name__ == "__main__":
    raise SystemExit(run(Namespace(config=sys.argv[1], shadow=None), FailsAt(sys.argv[2])))
