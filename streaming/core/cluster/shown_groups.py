"""Until when groups that are polled surely were as they were polled last. All times by the monitor's clock, ms.

An answer shows what was the case at a moment between question and answer, so the earlier of both is sure.

    asked 10:00:00    g is stable, h is not there       g: until 10:00:00    h was not there: until 10:00:00
    asked 10:00:10    g rebalances, h is not there      g: until 10:00:00    h: until 10:00:10
    asked 10:00:20    no answer                         as before

A rebalance goes on unseen only as far as answers show nothing else: one that shows a group settled, or with other
members than the answer before, proves that it began later, or that somebody joined or left meanwhile.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ShownGroups:
    """`settled_ms`: when the question was asked whose answer last showed each group settled, 0 for one that is there
    and was not seen so yet; `complete_ms`: when the last question was asked whose answer leaves out only groups that
    are not there, None before the first; `anew_ms`: when the answer came that last showed each group settled, or with
    other members than the one before."""

    settled_ms: Mapping[str, int] = field(default_factory=dict)
    complete_ms: int | None = None
    anew_ms: Mapping[str, int] = field(default_factory=dict)

    def until_ms(self, group: str, *, gone: bool) -> int:
        """Until when the group was as it was polled last; 0 where no answer shows it. `gone`: it was not there."""
        settled_ms = self.settled_ms.get(group)
        if settled_ms is None:
            return (self.complete_ms or 0) if gone else 0
        return 0 if gone else settled_ms


NOTHING_SHOWN = ShownGroups()
