"""What is known of one group for /metrics, whether it has series of its own or not."""

from collections import Counter
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.model.subjects import Subject
from rebalance_monitor.streaming.core.streams.words import NO_TASKS, TaskCounts
from rebalance_monitor.streaming.store.loads import Load
from rebalance_monitor.streaming.store.stored import LastGeneration
from rebalance_monitor.streaming.store.text import name
from .families import GroupLabels

STABLE = "Stable"
STATES = (STABLE, "Empty", "Dead")
EPOCH_STATES = ("Assigning", "Reconciling")
"""States that only KIP-848 and Streams groups show in their records; both have members."""
STREAMS_STATES = ("NotReady",)
"""A Streams group of KIP-1071 whose topics are not all there; it has members."""


@dataclass(slots=True)
class KnownGroup:
    """One group. `left`: workers that are no longer in it, since when; `epochs`: it is known to be a KIP-848 or Streams
    group; `streams`: it is known to be the latter. `counts`: tasks of its latest generation, where that is one of a
    Streams group; `tasks_shown`: they have series."""

    ignored: bool
    last: LastGeneration | None = None
    state: str | None = None
    at_ms: int = 0
    incidents: int = 0
    dead_since_s: float | None = None
    workers: dict[str, Load] = field(default_factory=dict)
    left: dict[str, float] = field(default_factory=dict)
    jobs: dict[Subject, str] = field(default_factory=dict)
    agreements: Counter[str] = field(default_factory=Counter)
    words: dict[Subject, str] = field(default_factory=dict)
    states: Counter[str] = field(default_factory=Counter)
    epochs: bool = False
    streams: bool = False
    counts: TaskCounts | None = None
    tasks_shown: bool = False

    def dead_before(self, moment_s: float) -> bool:
        """Whether nothing is to be told of it any more."""
        return self.dead_since_s is not None and self.dead_since_s < moment_s and not self.incidents

    def is_newer(self, generation: LastGeneration) -> bool:
        """Whether this generation comes after the latest one known; the same one told again does not."""
        return self.last is None or self.last[:2] < generation[:2]

    @property
    def deserted(self) -> bool:
        """Whether its latest record shows that nobody is in it: its last generation then says nothing of now."""
        return self.state is not None and self.state not in (STABLE, *EPOCH_STATES, *STREAMS_STATES)

    @property
    def possible_states(self) -> tuple[str, ...]:
        """The states that a group of its kind may show, as far as it has shown its kind."""
        more = STREAMS_STATES if self.streams else ()
        return (*STATES, *EPOCH_STATES, *more) if self.epochs else STATES

    def stands(self, state: str) -> None:
        self.state = state
        self.streams |= state in STREAMS_STATES
        self.epochs |= self.streams or state in EPOCH_STATES

    @property
    def members(self) -> int:
        return 0 if self.deserted or self.last is None else self.last.members

    @property
    def unassigned(self) -> int | None:
        """Configured jobs in nobody's hands; None while the latest generation is not judged."""
        if self.deserted:
            return len(self.jobs)
        return None if self.last is None else self.last.unassigned

    @property
    def tasks(self) -> TaskCounts | None:
        """Streams tasks as they are now; None for a group that is not known to be one of Streams."""
        return NO_TASKS if self.counts is not None and self.deserted else self.counts

    @property
    def delay_end_ms(self) -> int:
        """Until when jobs are held back; 0 when nothing is."""
        if self.deserted or self.last is None or not self.last.delay_ms:
            return 0
        return self.last.at_ms + self.last.delay_ms

    @property
    def rank(self) -> int:
        """Who keeps a place when places are few."""
        if self.incidents:
            return 3
        return {"Empty": 1, "Dead": 0}.get(self.state or "", 2)


def key_of(cluster: str, group: str) -> GroupLabels:
    """The group as labels name it, before and after a restart."""
    return cluster, name(group)
