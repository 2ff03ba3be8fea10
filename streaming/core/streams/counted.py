"""How many tasks a Streams group's generation names by role, and how far they are from their target placement.

active  0_0 0_1 1_0    standby  0_0 0_1, of them warm_up 0_1    ->    active 3, standby 1, warm_up 1, transient 0
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ACTIVE, STANDBY, WARM_UP, TRANSIENT, WITHHELD = "active", "standby", "warm_up", "transient", "withheld"


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """`roles`: tasks by role; a copy counts in one role only. Where the generation does not tell warm-ups and transient
    copies apart, every copy is a `standby` and the two are missing. `missing_standbys`, `moves_left`,
    `probing_rebalances` are None where they are not known. `next_probing_ms`: 0 where no probing rebalance is set.
    `spread`: most minus fewest active tasks of a process, by kind."""

    roles: Mapping[str, int]
    missing_standbys: int | None
    moves_left: int | None
    probing_rebalances: int | None
    next_probing_ms: int
    spread: Mapping[str, int]


def counted_tasks(streams: Mapping[str, Any]) -> TaskCounts:
    """Of the object of a generation's `streams`, complete as this release writes it."""
    threads = [thread for process in streams["processes"] for thread in process["threads"]]
    named = {role: sum(len(thread[role]) for thread in threads) for role in (ACTIVE, STANDBY, WARM_UP, TRANSIENT)}
    if streams["roles_known"]:
        named[STANDBY] -= named[WARM_UP] + named[TRANSIENT]
    else:
        del named[WARM_UP], named[TRANSIENT]
    progress = streams["progress"]
    return TaskCounts(
        roles={**named, WITHHELD: len(streams["withheld"])},
        missing_standbys=streams["missing_standbys"],
        moves_left=None if progress is None else progress["moves_left"],
        probing_rebalances=None if progress is None else progress["probed"],
        next_probing_ms=(progress or {}).get("next_ms") or streams["next_rebalance_ms"] or 0,
        spread={kind: most - least for kind, (least, most) in streams["balance"].items()},
    )


NO_TASKS = TaskCounts(
    roles=dict.fromkeys((ACTIVE, STANDBY, WARM_UP, TRANSIENT, WITHHELD), 0),
    missing_standbys=0,
    moves_left=0,
    probing_rebalances=0,
    next_probing_ms=0,
    spread={"stateful": 0, "stateless": 0},
)
"""Of a group in which nobody is left."""
