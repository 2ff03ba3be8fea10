"""What no record of a simulated Streams application holds: its topology, the leader's release and settings, racks."""

from dataclasses import dataclass, field

from rebalance_monitor.assignors.streams.application import RackStrategy
from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.leader import MakeAssignor
from rebalance_monitor.streaming.core.model.settings import PlugIn, StreamsSettings

Replicas = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One sub-topology of an application with one source topic."""

    number: int
    topic: str
    tasks: int
    stateful: bool = False
    application: str = "g"

    @property
    def changelog(self) -> str:
        return f"{self.application}-store{self.number}-changelog"

    @property
    def logs(self) -> tuple[str, ...]:
        return (self.changelog,) if self.stateful else ()

    @property
    def stores(self) -> frozenset[str]:
        return frozenset({f"store{self.number}"}) if self.stateful else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What no record holds."""

    parts: tuple[Part, ...]
    release: str = "4.3.1"
    assignor: BuiltIn | MakeAssignor = BuiltIn.HIGH_AVAILABILITY
    standbys: int = 0
    warm_ups: int = 2
    acceptable_lag: int = 100
    strategy: RackStrategy = RackStrategy.NONE
    tags: tuple[str, ...] = ()
    racks: dict[str, tuple[Replicas, ...]] = field(default_factory=dict)

    def known(self) -> StreamsSettings:
        """Everything but the topology, as the monitor may be told it."""
        return StreamsSettings(
            release=self.release,
            assignor=self.assignor.value if isinstance(self.assignor, BuiltIn) else None,
            plug_in=None if isinstance(self.assignor, BuiltIn) else PlugIn(name="own:Assignor"),
            standbys=self.standbys,
            warm_ups=self.warm_ups,
            acceptable_lag=self.acceptable_lag,
            rack_strategy=self.strategy.value,
            rack_traffic_cost=1 if self.assignor is BuiltIn.LEGACY_STICKY else 10,
            rack_non_overlap_cost=10 if self.assignor is BuiltIn.LEGACY_STICKY else 1,
            rack_tags=self.tags,
        )
