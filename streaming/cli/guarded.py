"""The fold of commands that read captures: an error costs one group, and is told on stderr at the end."""

import sys
from collections.abc import Sequence

from streaming.core.fold import FoldOutcome
from streaming.core.isolation import place_of
from streaming.core.ports import FoldError
from streaming.core.records import Row, Tick
from streaming.core.settings import ClusterSettings
from streaming.core.witnesses import Witnesses
from streaming.guarding.fold import Fold, fold_isolated, pieces_of


class Guarded:
    """The fold that isolates the group it fails at, and what it failed with."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold
        self.errors: list[tuple[str, FoldError]] = []

    def __call__(
        self,
        settings: ClusterSettings,
        group: str,
        state: bytes | None,
        rows: Sequence[Row],
        tick: Tick | None,
        *,
        end_of_input: bool = False,
        witnesses: Witnesses | None = None,
    ) -> FoldOutcome:
        outcome = fold_isolated(
            settings,
            group,
            state,
            pieces_of(rows),
            tick,
            end_of_input=end_of_input,
            witnesses=witnesses,
            fold=self._fold,
        )
        self.errors += ((group, error) for error in outcome.errors)
        return outcome

    def tell(self) -> None:
        """Each error in a line on stderr; its trace the first time."""
        traced: set[str] = set()
        for group, error in self.errors:
            where = f"group {group}, {place_of(error.record)}"
            print(f"rebalance-monitor: internal error {error.fingerprint} ({where})", file=sys.stderr)
            if error.fingerprint not in traced:
                print(error.trace, file=sys.stderr)
            traced.add(error.fingerprint)
