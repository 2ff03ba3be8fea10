"""How far the members of a KIP-848 or share group have come to a target: what only such a generation has.

Three epochs order the life of the group (docs/protocol/coordinator-log.md 6.1): the group epoch says that a target is
needed, the assignment epoch that it was computed, and each member's epoch how far that member has come.
"""

from dataclasses import dataclass
from typing import Annotated

from .published import HIDDEN, Says
from .streams_detail import StreamsDetail

STATES = (
    "STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS", "UNREVOKED_TASKS", "UNRELEASED_TASKS", "UNKNOWN",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberProgress:
    """One member on its way."""

    member_id: str
    epoch: int | None
    state: Annotated[str, Says("In Kafka's words; _TASKS in a Streams group.", words=STATES)]
    waits_for: Annotated[
        tuple[str, ...], Says("Members that still hold what it is to get; an empty name for what nobody holds.")
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochDetail:
    """A target and how far its members are. Times in ms, by the coordinator's clock.

    `kind`: the group's type in Kafka's words. `streams`: tasks by process and subtopology, of a Streams group.
    """

    group_epoch: Annotated[int | None, Says("The epoch that asked for the target.")]
    needed_ms: Annotated[int | None, Says("Since when a target was needed.")]
    computed_ms: Annotated[int | None, Says("When the assignor had finished (Kafka 4.3; else the record's time).")]
    reached_ms: Annotated[
        int | None,
        Says("When every member held its target; null while one does not, or if another target came first."),
    ] = None
    overtaken_by: Annotated[int | None, Says("The assignment epoch of the target that came first.")] = None
    progress: tuple[MemberProgress, ...] = ()
    kind: Annotated[str, HIDDEN] = "consumer"
    streams: Annotated[StreamsDetail | None, HIDDEN] = None
