"""What a generation of a Streams group has besides what every generation has: who runs, copies and waits for what."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTasks:
    """Tasks of one member (a thread) by role, as `0_1`.

    `standby` holds every copy that its assignment names. Where the verdict's recomputation tells them apart,
    `warm_up` lists those that exist only to catch up, and `transient` those that keep the state of a task open until it
    is handed over; both are part of `standby`. `withheld`: tasks that it is to run as soon as their owners have given
    them up. `revoked`: tasks that it owned and is not given again. `next_rebalance_ms`: when it joins again, by the
    leader's clock; 0 at once, None not before something else happens.
    """

    member_id: str
    active: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()
    warm_up: tuple[str, ...] = ()
    transient: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    revoked: tuple[str, ...] = ()
    next_rebalance_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsProcess:
    """One process (Kafka calls it a client) with its threads. `end_point`: `application.server`, empty where none is
    set. `offset_sums`: what its threads reported per task; -2 for a task that runs. `lags`: how many records it lacked
    of each other task when brokers last said where the task's changelogs end; empty where nobody asked. `leads`: its
    thread is the group's leader."""

    process_id: str
    host: str
    threads: tuple[ThreadTasks, ...]
    end_point: str = ""
    rack: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    offset_sums: Mapping[str, int] = field(default_factory=dict)
    lags: Mapping[str, int] = field(default_factory=dict)
    leads: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtopologyTasks:
    """One sub-topology. `topics`: partitions of each source topic as far as records show them. `stateful` is None where
    nothing tells. `least`, `most`: active tasks of it per process. `waiting`: tasks of it that nobody runs in this
    generation. `missing_standbys`: copies that its tasks lack against `num.standby.replicas`; None where that is not
    known."""

    name: str
    topics: Mapping[str, int]
    tasks: int
    stateful: bool | None
    least: int
    most: int
    waiting: tuple[str, ...] = ()
    missing_standbys: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsProgress:
    """How far the application is from its target placement. `moves_left`: tasks with state that, or whose copies, are
    elsewhere than they shall be once nothing lags. `rebalances`: probing rebalances that are needed at best.
    `not_before_ms`: when the last of them can be at the earliest; None where neither a setting nor a deadline tells the
    interval, or where threads join again at once: what has caught up by then moves. `next_ms`: the next probing
    rebalance, None where none is set. `probed`: probing rebalances so far with these members, `stuck`: those of them
    since the last move."""

    moves_left: int
    rebalances: int
    not_before_ms: int | None = None
    next_ms: int | None = None
    probed: int = 0
    stuck: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsDetail:
    """`version`: of the payloads that the leader wrote; None in a KIP-1071 group, which has no leader. `withheld`:
    tasks that nobody runs in this generation, since their owners give them up first. `next_rebalance_ms`: when a thread
    joins again at the latest by the leader's word; 0 at once, None never. `roles_known`: whether warm-ups, transient
    and withheld tasks are told apart. `progress`: None where the target placement is not known. `missing_standbys`:
    copies that tasks with state lack against num.standby.replicas; None where that is not known. `laws`: each rule's
    grade by its code: ok, violated or undetermined.

    `stateful`, `stateless`: the least and the most active tasks that a process has with state, and without.
    """

    version: int | None
    processes: tuple[StreamsProcess, ...]
    subtopologies: tuple[SubtopologyTasks, ...]
    withheld: tuple[str, ...] = ()
    next_rebalance_ms: int | None = None
    roles_known: bool = False
    stateful: tuple[int, int] = (0, 0)
    stateless: tuple[int, int] = (0, 0)
    missing_standbys: int | None = None
    progress: StreamsProgress | None = None
    laws: Mapping[str, str] = field(default_factory=dict)
