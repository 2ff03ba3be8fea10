"""What a generation of one lifecycle has besides what every generation has.

Of Connect: who moved, who waits and why, for how long connectors and tasks did not run. Of Streams: who runs, copies
and waits for what. Of a target: how far the members have come to it. Three epochs order the life of its group
(docs/protocol/coordinator-log.md 6.1): the group epoch says that a target is needed, the assignment epoch that it was
computed, and each member's epoch how far that member has come.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from .published import HIDDEN, Says
from .subjects import Subject

MOVES = (
    "started", "stopped", "moved_in_two_steps", "moved_at_once", "returned", "revoked", "lost", "duplicated",
)  # fmt: skip
RETURNS = ("url", "host", "pattern")
DOWNTIMES = ("clean", "in_place", "crash", "failed", "no_stop", "not_known")
IDLE = ("scheduled_delay", "revocation", "config_mismatch", "unexplained")


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One job that changed hands in a round, between workers. Kinds: see `streaming.core.connect.moves`."""

    job: Annotated[Subject, Says(name="subject")]
    kind: Annotated[str, Says(words=MOVES)]
    before: Annotated[str | None, Says(name="from")] = None
    after: Annotated[str | None, Says(name="to")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A worker that may be a lost one come back."""

    worker: str
    lost: str
    by: Annotated[str, Says("Its url, its host (another port), or a host of the same name pattern.", words=RETURNS)]
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDelay:
    """What a wait would have come to under another maximum delay."""

    max_delay_ms: int
    idle_ms: Annotated[int, Says("Of all connectors and tasks together.")]
    moved: Annotated[int, Says("Connectors and tasks that would have gone to another worker.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayWait:
    """Jobs that wait for a lost worker because of the scheduled delay, or have waited (`ended_ms`)."""

    jobs: Annotated[tuple[Subject, ...], Says(name="subjects")]
    since_ms: int
    until_ms: int | None
    because: tuple[str, ...]
    returned: tuple[Returned, ...] = ()
    only_delay: Annotated[bool, Says("Every lost worker is back; nothing but the delay keeps them idle.")] = False
    ended_ms: int | None = None
    others: Annotated[tuple[OtherDelay, ...], Says("Once it has ended.", name="other_delays")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDowntime:
    """How long a job did not run, between two bounds. Kinds: see `streaming.core.connect.statuses.downtime`."""

    job: Annotated[Subject, Says(name="subject")]
    kind: Annotated[str, Says(words=DOWNTIMES)]
    before: Annotated[str, Says(name="from")]
    after: Annotated[str, Says(name="to")]
    until_ms: int
    lowest_ms: int
    highest_ms: int
    best_ms: Annotated[int, Says("The likeliest.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DowntimeSum:
    """All interruptions of one kind that ended in a generation."""

    kind: Annotated[str, Says(words=DOWNTIMES)]
    jobs: Annotated[int, Says(name="count")]
    total_ms: int
    longest_ms: Annotated[int, Says("By the best estimate.")]
    by_connector: Annotated[
        Mapping[str, int],
        Says("How much of `total_ms` is of each connector, it and its tasks; absent: not known.", optional=True),
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorCost:
    """What a generation cost one connector, it and its tasks together."""

    moved: Annotated[int, Says("How many of them somebody gained; absent: none.", optional=True)] = 0
    idle_ms: Annotated[int, Says("How much of `idle_ms` is theirs; absent: none.", optional=True)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Generations of one kind close behind each other: one event for people."""

    kind: str
    first_generation: int
    last_generation: int
    first_at_ms: int
    last_at_ms: int
    count: int


@dataclass(frozen=True, slots=True)
class GroupEmptied:
    """That a group had no members between two generations."""

    since_ms: Annotated[int | None, Says("Timestamp of the record that says so; null: it was not read.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectDetail:
    """What a Connect generation has besides what every generation has.

    `downtime`, `interrupted` and `burst` come with the last word on the generation.
    """

    delay_ms: Annotated[int | None, Says("The scheduled delay that it announces, 0: none.")] = None
    emptied: Annotated[
        GroupEmptied | None,
        Says(
            "The group had no members before this generation, and may have had some before that: how long connectors"
            " and tasks stood still is not in `idle_ms`. Absent otherwise.",
            optional=True,
        ),
    ] = None
    unassigned: Annotated[tuple[str, ...], Says("Configured connectors and tasks that nobody has.")] = ()
    moves: tuple[Move, ...] = ()
    stayed: Annotated[int | None, Says("How many connectors and tasks did not move.")] = None
    wait: DelayWait | None = None
    idle_ms: Annotated[Mapping[str, int], Says("Sums over connectors and tasks, by cause.", words=IDLE)] = field(
        default_factory=dict
    )
    by_connector: Annotated[
        Mapping[str, ConnectorCost] | None,
        Says(
            "What `diff` and `idle_ms` come to for each connector: names in `diff` do not tell the connector `a-0` from"
            " a task of `a`. Of those alone that gained or waited; absent: of none, or an older release wrote it.",
            optional=True,
        ),
    ] = None
    downtime: tuple[DowntimeSum, ...] = ()
    interrupted: tuple[JobDowntime, ...] = ()
    burst: Annotated[Burst | None, Says("The generations of one kind that this one is one of.")] = None


LAWS = ("ok", "violated", "undetermined")
MISSING_STANDBYS = "Copies that tasks with state lack against num.standby.replicas; null where that is not known."


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTasks:
    """Tasks of one member (a thread) by role, as `0_1`.

    `warm_up` and `transient` are part of `standby`; they are known where the verdict's recomputation tells them apart.
    """

    member_id: str
    active: tuple[str, ...] = ()
    standby: Annotated[tuple[str, ...], Says("Every copy that its assignment names.")] = ()
    warm_up: Annotated[tuple[str, ...], Says("Copies that exist only to catch up.")] = ()
    transient: Annotated[
        tuple[str, ...], Says("Copies that keep the state of a task open until it is handed over.")
    ] = ()
    withheld: Annotated[
        tuple[str, ...], Says("Tasks that it is to run as soon as their owners have given them up.")
    ] = ()
    revoked: Annotated[tuple[str, ...], Says("Tasks that it owned and is not given again.")] = ()
    next_rebalance_ms: Annotated[
        int | None, Says("When it joins again, by the leader's clock. 0: at once; null: not by the leader's word.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsProcess:
    """One process (Kafka calls it a client) with its threads."""

    process_id: str
    host: str
    end_point: Annotated[str, Says("Its `application.server`; empty where none is set.")] = ""
    rack: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    leads: Annotated[bool, Says("One of its threads is the group's leader.")] = False
    offset_sums: Annotated[Mapping[str, int], Says("By task; -2 for a task that runs.")] = field(default_factory=dict)
    lags: Annotated[
        Mapping[str, int],
        Says(
            "By task: records that the copy lacked when brokers last said where its changelogs end. Absent where nobody"
            " asked.",
            optional=True,
        ),
    ] = field(default_factory=dict)
    threads: tuple[ThreadTasks, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtopologyTasks:
    """One sub-topology."""

    name: str
    topics: Annotated[Mapping[str, int], Says("Partitions of each source topic as far as records show them.")]
    tasks: int
    stateful: Annotated[bool | None, Says("Null where nothing tells.")]
    least: Annotated[int, Says("Of its active tasks per process.")]
    most: Annotated[int, Says("Of its active tasks per process.")]
    waiting: Annotated[tuple[str, ...], Says("Tasks of it that nobody runs in this generation.")] = ()
    missing_standbys: Annotated[int | None, Says(MISSING_STANDBYS)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsProgress:
    """How far the application is from its target placement. `not_before_ms` is None where neither a setting nor a
    deadline tells the interval, or where threads join again at once: what has caught up by then moves."""

    moves_left: Annotated[
        int, Says("Tasks with state that, or whose copies, are elsewhere than they shall be once nothing lags.")
    ]
    rebalances: Annotated[int, Says("Probing rebalances that are needed at best.")]
    not_before_ms: Annotated[int | None, Says("When the last of them can be at the earliest; null: not known.")] = None
    next_ms: Annotated[int | None, Says("The next probing rebalance; null where none is set.")] = None
    probed: Annotated[int, Says("Probing rebalances so far with these members.")] = 0
    stuck: Annotated[int, Says("Those of them since the last move.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedBy:
    """What the recomputation of a high-availability leader's placement rests on: settings by Kafka's names, and end
    offsets. What nobody configured or sampled has a value that gives the record's placement; others may, too."""

    standbys: Annotated[int, Says("num.standby.replicas.")]
    warm_ups: Annotated[int, Says("max.warmup.replicas.")]
    acceptable_lag: Annotated[int, Says("acceptable.recovery.lag.")]
    ends: Annotated[Mapping[str, int], Says("By task with state: where its changelogs end, all together.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The least and the most active tasks that a process has with state, and without."""

    stateful: tuple[int, int] = (0, 0)
    stateless: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsDetail:
    """Who runs, copies and waits for which tasks."""

    version: Annotated[
        int | None, Says("Of the payloads that the leader wrote; null in a KIP-1071 group, which has no leader.")
    ]
    processes: tuple[StreamsProcess, ...]
    subtopologies: tuple[SubtopologyTasks, ...]
    withheld: Annotated[
        tuple[str, ...], Says("Tasks that nobody runs in this generation, since their owners give them up first.")
    ] = ()
    next_rebalance_ms: Annotated[
        int | None, Says("When a thread joins again at the latest by the leader's word; 0 at once, null never.")
    ] = None
    roles_known: Annotated[bool, Says("Whether warm-ups, transient and withheld tasks are distinguished.")] = False
    balance: Annotated[Balance, Says("The least and the most active tasks that a process has.")] = Balance()
    missing_standbys: Annotated[int | None, Says(MISSING_STANDBYS)] = None
    progress: Annotated[StreamsProgress | None, Says("Null where the target placement is not known.")] = None
    laws: Annotated[Mapping[str, Annotated[str, Says(words=LAWS)]], Says("Each rule's grade by its code.")] = field(
        default_factory=dict
    )
    placed_by: Annotated[
        PlacedBy | None,
        Says("Absent where no recomputation by lags gives the record's placement, or racks count.", optional=True),
    ] = None


STATES = (
    "STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS", "UNREVOKED_TASKS", "UNRELEASED_TASKS", "UNKNOWN",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberProgress:
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
