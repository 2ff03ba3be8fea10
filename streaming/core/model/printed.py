"""What `replay` alone prints, and the JSON Schema of all that is printed, stored or answered by the API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from .published import DEFS, HIDDEN, Object, Says, schema_name, schemas
from .results import GapRecord, Generation, GroupProgress, Incident, JobState, Part, Source, UndecodableRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit:
    """One committed position of a group, v0-v4; `offset` None and nothing else when it was deleted or expired."""

    KIND: ClassVar[str] = "offset_commit"

    cluster: str
    group: str
    topic: str
    partition: int
    offset: Annotated[int | None, Says("Null when the commit was deleted or expired.")]
    leader_epoch: int | None
    metadata: str | None
    commit_ms: int | None
    expire_ms: int | None
    source: Annotated[Source, Says("The record.")]


@dataclass(slots=True, kw_only=True)
class OtherGroupSeen:
    """One group of one kind (`consumer`, `share` or `streams`) after the records seen so far. `member_ids` are those
    whose latest record is no tombstone."""

    KIND: ClassVar[str] = "other_group"

    cluster: str
    group: str
    kind: Annotated[str, Says(name="group_kind", words=("consumer", "share", "streams", "unknown"))]
    records: int = 0
    epoch: Annotated[int | None, Says("Null until a record states one.")] = None
    deleted: bool = False
    member_ids: Annotated[set[str], HIDDEN] = field(default_factory=set)
    first_at_ms: int = 0
    last_at_ms: int = 0

    @property
    def members(self) -> Annotated[int, Says(before="first_at_ms")]:
        return len(self.member_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The last object: how much there was of each."""

    KIND: ClassVar[str] = "summary"

    records: int
    generations: int
    grades: Annotated[Mapping[str, int], Says("Generations by the grade of their verdict.")]
    violations: Annotated[Mapping[str, int], Says("Incidents by the title of their rule.")]
    undecodable: int
    gaps: int
    other_groups: Annotated[Mapping[str, int], Says("By kind.")]


PRINTED: tuple[type[Any], ...] = (
    Generation, Incident, Part, OffsetCommit, UndecodableRecord, GapRecord, OtherGroupSeen, Summary, JobState,
    GroupProgress,
)  # fmt: skip


def schema() -> Object:
    """The JSON Schema (2020-12) of every object with a `kind`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Objects printed by rebalance-monitor replay -o json and stored as documents",
        "oneOf": [{"$ref": f"{DEFS}{schema_name(kind)}"} for kind in PRINTED],
        "$defs": schemas(PRINTED),
    }
