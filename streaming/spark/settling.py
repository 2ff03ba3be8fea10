"""How much of what waits one batch settles: what is left over is due at once, and the next batch goes on with it.

Records may wait for evidence that comes late, a sample of the topics or a config topic, and then all may go on at the
same moment. Settled in one batch, they would hold the job up for as long as all of them take. So a batch takes at most
`MOST_SETTLED` waiting records beyond the first ones of each group, and wakes at most `MOST_WOKEN` groups that have no
record in it.

    sample comes, 2,000 groups wait with 40 records each
    batch 1   2,000 groups woken, each goes on with its first records, and some with 20,000 more in all
    batch 2   follows at once: the groups that are not done, with the next 20,000

The state of a group that is not done is whole. It is stored as due, so that a job that begins anew goes on, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from .folding import FoldMany
from .group_states import StoredGroups

MOST_SETTLED = 20_000
MOST_WOKEN = 2_000
AT_ONCE_MS = 0
"""The time of a timer that is due whatever the clock says."""


class Turns:
    """Whose turn it is where more groups are to be woken than a batch takes: each once before anybody twice."""

    def __init__(self, most: int = MOST_WOKEN) -> None:
        self._most = most
        self._had = set[str]()

    def next(self, waiting: Sequence[str]) -> list[str]:
        """At most so many of these groups, those that came first before the others."""
        named = list(dict.fromkeys(waiting))
        if len(named) <= self._most:
            self._had.clear()
            return named
        taken = [group for group in named if group not in self._had][: self._most]
        if len(taken) < self._most:
            self._had.clear()
            again = set(taken)
            taken += [group for group in named if group not in again][: self._most - len(taken)]
        self._had.update(taken)
        return taken


class Settling:
    """One batch's share of what waits. `here` folds in this process; `left`: groups that are not done."""

    def __init__(
        self,
        here: FoldMany,
        settings: ClusterSettings,
        tick: Tick | None,
        knowledge: Knowledge,
        most: int = MOST_SETTLED,
    ) -> None:
        self._here, self._settings, self._tick, self._knowledge = here, settings, tick, knowledge
        self._most, self._settled = most, 0
        self.left = 0

    def went_on(self, groups: StoredGroups, outcomes: Mapping[str, FoldOutcome]) -> dict[str, FoldOutcome]:
        """The outcomes, each folded on as long as its group can judge more of what waits and the batch takes more."""
        return {group: self._group(groups, group, outcome) for group, outcome in outcomes.items()}

    def _group(self, groups: StoredGroups, group: str, outcome: FoldOutcome) -> FoldOutcome:
        while outcome.wants_waiting and self._settled < self._most:
            task = groups.with_more(group, outcome)
            more = self._here(self._settings, [task], self._tick, self._knowledge)[group].outcome
            self._settled += max(1, _waiting(outcome) - _waiting(more))
            outcome = replace(
                more,
                results=(*outcome.results, *more.results),
                blobs={**outcome.blobs, **more.blobs},
                errors=(*outcome.errors, *more.errors),
                kept=(*outcome.kept, *more.kept),
            )
        if not outcome.wants_waiting:
            return outcome
        self.left += 1
        return replace(outcome, due_ms=AT_ONCE_MS)


def _waiting(outcome: FoldOutcome) -> int:
    first, end = outcome.waits
    return end - first
