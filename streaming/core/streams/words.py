"""What is seen in the object of a Streams group's generation: a line for people, and numbers of tasks by role.

active  0_0 0_1 1_0    standby  0_0 0_1, of them warm_up 0_1    ->    active 3, standby 1, warm_up 1, transient 0
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rebalance_monitor.streaming.core.model.messages import counted

ON_END_OFFSETS = "end offsets"
"""Why a generation is no match, in its row; `missing_end_offsets` says once what that means."""


def missing_end_offsets(group: str) -> str:
    """What would make a match of the generations of this application whose verdicts rest on end offsets."""
    return (
        f"{ON_END_OFFSETS}: these answers of {group} rest on where the changelogs {group}-STORE-changelog ended, which "
        "no record holds; possible end offsets give them. What makes a match: samples of these topics before and after "
        "each record (polling.topics, with the right DESCRIBE on them; of a capture, end_offsets in "
        "metadata.jsonl.gz), and the text of the topology, which tells the stores "
        f"(clusters[].streams.{group}.topology)"
    )


def summary(streams: Mapping[str, Any] | None) -> str:
    """Of the object of a generation's `streams`; "" for a generation of another kind, or one with nothing to say."""
    return "" if streams is None else "; ".join(_parts(streams))


def _parts(streams: Mapping[str, Any]) -> Iterator[str]:
    withheld = len(streams["withheld"])
    if withheld:
        yield f"{counted(withheld, 'task')} withheld until handed over"
    progress = streams["progress"]
    if progress is not None and progress["moves_left"]:
        least = counted(progress["rebalances"], "probing rebalance")
        last = f", so not before {_clock(progress['not_before_ms'])}" if progress["not_before_ms"] is not None else ""
        yield f"{counted(progress['moves_left'], 'move')} left, at best {least}{last}"
        if progress["next_ms"] is not None:
            yield f"next probing rebalance {_clock(progress['next_ms'])}"
    if streams["missing_standbys"]:
        yield f"{counted(streams['missing_standbys'], 'standby')} missing"
    for part in streams["subtopologies"]:
        if not withheld and part["most"] - part["least"] > 1:
            yield f"sub-topology {part['name']}: {part['least']} to {part['most']} tasks per process"


def _clock(at_ms: int) -> str:
    """UTC time of day; the number itself where it is no day of any calendar."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return str(at_ms)


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
