"""What is remembered of a Connect group between batches: its configuration, what leaders may know, what waits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.connect.leader.hypotheses import Process
from rebalance_monitor.streaming.core.connect.leader.unseen_leaders import UnseenLeaders
from rebalance_monitor.streaming.core.connect.rules.memory import RuleMemory
from rebalance_monitor.streaming.core.connect.statuses.polled import PolledStatuses
from rebalance_monitor.streaming.core.connect.statuses.timeline import Timeline
from rebalance_monitor.streaming.core.model.codec import KEPT
from rebalance_monitor.streaming.core.model.results import Source
from .config_history import ConfigHistory
from .foreign_workers import ConfigSides
from .moves import DelayWaits
from .observed import ConnectorOrTask, Observed


@dataclass(frozen=True, slots=True)
class Emptied:
    """A Connect group without a worker: since when by the coordinator's clock (`since_ms`), from when on that is timed
    (`at_ms`), the record that says so, and how long that may last. `config_offset` is the one of its last generation,
    below which the config topic must have been read. `historic`: the group was found so in history; the wait begins
    when the monitor reads live."""

    at_ms: int
    source: Source
    generation: int
    patience_ms: int
    since_ms: int
    config_offset: int = 0
    historic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectState:
    """One Connect group.

    `nobody_may_run`: those jobs in `unassigned_since_ms` that no member of the last record may run; `apart_ms`: how
    much longer the time since the last record looks than it surely was, while a record is judged (`passed_time`), and
    `hidden_ms`, how much longer it was than it looks;
    `unseen_leaders`: who may have led in generations that left no record, now or in an earlier life of the group.
    `session_ms` is the longest session time-out of the last generation's members, `emptied` set while the group has
    none (`workers_gone`).
    `polled` stands for the timeline where the group is polled.
    """

    last: Observed | None = field(default=None, metadata=KEPT)
    history: ConfigHistory = field(default_factory=ConfigHistory, metadata=KEPT)
    eras: tuple[str, ...] = ()
    processes: Mapping[str, Process] = field(default_factory=dict, metadata=KEPT)
    unassigned_since_ms: Mapping[str, int] = field(default_factory=dict)
    nobody_may_run: frozenset[str] = frozenset()
    patience_ms: int = 0
    timeouts_ms: int = 0
    rule_memory: RuleMemory = field(default_factory=RuleMemory)
    declared: Mapping[str, frozenset[ConnectorOrTask]] = field(default_factory=dict)
    apart_ms: int = 0
    hidden_ms: int = 0
    unseen_leaders: UnseenLeaders = field(default_factory=UnseenLeaders)
    sides: ConfigSides = field(default_factory=ConfigSides)
    timeline: Timeline = field(default_factory=Timeline)
    waits: DelayWaits = field(default_factory=DelayWaits)
    session_ms: int = 0
    emptied: Emptied | None = None
    polled: PolledStatuses | None = None
