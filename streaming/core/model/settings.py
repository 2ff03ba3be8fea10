"""What the fold must be told: per cluster, Connect group and Streams application. The configuration makes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TypeAlias

from .findings import AlertSeverity

HIGH_AVAILABILITY, LEGACY_STICKY, PUBLIC_STICKY = "high_availability", "legacy_sticky", "sticky_924"
"""Kafka's own assignors, as `assignor` names them."""


WILDCARDS = frozenset("*?[")
"""A pattern without any of them is a name."""
PLUG_IN_BUDGET_MS = 2_000
PLUG_IN_MEMORY_MIB = 512
Scalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlugIn:
    """A task assignor of KIP-924 in Python. `name`: an entry point, or `module:Class`; `path`: folders where its module
    is looked for first; `configs`: what its `configure` is given. `budget_ms` is the time of one call, `memory_mib` the
    address space of its process."""

    name: str
    path: tuple[str, ...] = ()
    configs: tuple[tuple[str, Scalar], ...] = field(default=(), repr=False)
    budget_ms: int = PLUG_IN_BUDGET_MS
    memory_mib: int = PLUG_IN_MEMORY_MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsSettings:
    """One application, by its `application.id`. None means "not known": the fold then tries what is possible.

    `release` is that of the leader's Kafka Streams, unless its payload or its answer is of another; `assignor` one of
    Kafka's own (`high_availability`, `legacy_sticky`, `sticky_924`) or the name of a class: one of Kafka's, or one that
    this version does not run; `plug_in` is run in place of such a class. The others are the leader's configuration:
    `standbys` num.standby.replicas, `warm_ups` max.warmup.replicas,
    `acceptable_lag` acceptable.recovery.lag (records), `probing_interval_ms`; `rack_strategy`, `rack_traffic_cost`,
    `rack_non_overlap_cost` and `rack_tags` of the rack-aware assignment. `topology` is the text that Kafka Streams
    prints (`Topology.describe()`).
    """

    release: str | None = None
    java_version: int | None = None
    assignor: str | None = None
    standbys: int | None = None
    warm_ups: int | None = None
    acceptable_lag: int | None = None
    probing_interval_ms: int | None = None
    rack_strategy: str | None = None
    rack_traffic_cost: int | None = None
    rack_non_overlap_cost: int | None = None
    rack_tags: tuple[str, ...] | None = None
    topology: str | None = None
    plug_in: PlugIn | None = None


NOTHING_SAID = StreamsSettings()

# What holds where nobody says otherwise; the two time-outs are the defaults of Connect's workers.
JUDGE_WAIT_MS = 60_000
STATUS_LAG_MS = 5_000
SETTLE_MS = 10_000
START_WAIT_MS = 60_000
RESTART_LOOP_CHANGES = 9
RESTART_LOOP_MS = 1_800_000
CRASH_LOOP_RETURNS = 5
CRASH_LOOP_MS = 900_000
SESSION_TIMEOUT_MS = 10_000
REBALANCE_TIMEOUT_MS = 60_000
PUBLIC_URL = "http://127.0.0.1:9471"
"""Where the page is by default; `page.public_url` says how people reach it."""


class ClientLibrary(StrEnum):
    """A library of Kafka clients: whose implementation of an assignor answers."""

    JAVA = "java"
    LIBRDKAFKA = "librdkafka"
    FRANZ_GO = "franz-go"
    KAFKA_PYTHON = "kafka-python"
    SARAMA = "sarama"
    OTHER = "other"


class OwnAssignor(StrEnum):
    """What a group's assignor does on purpose: it gives a partition to several members, or leaves partitions out."""

    SHARES = "shares"
    OMITS = "omits"


def is_worker(worker: str, pattern: str) -> bool:
    """Whether a pattern of the configuration, host:port with * and ?, means this worker. Case does not count."""
    worker, pattern = worker.lower(), pattern.lower()
    # The brackets of an IPv6 address are a set of characters to a pattern.
    return worker == pattern or fnmatchcase(worker, pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectSettings:
    """One Connect cluster. None means "not known": the fold then treats the value as hidden.

    `max_delay_ms` is the workers' scheduled.rebalance.max.delay.ms, `max_delay_ms_by_worker` the same of single workers
    (host:port or a pattern -> ms); `release` the workers' Kafka release; `placements` where jobs are meant to run,
    job -> workers (host:port or patterns).
    """

    config_topic: str | None = None
    status_topic: str | None = None
    guessed_topics: bool = False
    max_delay_ms: int | None = None
    release: str | None = None
    java_version: int | None = None
    placements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_delay_ms_by_worker: Mapping[str, int] = field(default_factory=dict)

    def max_delay_of(self, worker: str | None) -> int | None:
        """The maximum delay of this worker (host:port) in ms: the first pattern that fits, else what all workers share;
        None if nobody says. Only the leader's counts in a round."""
        for pattern, max_delay_ms in self.max_delay_ms_by_worker.items():
            if worker is not None and is_worker(worker, pattern):
                return max_delay_ms
        return self.max_delay_ms


@dataclass(frozen=True, slots=True)
class Damping:
    """How long a rule's finding must last before people are told, and how long after its end they still are."""

    for_ms: int | None = None
    keep_firing_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What is expected of a group; None: nothing. `members_at_least`: so many members; `lag_s`: no record that it has
    not read is older; `rebalances_per_hour`: no more than so many."""

    members_at_least: int | None = None
    lag_s: int | None = None
    rebalances_per_hour: int | None = None


NOTHING_EXPECTED = Expectations()


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose groups match `groups` (shell-style pattern), and what they expect of each.

    By a rule's title or code: `alerts` says how loudly it speaks here, `damping` how soon and how long. `connectors`
    gives `alerts` for single connectors (name or pattern -> by rule), which count before those of the group.

    `session_timeout_ms`: the brokers' session time-out, where no record states it. `silent_member_ms`: how long a
    silent member counts as there. This and `rebalance_timeout_ms` count instead of what the groups' members state.
    """

    groups: str
    team: str
    alerts: Mapping[str, AlertSeverity] = field(default_factory=dict)
    damping: Mapping[str, Damping] = field(default_factory=dict)
    connectors: Mapping[str, Mapping[str, AlertSeverity]] = field(default_factory=dict)
    session_timeout_ms: int | None = None
    silent_member_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    expects: Expectations = NOTHING_EXPECTED


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """One Kafka cluster as the fold sees it. `damping` by a rule's title or code;
    `client_libraries` by a client id or a pattern of it (shell-style), `own_assignors` by a group id or a pattern: the
    first that fits counts.
    `polled`: its groups are polled, not read (`fold.sampling`).

    How long, by the records' own times: `judge_wait_ms` a generation waits for config records; `status_lag_ms` the
    clock stays ahead before statuses are told (clocks of workers differ, writes are retried); `settle_ms` after a
    record its last word is said; `start_wait_ms` a worker may take to start what it was given.
    More than `restart_loop_changes` changes of one task between FAILED, RESTARTING and RUNNING within `restart_loop_ms`
    are a restart loop (CONNECT-K20). A member that comes back `crash_loop_returns` times within `crash_loop_ms` is in a
    crash loop (GROUP-G5).
    """

    name: str
    polled: bool = False
    connect: Mapping[str, ConnectSettings] = field(default_factory=dict)
    streams: Mapping[str, StreamsSettings] = field(default_factory=dict)
    judge_wait_ms: int = JUDGE_WAIT_MS
    status_lag_ms: int = STATUS_LAG_MS
    settle_ms: int = SETTLE_MS
    start_wait_ms: int = START_WAIT_MS
    restart_loop_changes: int = RESTART_LOOP_CHANGES
    restart_loop_ms: int = RESTART_LOOP_MS
    crash_loop_returns: int = CRASH_LOOP_RETURNS
    crash_loop_ms: int = CRASH_LOOP_MS
    session_timeout_ms: int = SESSION_TIMEOUT_MS
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS
    client_libraries: Mapping[str, ClientLibrary] = field(default_factory=dict)
    own_assignors: Mapping[str, tuple[OwnAssignor, ...]] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()
    damping: Mapping[str, Damping] = field(default_factory=dict)

    def owner_of(self, group: str) -> Owner | None:
        """The first owner whose pattern fits."""
        return next((one for one in self.owners if fnmatchcase(group, one.groups)), None)

    def own_assignor_of(self, group: str) -> tuple[OwnAssignor, ...]:
        """What the group's assignor does on purpose, by the first pattern that fits."""
        return next((meant for pattern, meant in self.own_assignors.items() if fnmatchcase(group, pattern)), ())

    def silent_member_ms_of(self, group: str) -> int | None:
        """How long a silent member of the group counts as there; None where its owner states nothing."""
        owner = self.owner_of(group)
        return None if owner is None else owner.silent_member_ms

    def expects(self, group: str) -> Expectations:
        owner = self.owner_of(group)
        return NOTHING_EXPECTED if owner is None else owner.expects

    def awaits(self, group: str) -> bool:
        """Whether the group is expected to have members by its whole name, so that it must be there."""
        owner = self.owner_of(group)
        return owner is not None and owner.groups == group and owner.expects.members_at_least is not None

    def awaited(self) -> list[str]:
        return [one.groups for one in self.owners if not WILDCARDS & set(one.groups) and self.awaits(one.groups)]

    def team_of(self, group: str) -> str:
        """The owner's team; empty where nobody owns the group."""
        owner = self.owner_of(group)
        return "" if owner is None else owner.team


def teams(clusters: Mapping[str, ClusterSettings]) -> Callable[[str, str], str]:
    """(cluster, group) -> team; empty where nobody owns the group, or nobody knows the cluster."""

    def team_of(cluster: str, group: str) -> str:
        known = clusters.get(cluster)
        return "" if known is None else known.team_of(group)

    return team_of


def expectations(clusters: Mapping[str, ClusterSettings]) -> Callable[[str, str], Expectations]:
    """(cluster, group) -> what is expected and judged; nothing where nobody owns the group. Where groups are polled,
    rebalances are not counted."""

    def expects_of(cluster: str, group: str) -> Expectations:
        known = clusters.get(cluster)
        expects = NOTHING_EXPECTED if known is None else known.expects(group)
        return replace(expects, rebalances_per_hour=None) if known is not None and known.polled else expects

    return expects_of
