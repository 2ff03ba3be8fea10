"""What the fold publishes: generations with verdicts, incident transitions, undecodable records and gaps.

`as_object` (`published.py`) turns each into the JSON object that the command line prints and the database stores.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar, TypeAlias

from rebalance_monitor.schemas.frozen import replace
from .details import Burst, ConnectDetail, DowntimeSum, EpochDetail, JobDowntime, StreamsDetail
from .findings import AlertSeverity as AlertSeverity
from .findings import Certainty as Certainty
from .findings import Evidence as Evidence
from .findings import Incident as Incident
from .findings import Part as Part
from .findings import Severity as Severity
from .lags import GroupProgress as GroupProgress
from .lags import HeldUp as HeldUp
from .lags import MemberLag as MemberLag
from .lags import PartitionLag as PartitionLag
from .lags import RebalanceCost as RebalanceCost
from .lags import TopicLag as TopicLag
from .published import HIDDEN, OPTIONAL, Says
from .reasons import Reason, ReasonKind
from .records import Sampled as Sampled
from .subjects import LastRecord as LastRecord
from .subjects import Source as Source
from .subjects import Subject as Subject

TopicItem = tuple[str, int]


CAUSES = (
    "worker_joined", "worker_left", "worker_lost", "worker_gone", "worker_bounced", "zombie_returned",
    "connector_created", "connector_deleted", "connector_rescaled", "connector_reconfigured", "delay_expired",
    "revocation_follow_up", "backoff_follow_up", "leader_changed", "config_mismatch", "protocol_changed",
    "member_joined", "member_left", "member_lost", "member_gone", "member_replaced", "topic_changed",
    "subscription_changed", "configuration_changed", "partitions_initialized", "probing_rebalance", "version_probing",
    "worker_rejoined", "member_rejoined", "begun_by_coordinator", "unknown",
)  # fmt: skip
AGREEMENTS = (
    "ok", "failed", "unexpected", "elsewhere", "held_twice", "not_started", "unassigned", "unknown", "gone",
)  # fmt: skip


class Grade(StrEnum):
    """How an observed assignment compares with the recomputed one."""

    MATCH = "match"
    EXPLAINABLE = "explainable"
    UNEXPLAINED = "unexplained"
    NOT_JUDGED = "not_judged"


@dataclass(frozen=True, slots=True)
class ConnectShare:
    connectors: tuple[str, ...] = ()
    tasks: tuple[TopicItem, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsumerShare:
    partitions: tuple[TopicItem, ...] = ()


Share: TypeAlias = ConnectShare | ConsumerShare
LIFE = "Which life of the group id it is, from 0: a group that was deleted and comes back begins another one."
TIME_OUTS = ", as its record has it; absent of a target and of what was polled."
NO_CONNECT = ConnectDetail()
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
    instance_id: Annotated[str | None, Says("Its `group.instance.id`; null for a dynamic member.")]
    worker: Annotated[str | None, Says("Address of the Connect worker, as it says; null outside Connect.")]
    assigned: Annotated[Share | None, Says("What it was given; of a target, what it is to have. Null: not readable.")]
    revoked: Annotated[Share | None, Says("What it is to give up.")]
    owned: Annotated[Share | None, Says("What it said that it had when it joined.")]
    session_timeout_ms: Annotated[int | None, Says(f"Its session time-out{TIME_OUTS}", optional=True)] = None
    rebalance_timeout_ms: Annotated[
        int | None,
        Says(f"Its rebalance time-out, of most clients `max.poll.interval.ms`{TIME_OUTS}", optional=True),
    ] = None
    subscription_hash: Annotated[str, HIDDEN] = ""
    assignment_hash: Annotated[str, HIDDEN] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    kind: Annotated[str, Says(words=CAUSES)]
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
    grade: Annotated[Grade, Says("How the assignment compares with the recomputed one.")]
    assignor: Annotated[str | None, Says("The assignor that was recomputed.")] = None
    eras: Annotated[
        tuple[str, ...],
        Says(
            "The families of releases that can have given this answer by all that is known, newest first; empty where"
            " none gives it or none was asked."
        ),
    ] = ()
    reason: Annotated[Reason | None, HIDDEN] = None
    expected: Annotated[
        Mapping[str, ExpectedShare] | None, Says("By member id; null where nothing was recomputed.")
    ] = None
    pending_until_ms: Annotated[int | None, Says("When the verdict is final at the latest.", optional=True)] = None

    @property
    def why(self) -> str:
        """The text of the reason, "" where there is none."""
        return self.reason.text if self.reason is not None else ""

    @property
    def era(
        self,
    ) -> Annotated[
        str | None,
        Says("The family of releases that gave the answer, where it separates this from all others.", before="eras"),
    ]:
        return self.eras[0] if len(self.eras) == 1 else None

    @property
    def reason_text(
        self,
    ) -> Annotated[str | None, Says("What the grade rests on, for people.", name="reason", before="expected")]:
        """As `why`, None where there is none."""
        return self.why or None

    @property
    def reason_kind(self) -> Annotated[ReasonKind | None, Says("The same for programs.", before="expected")]:
        return self.reason.kind if self.reason is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Who should have what from a record on: a classic group's record with members, or a target that the coordinator
    of a KIP-848 or share group computed. Its key is (cluster, source). `detail` is its lifecycle's own.

    Of a target, `generation` is the assignment epoch; its members are `assigned` their target, have `owned`, and have
    yet to give up `revoked`; nobody leads.
    """

    KIND: ClassVar[str] = "generation"

    cluster: str
    group: str
    incarnation: Annotated[int, Says(LIFE)]
    protocol_type: Annotated[str, Says("`connect`, `consumer` or what the clients call it.")]
    protocol: Annotated[str | None, Says("The protocol that the members agreed on; of a target, its assignor.")]
    generation: Annotated[int, Says("Its number; of a target, the assignment epoch.")]
    leader: Annotated[str | None, Says("Member id of the leader; null where nobody leads.")]
    at_ms: Annotated[int, Says("Timestamp of the record.")]
    state_ms: Annotated[int | None, Says("When the group came to its state, by the coordinator's clock.")]
    source: Annotated[Source, Says("The record.")]
    members: Annotated[tuple[MemberResult, ...], Says("In the record's order.")]
    diff: Annotated[
        Mapping[str, Change], Says("What each worker, instance or member gained and lost, against the one before.")
    ] = field(default_factory=dict)
    cause: tuple[Cause, ...] = ()
    verdict: Verdict
    detail: Annotated[Detail | None, HIDDEN] = None
    settled: Annotated[bool, Says("What statuses and time add is final.")] = False
    historic: Annotated[bool, HIDDEN] = False
    repeats: Annotated[
        bool,
        Says(
            "The record repeats a generation that was written before, as where a static member was replaced: it is no"
            " rebalance. Absent otherwise.",
            optional=True,
        ),
    ] = False
    partition_leader_epoch: Annotated[
        int | None,
        Says(
            "The epoch of the leader that took the record: it rises with each election of the partition's leader, and"
            " so of the group's coordinator. Absent where it is not known.",
            optional=True,
        ),
    ] = None
    sampled: Annotated[
        Sampled | None,
        Says(
            "The assignment was polled, not read: when it came about, by the monitor's clock. `generation` counts the"
            " assignments that were seen.",
            optional=True,
        ),
    ] = None
    held_up: Annotated[
        HeldUp | None,
        Says("What the rebalance held up, once that is known; absent where no offsets were polled.", optional=True),
    ] = None

    @property
    def lifecycle(
        self,
    ) -> Annotated[
        str,
        Says(
            "The group's type in Kafka's words; `consumer` for a KIP-848 group, `share` and `streams` for KIP-932 and"
            " KIP-1071.",
            before="protocol_type",
            words=("classic", "consumer", "share", "streams"),
        ),
    ]:
        """`classic` where no coordinator computed the target."""
        return "classic" if self.epoch is None else self.epoch.kind

    @property
    def connect(self) -> Annotated[ConnectDetail, Says(before="settled", spread=True)]:
        """The detail of a Connect generation; an empty one of any other."""
        return self.detail if isinstance(self.detail, ConnectDetail) else NO_CONNECT

    @property
    def epoch(self) -> Annotated[EpochDetail | None, Says("Of a target.", before="sampled", optional=True)]:
        """The detail of the target of a KIP-848 or share group; None of any other generation."""
        return self.detail if isinstance(self.detail, EpochDetail) else None

    @property
    def streams(
        self,
    ) -> Annotated[StreamsDetail | None, Says("Of Streams groups alone.", before="downtime", optional=True)]:
        """Tasks of a Streams group of either protocol; None of any other generation."""
        if isinstance(self.detail, StreamsDetail):
            return self.detail
        return None if self.epoch is None else self.epoch.streams


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """What became known of a generation after it was published: it completes the one of the same source, and its
    object has the keys of the generation's that it replaces."""

    cluster: Annotated[str, HIDDEN]
    group: Annotated[str, HIDDEN]
    generation: Annotated[int, HIDDEN]
    source: Annotated[Source, HIDDEN]
    cause: tuple[Cause, ...]
    downtime: tuple[DowntimeSum, ...] = ()
    interrupted: tuple[JobDowntime, ...] = ()
    burst: Burst | None = None
    epoch: Annotated[EpochDetail | None, OPTIONAL] = None

    @property
    def settled(self) -> Annotated[bool, Says(before="epoch")]:
        """Nothing more will come."""
        return True

    def completed(self, generation: Generation) -> Generation:
        """The generation with its last word."""
        if self.epoch is not None:
            # The last word is about members on their way; who is to have which tasks stands in the generation.
            detail = replace(self.epoch, streams=generation.streams)
            return replace(generation, cause=self.cause, detail=detail, settled=True)
        connect = replace(generation.connect, downtime=self.downtime, interrupted=self.interrupted, burst=self.burst)
        return replace(generation, cause=self.cause, detail=connect, settled=True)


@dataclass(frozen=True, slots=True)
class NewestStatus:
    state: str
    worker: str | None
    generation: Annotated[int | None, Says("Of the worker that wrote it.")]
    at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """One job of a Connect group, three ways: who has it by the group's records, who should, and who runs it.

    `agreement` sums up: see `statuses.facts.agreement`. `gone`: nobody knows the job any more.
    """

    KIND: ClassVar[str] = "connector_or_task"

    cluster: str
    group: str
    job: Annotated[Subject, Says(name="subject")]
    incarnation: Annotated[int, Says(LIFE)]
    generation: Annotated[int, Says("The group's generation at which it stands so.")]
    assigned: Annotated[tuple[str, ...], Says("Workers that have it by the group's records.")]
    expected: Annotated[
        str | None,
        Says("Who should have it by the recomputed assignment; null when nobody should, or if that is not known."),
    ]
    judged: Annotated[bool, Says("Whether it is known who should have it.")]
    state: Annotated[str | None, HIDDEN]
    running: Annotated[str | None, HIDDEN]
    running_generation: Annotated[int | None, HIDDEN]
    running_at_ms: Annotated[int | None, HIDDEN]
    since_ms: Annotated[int | None, Says("Since when the same workers have it; null where none has it.")]
    agreement: Annotated[str, Says("What the three ways come to.", words=AGREEMENTS)]
    gone: Annotated[bool, HIDDEN] = False
    sampled: Annotated[
        bool,
        Says(
            "The group is polled, not read: `generation` counts the assignments that were seen; that of `running` is"
            " the worker's own. Absent where the group is read.",
            optional=True,
        ),
    ] = False

    @property
    def status(
        self,
    ) -> Annotated[NewestStatus | None, Says("What the status topic says.", name="running", before="since_ms")]:
        if self.state is None:
            return None
        return NewestStatus(self.state, self.running, self.running_generation, self.running_at_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A group as its latest judged record shows it, under the name that Kafka gives to the state.

    Only states that reach the log: `Stable` with members, `Empty` without, `Dead` once deleted. What lies between two
    generations of a classic group (a rebalance under way) is in the coordinator's memory alone. A KIP-848 group is also
    `Assigning` while a target is due, and `Reconciling` while members are on their way to it. So is a Streams group of
    KIP-1071, which is `NotReady` while its topics are not all there.
    """

    KIND: ClassVar[str] = "group"

    cluster: str
    group: str
    state: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecodableRecord:
    KIND: ClassVar[str] = "undecodable"

    cluster: str
    source: Annotated[Source, Says("The record.")]
    reason: str
    size_bytes: Annotated[int, Says("Size of the record's value.", name="bytes")]
    sample: Annotated[str, HIDDEN] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRecord:
    KIND: ClassVar[str] = "gap"

    cluster: str
    topic: str
    partition: int
    from_offset: Annotated[int, Says("The first offset that was gone.")]
    to_offset: Annotated[int, Says("Behind the last one; equal to the first where nobody knows how much was lost.")]
    reason: str


Result: TypeAlias = (
    Generation | Aftermath | RebalanceCost | JobState | Standing | GroupProgress | Incident | Part | UndecodableRecord
    | GapRecord
)  # fmt: skip
