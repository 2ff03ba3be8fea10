"""What the fold publishes: generations with verdicts, incident transitions, undecodable records and gaps.

`streaming.core.objects` turns each into the JSON object that the command line prints and the database stores.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

TopicItem = tuple[str, int]


class Grade(StrEnum):
    """How an observed assignment compares with the recomputed one."""

    MATCH = "match"
    EXPLAINABLE = "explainable"
    UNEXPLAINED = "unexplained"
    NOT_JUDGED = "not_judged"


class Severity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class Certainty(StrEnum):
    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True, order=True)
class Source:
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class ConnectShare:
    connectors: tuple[str, ...] = ()
    tasks: tuple[TopicItem, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsumerShare:
    partitions: tuple[TopicItem, ...] = ()


Share: TypeAlias = ConnectShare | ConsumerShare


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberResult:
    """One member of a published generation; shares are None where the blob could not be read.

    The hashes name the member's subscription and assignment bytes, which are stored once per content.
    """

    member_id: str
    client_id: str
    client_host: str
    instance_id: str | None
    worker: str | None
    assigned: Share | None
    revoked: Share | None
    owned: Share | None
    subscription_hash: str = ""
    assignment_hash: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Coordinates of a record, or a sentence."""

    source: Source | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    type: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    kind: str
    subjects: tuple[Subject, ...] = ()
    certainty: Certainty = Certainty.CERTAIN
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a worker, instance or member gained and lost against the generation before, as names (task `name-n`)."""

    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedShare:
    assigned: Share
    revoked: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    grade: Grade
    assignor: str | None = None
    era: str | None = None
    reason: str | None = None
    expected: Mapping[str, ExpectedShare] | None = None
    pending_until_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One record of a classic group with members. Its key is (cluster, source)."""

    cluster: str
    group: str
    incarnation: int
    protocol_type: str
    protocol: str | None
    generation: int
    leader: str | None
    at_ms: int
    state_ms: int | None
    source: Source
    members: tuple[MemberResult, ...]
    diff: Mapping[str, Change] = field(default_factory=dict)
    cause: tuple[Cause, ...] = ()
    verdict: Verdict
    delay_ms: int | None = None
    unassigned: tuple[str, ...] = ()
    historic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """State of one violation after a transition (`opened`, `updated` or `resolved`)."""

    incident_id: str
    transition: str
    rule: str
    code: str
    severity: Severity
    certainty: Certainty
    cluster: str
    group: str
    opened_generation: int
    opened_at_ms: int
    resolved_at_ms: int | None
    subjects: tuple[Subject, ...]
    message: str
    evidence: tuple[Evidence, ...]
    historic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecodableRecord:
    cluster: str
    source: Source
    reason: str
    size_bytes: int
    sample: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRecord:
    cluster: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    reason: str


Result: TypeAlias = Generation | Incident | UndecodableRecord | GapRecord
