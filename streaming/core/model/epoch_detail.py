"""How far the members of a KIP-848 or share group have come to a target: what only such a generation has.

Three epochs order the life of the group (docs/protocol/coordinator-log.md 6.1): the group epoch says that a target is
needed, the assignment epoch that it was computed, and each member's epoch how far that member has come.
"""

from dataclasses import dataclass
from typing import Any

from rebalance_monitor.streaming.core.model.streams_detail import StreamsDetail

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberProgress:
    """One member on its way. `state` in Kafka's words: STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS (_TASKS in a
    Streams group), or UNKNOWN.

    `waits_for`: members that still hold what it is to get, or "" for what nobody holds.
    """

    member_id: str
    epoch: int | None
    state: str
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochDetail:
    """A target and how far its members are. Times in ms, by the coordinator's clock.

    `group_epoch`: the epoch that asked for it; `needed_ms`: since when a target was needed; `computed_ms`: when the
    assignor had finished (4.3; else the record's time). `reached_ms`: when every member held its target; None while one
    does not, and where another target came first (`overtaken_by`: its assignment epoch). `kind`: the group's type in
    Kafka's words. `streams`: tasks by process and subtopology, of a Streams group.
    """

    group_epoch: int | None
    needed_ms: int | None
    computed_ms: int | None
    progress: tuple[MemberProgress, ...] = ()
    reached_ms: int | None = None
    overtaken_by: int | None = None
    kind: str = "consumer"
    streams: StreamsDetail | None = None


def epoch_object(detail: EpochDetail) -> Object:
    """The detail as JSON."""
    return {
        "group_epoch": detail.group_epoch,
        "needed_ms": detail.needed_ms,
        "computed_ms": detail.computed_ms,
        "reached_ms": detail.reached_ms,
        "overtaken_by": detail.overtaken_by,
        "progress": [
            {"member_id": each.member_id, "epoch": each.epoch, "state": each.state, "waits_for": list(each.waits_for)}
            for each in detail.progress
        ],
    }
