"""What is expected of a group, and whether it is met, by its row and its open incidents."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rebalance_monitor.streaming.core.incidents.of_every_group import FEWER_MEMBERS, MORE_LAG, MORE_REBALANCES
from rebalance_monitor.streaming.core.model.settings import NOTHING_EXPECTED, Expectations
from .attention import ShownIncident
from .rows import NOBODY, GroupRow

ExpectsOf = Callable[[str, str], Expectations]
"""(cluster, group) -> what its owner expects."""
WHAT = ("members_at_least", "lag_s", "rebalances_per_hour")
"""As the configuration calls it."""


def expects_nothing(_cluster: str, _group: str) -> Expectations:
    """Nobody expects anything of any group."""
    return NOTHING_EXPECTED


@dataclass(frozen=True, slots=True)
class ExpectationShown:
    """One thing. `limit`: as it is configured; `has`: what is known of it now; `met` None: nobody can tell; `since_ms`:
    since when it is not met, where an incident is open."""

    what: str
    limit: int
    has: int | None
    met: bool | None
    since_ms: int | None

    def object(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def expected_of(
    row: GroupRow, incidents: Iterable[ShownIncident], expects: Expectations, now_ms: int
) -> tuple[ExpectationShown, ...]:
    """All that is expected of the group, in the order of the configuration's keys. An old sample tells no lag."""
    since = {
        one.document["code"]: one.document["opened_at_ms"]
        for one in incidents
        if one.document["resolved_at_ms"] is None
    }
    known = row.generation is not None or row.status in NOBODY or FEWER_MEMBERS.code in since
    members = (0 if row.status in NOBODY else row.members) if known else None
    lag_ms = None if row.sample_is_old(now_ms) else row.lag_ms
    found = []
    if (least := expects.members_at_least) is not None:
        met = None if members is None else members >= least
        found.append(ExpectationShown("members_at_least", least, members, met, since.get(FEWER_MEMBERS.code)))
    if (most_s := expects.lag_s) is not None:
        too_old = MORE_LAG.code in since or (lag_ms is not None and lag_ms > most_s * 1_000)
        met = False if too_old else None if lag_ms is None or row.at_least else True
        has = None if lag_ms is None else lag_ms // 1_000
        found.append(ExpectationShown("lag_s", most_s, has, met, since.get(MORE_LAG.code)))
    if (most := expects.rebalances_per_hour) is not None:
        met = MORE_REBALANCES.code not in since if row.generation is not None else None
        found.append(ExpectationShown("rebalances_per_hour", most, None, met, since.get(MORE_REBALANCES.code)))
    return tuple(found)
