"""What the fold publishes: generations with verdicts, incident transitions, undecodable records and gaps.

`streaming.core.model.objects` turns each into the JSON object that the command line prints and the database stores.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from rebalance_monitor.streaming.core.model.effects import Burst, ConnectDetail, DowntimeSum, JobDowntime
from rebalance_monitor.streaming.core.model.epoch_detail import EpochDetail
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import Sampled as Sampled
from rebalance_monitor.streaming.core.model.streams_detail import StreamsDetail
from rebalance_monitor.streaming.core.model.subjects import Source as Source
from rebalance_monitor.streaming.core.model.subjects import Subject as Subject

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


class AlertSeverity(StrEnum):
    """How loudly people are told: critical pages, a warning can wait until working hours, info is for reports."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Certainty(StrEnum):
    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True)
class ConnectShare:
    connectors: tuple[str, ...] = ()
    tasks: tuple[TopicItem, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsumerShare:
    partitions: tuple[TopicItem, ...] = ()


Share: TypeAlias = ConnectShare | ConsumerShare
Detail: TypeAlias = ConnectDetail | StreamsDetail | EpochDetail
"""What a generation of one lifecycle has besides what every generation has: one type for each that has something."""


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
    """`eras`: the families of releases that can have given this answer by all that is known, newest first; empty where
    none gives it or none was asked."""

    grade: Grade
    assignor: str | None = None
    eras: tuple[str, ...] = ()
    reason: Reason | None = None
    expected: Mapping[str, ExpectedShare] | None = None
    pending_until_ms: int | None = None

    @property
    def why(self) -> str:
        """The text of the reason, "" where there is none."""
        return self.reason.text if self.reason is not None else ""

    @property
    def era(self) -> str | None:
        """The leader's family where the answer separates it from all others, else None."""
        return self.eras[0] if len(self.eras) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Who should have what from a record on: a classic group's record with members, or a target that the coordinator
    of a KIP-848 or share group computed. Its key is (cluster, source). `detail` is its lifecycle's own. `sampled`: it
    was polled, and `generation` counts the assignments that were seen; None where it was read.

    Of a target, `generation` is the assignment epoch; its members are `assigned` their target, have `owned`, and have
    yet to give up `revoked`; nobody leads.
    """

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
    detail: Detail | None = None
    settled: bool = False
    historic: bool = False
    sampled: Sampled | None = None

    @property
    def connect(self) -> ConnectDetail:
        """The detail of a Connect generation; an empty one of any other."""
        return self.detail if isinstance(self.detail, ConnectDetail) else ConnectDetail()

    @property
    def epoch(self) -> EpochDetail | None:
        """The detail of the target of a KIP-848 or share group; None of any other generation."""
        return self.detail if isinstance(self.detail, EpochDetail) else None

    @property
    def lifecycle(self) -> str:
        """The group's type in Kafka's words: `classic`; `consumer` for a KIP-848 group, `share` and `streams` for
        KIP-932 and KIP-1071."""
        return "classic" if self.epoch is None else self.epoch.kind

    @property
    def streams(self) -> StreamsDetail | None:
        """Tasks of a Streams group of either protocol; None of any other generation."""
        if isinstance(self.detail, StreamsDetail):
            return self.detail
        return None if self.epoch is None else self.epoch.streams


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """What became known of a generation after it was published: it completes the one of the same source."""

    cluster: str
    group: str
    generation: int
    source: Source
    cause: tuple[Cause, ...]
    downtime: tuple[DowntimeSum, ...] = ()
    interrupted: tuple[JobDowntime, ...] = ()
    burst: Burst | None = None
    epoch: EpochDetail | None = None

    def completed(self, generation: Generation) -> Generation:
        """The generation with its last word."""
        if self.epoch is not None:
            # The last word is about members on their way; who is to have which tasks stands in the generation.
            detail = replace(self.epoch, streams=generation.streams)
            return replace(generation, cause=self.cause, detail=detail, settled=True)
        connect = replace(generation.connect, downtime=self.downtime, interrupted=self.interrupted, burst=self.burst)
        return replace(generation, cause=self.cause, detail=connect, settled=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """One job of a Connect group, three ways: who has it by the group's records, who should, and who runs it.

    `expected` is None when nobody should have it or no expectation exists (`judged` tells which). `running` … as the
    status topic shows. `agreement` sums up: see `three_way`. `gone`: nobody knows the job any more.
    `sampled`: its group is polled, and `generation` counts the assignments that were seen, `running_generation` does
    not.
    """

    cluster: str
    group: str
    job: Subject
    incarnation: int
    generation: int
    assigned: tuple[str, ...]
    expected: str | None
    judged: bool
    state: str | None
    running: str | None
    running_generation: int | None
    running_at_ms: int | None
    since_ms: int
    agreement: str
    gone: bool = False
    sampled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A group as its latest judged record shows it, under the name that Kafka gives to the state.

    Only states that reach the log: `Stable` with members, `Empty` without, `Dead` once deleted. What lies between two
    generations of a classic group (a rebalance under way) is in the coordinator's memory alone. A KIP-848 group is also
    `Assigning` while a target is due, and `Reconciling` while members are on their way to it. So is a Streams group of
    KIP-1071, which is `NotReady` while its topics are not all there.
    """

    cluster: str
    group: str
    state: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """State of one violation after a transition.

    `opened`, `updated` and `resolved` say what is the case; `fired` and `ended` when people are told (after the rule's
    damping) and when that is over. `firing` is true between these two; `fired_at_ms` stays. `alert_name` is the rule's
    when it was opened and stays, whatever the catalogue calls it later.
    `next_step`: what to do first in this very group; empty where the rule's first step is meant.

    An incident has parts (`Part`). `subjects`, `message` and `evidence` are those of its open parts, bounded; after its
    end, those of all (`incidents.grouping.whole`). `parts`: how many are open; `more`: how many of their connectors,
    tasks, partitions or members `subjects` leaves out; `cause`: what the rule names as the cause of all parts;
    `common`: the worker and the connector that all parts share. `also`: titles of the rules whose incidents are part of
    this one's notification. `sampled`: its group is polled.
    """

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
    alert: AlertSeverity = AlertSeverity.INFO
    firing: bool = False
    fired_at_ms: int | None = None
    times_told: int = 0
    team: str = ""
    alert_name: str = ""
    next_step: str = ""
    parts: int = 1
    more: int = 0
    cause: tuple[Subject, ...] = ()
    common: tuple[Subject, ...] = ()
    also: tuple[str, ...] = ()
    sampled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One finding of an incident while it lasts, and its end: what one rule says of the same subjects.

    Subjects that heal and break again make another part, with another `opened_at_ms`. `firing` and `alert` are by the
    part's own damping, which counts from `live_ms` where the part was found in history and went on. `worst`: how bad
    and how sure it was at its worst, where it is better now; a part that is over says its worst. A stored part of a
    large incident has no message, evidence and next step any more: they were published when it opened.
    """

    incident_id: str
    code: str
    subjects: tuple[Subject, ...]
    severity: Severity
    certainty: Certainty
    opened_generation: int
    opened_at_ms: int
    resolved_at_ms: int | None = None
    message: str = ""
    evidence: tuple[Evidence, ...] = ()
    next_step: str = ""
    historic: bool = False
    live_ms: int | None = None
    alert: AlertSeverity = AlertSeverity.INFO
    firing: bool = False
    worst: tuple[Severity, Certainty] | None = None

    @property
    def since_ms(self) -> int:
        """From when on it counts for people."""
        return self.opened_at_ms if self.live_ms is None else self.live_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLag:
    """How far one member has come with what it holds: how many of its `partitions` are `advancing` (there is something
    to read, and it was seen to move a short time ago), `caught_up`, `standing` (something to read, and not seen to
    move) and `unknown` (no offset is known). `lag`: records that it has yet to read, of partitions that are known."""

    member: str
    partitions: int
    advancing: int
    caught_up: int
    standing: int
    unknown: int
    lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProgress:
    """How far the members of a group have come, by offsets that brokers told between `asked_ms` and `answered_ms` (by
    the monitor's clock)."""

    cluster: str
    group: str
    generation: int
    asked_ms: int
    answered_ms: int
    members: tuple[MemberLag, ...]


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


Result: TypeAlias = (
    Generation | Aftermath | JobState | Standing | GroupProgress | Incident | Part | UndecodableRecord | GapRecord
)
