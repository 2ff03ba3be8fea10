"""What the fold must be told of a Kafka Streams application; no record holds it."""

from dataclasses import dataclass, field
from typing import TypeAlias

HIGH_AVAILABILITY, LEGACY_STICKY, PUBLIC_STICKY = "high_availability", "legacy_sticky", "sticky_924"
"""Kafka's own assignors, as `assignor` names them."""


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

    `release` is that of the leader's Kafka Streams; `assignor` one of Kafka's own (`high_availability`,
    `legacy_sticky`, `sticky_924`) or the name of a class: one of Kafka's, or one that this version does not run;
    `plug_in` is run in place of such a class. The others are the leader's configuration:
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
