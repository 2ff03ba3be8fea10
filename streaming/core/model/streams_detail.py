"""What a generation of a Streams group has besides what every generation has: who runs, copies and waits for what."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from .published import Says

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
