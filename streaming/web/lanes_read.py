"""What the database holds of a group's history between two moments: lanes, incidents, deployments as rolling restarts,
maintenance windows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.lanes import GroupLanes, LaneBar, MemberLane, group_lanes
from rebalance_monitor.streaming.stories.rebalances import seen
from rebalance_monitor.streaming.stories.rolling_restarts import RestartRun, restart_runs
from .reader import Reader
from .rows import NOBODY, GroupName, GroupRow

Object = dict[str, Any]
MOST_GENERATIONS = 50
MOST_LANES = 30
MOST_INCIDENTS = 50
AFTERWARDS_MS = 3_600_000
"""What a later generation gave to somebody again stood still before it: so far it is looked for."""


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """Between the two moments of `lanes`. `left_out`: sentences. `last_ms`: the last rebalance before its end."""

    lanes: GroupLanes
    incidents: Sequence[Object] = ()
    windows: Sequence[Maintenance] = ()
    restarts: Sequence[RestartRun] = ()
    left_out: tuple[str, ...] = ()
    last_ms: int | None = None


def read_history(
    reader: Reader, row: GroupRow, windows: Sequence[Maintenance], from_ms: int, until_ms: int
) -> GroupHistory:
    """`windows`: those of the configuration."""
    where: Object = {"cluster": row.cluster, "group": row.group}
    some = reader.generations({**where, "until_ms": until_ms - 1}, None, MOST_GENERATIONS)
    after = {**where, "since_ms": until_ms, "until_ms": until_ms + AFTERWARDS_MS}
    later = reader.generations(after, None, MOST_GENERATIONS)
    documents = [one.document for one in some.items]
    if later.items and later.next is None:
        documents += [one.document for one in later.items]
    elif row.at_ms is not None and row.at_ms >= until_ms:
        documents += reader.first_generation(row.key, until_ms)
    ended_ms = row.standing_ms if row.status in NOBODY else None
    whole = group_lanes(documents, until_ms, ended_ms)
    lanes = whole.within(from_ms, until_ms)
    left_out = []
    if some.next is not None and whole.from_ms > from_ms:
        left_out.append(
            f"Only the last {MOST_GENERATIONS} generations are shown; choose a shorter time to see those before them."
        )
    if len(lanes.lanes) > MOST_LANES:
        more = len(lanes.lanes) - MOST_LANES
        left_out.append(f"Not shown: {counted(more, 'member')} whose assignment changed less often.")
        lanes = replace(lanes, lanes=_most_changed(lanes))
    incidents = reader.incidents({**where, "since_ms": from_ms, "until_ms": until_ms}, "all", None, MOST_INCIDENTS)
    if incidents.next is not None:
        left_out.append(f"Only the last {MOST_INCIDENTS} incidents are shown.")
    return GroupHistory(
        lanes,
        [one.document for one in incidents.items],
        [one for one in (*windows, *reader.windows_between(from_ms, until_ms)) if _concerns(one, row.key, lanes)],
        [one for one in restart_runs(seen(documents)) if one.from_ms < until_ms and one.until_ms >= from_ms],
        tuple(left_out),
        some.items[0].document["at_ms"] if some.items else None,
    )


def _most_changed(lanes: GroupLanes) -> tuple[MemberLane, ...]:
    kept = sorted(lanes.lanes, key=lambda one: (-len(one.bars), one.name))[:MOST_LANES]
    return tuple(sorted(kept, key=lambda one: one.name))


def _concerns(window: Maintenance, key: GroupName, lanes: GroupLanes) -> bool:
    inside = window.from_ms < lanes.until_ms and window.until_ms > lanes.from_ms
    return inside and fnmatchcase(key[0], window.cluster) and fnmatchcase(key[1], window.groups)


def history_object(history: GroupHistory) -> Object:
    """The lanes as the API answers them; incidents have a list of their own."""
    lanes = history.lanes
    return {
        "from_ms": lanes.from_ms,
        "until_ms": lanes.until_ms,
        "targets": lanes.targets,
        "lanes": [
            {"member": one.name, "client": one.called or None, "bars": [_bar_object(bar) for bar in one.bars]}
            for one in lanes.lanes
        ],
        "nobody": [_bar_object(bar) for bar in lanes.nobody],
        "rebalances": [
            {"at_ms": one.at_ms, "generation": one.generation, "causes": list(one.causes), "grade": one.grade}
            for one in lanes.marks
        ],
        "rolling_restarts": [
            {"from_ms": one.from_ms, "until_ms": one.until_ms, "members": one.replaced, "rebalances": len(one.places)}
            for one in history.restarts
        ],
        "left_out": list(history.left_out),
    }


def _bar_object(bar: LaneBar) -> Object:
    return {
        "from_ms": bar.from_ms,
        "until_ms": bar.until_ms,
        "names": None if bar.names is None else sorted(bar.names),
        "twice": sorted(bar.twice),
        "sure": bar.sure,
    }
