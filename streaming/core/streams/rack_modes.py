"""Which rack strategies a Streams leader may have followed, with which racks, and what is not known of that.

A leader whose members all state their racks may look at the racks of replicas (KIP-925). Its strategy and its costs are
settings; the racks are those of samples (`replica_racks`). Where one of them is not known, each possible one is tried:

    strategy not known       as without a strategy first, which is the default; then each strategy with each content
    strategy known           with each content first; then as without one: a leader that does not know every rack
    no sample, or too large  as without a strategy alone, and nothing that differs from it is called wrong

The search for the cheapest placement costs many times more than the rest of the leader's work.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rebalance_monitor.assignors.streams.application import AssignmentConfigs, RackStrategy
from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.eras import era_of
from rebalance_monitor.assignors.streams.tasks import Release
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from .observed import ObservedRecord
from .replica_racks import RackView

TAGS = "rack.aware.assignment.tags"
STRATEGY = "rack.aware.assignment.strategy"
COSTS = {
    "rack_traffic_cost": "rack.aware.assignment.traffic_cost",
    "rack_non_overlap_cost": "rack.aware.assignment.non_overlap_cost",
}
"""Fields of StreamsSettings, with Kafka's names."""
WEIGHT = {RackStrategy.NONE: 1, RackStrategy.MIN_TRAFFIC: 5, RackStrategy.BALANCE_SUBTOPOLOGY: 20}
"""How many times as much as without a strategy one run is taken to cost."""
MOST_CELLS = 15_000
"""Tasks times processes times weight: in a larger group a strategy is not tried."""
_LARGE = "the search for the cheapest placement by racks is too long in so large a group"


@dataclass(frozen=True, slots=True)
class RackMode:
    """One way to look at racks: the strategy, and what the leader knows of replicas."""

    strategy: RackStrategy = RackStrategy.NONE
    racks: RackView | None = None


PLAIN = RackMode()
"""As without a strategy."""


def tried(settings: StreamsSettings, record: ObservedRecord) -> list[list[RackMode]]:
    """The modes by their rank: those of a later list are tried if none of an earlier one gives the record's answer."""
    modes = [
        RackMode(strategy, view)
        for strategy in _strategies(settings)
        if _affordable(strategy, record)
        for view in record.racks.views
    ]
    if not _count(settings, record) or not modes:
        return [[PLAIN]]
    return [[PLAIN], modes] if settings.rack_strategy is None else [modes, [PLAIN]]


def shown_to_plug_in(settings: StreamsSettings, record: ObservedRecord) -> list[RackMode]:
    """What an application's own assignor may be shown, the likeliest first: the racks that samples tell, then none at
    all, under each strategy that is possible."""
    strategies = tuple(RackStrategy) if settings.rack_strategy is None else _strategies(settings)
    return [RackMode(strategy, view) for view in (*record.racks.views, None) for strategy in strategies]


def weight(modes: Iterable[RackMode]) -> int:
    """What one run costs at most."""
    return max(WEIGHT[mode.strategy] for mode in modes)


def missing(settings: StreamsSettings, record: ObservedRecord, releases: Sequence[Release]) -> Reason | None:
    """Why not everything was tried that a leader may have done with racks; None where everything was."""
    if not _count(settings, record) or not any(era_of(release).racks for release in releases):
        return None
    why = record.racks.why(with_changelogs=settings.standbys != 0)
    if why:
        return Reason(ReasonKind.UNKNOWN_RACKS, why)
    if not all(_affordable(strategy, record) for strategy in _strategies(settings)):
        return Reason(ReasonKind.TOO_MANY_POSSIBILITIES, _LARGE)
    costs = _unknown_costs(settings)
    if costs:
        text = f"no value that was tried gives this answer; not known: {', '.join(costs)}"
        return Reason(ReasonKind.UNKNOWN_SETTINGS, text)
    return None


def rests_on(
    settings: StreamsSettings, record: ObservedRecord, release: Release, assignor: object, configs: AssignmentConfigs
) -> Reason | None:
    """On what of racks this answer rests that is not known; None where it follows from what is known."""
    if not _count(settings, record) or not era_of(release).racks or len(record.processes()) == 1:
        return None
    strategy = configs.rack_aware_assignment_strategy
    if settings.rack_strategy is None:
        text = f"settings that are not known give this answer with these values: {STRATEGY} {strategy.value}"
        return Reason(ReasonKind.UNKNOWN_SETTINGS, text)
    why = record.racks.why(with_changelogs=configs.num_standby_replicas > 0)
    if strategy is RackStrategy.NONE:
        text = "this is the answer of a leader that does not know the rack of every replica"
        if not _affordable(RackStrategy(settings.rack_strategy), record):
            why = _LARGE
        return Reason(ReasonKind.UNKNOWN_RACKS, f"{text}; {why}" if why else text)
    if why:
        return Reason(ReasonKind.UNKNOWN_RACKS, f"with the racks that samples tell it is this answer; {why}")
    costs = _unknown_costs(settings)
    if costs and (configs.num_standby_replicas > 0 or assignor is not BuiltIn.PUBLIC_STICKY):
        listed = ", ".join(f"{name} as by default" for name in costs)
        text = f"settings that are not known give this answer with these values: {listed}"
        return Reason(ReasonKind.UNKNOWN_SETTINGS, text)
    return None


def _count(settings: StreamsSettings, record: ObservedRecord) -> bool:
    """Whether racks may count: every member states its rack, a strategy may be configured, and brokers may have
    racks."""
    if settings.rack_strategy == RackStrategy.NONE.value or not all(thread.wanted.rack for thread in record.threads):
        return False
    with_state = [part.key for part in record.seen if part.stateful]
    with_changelogs = settings.standbys is not None and settings.standbys > 0
    known = not record.racks.why(with_changelogs=with_changelogs)
    return not known or any(view.complete(with_state, with_changelogs=with_changelogs) for view in record.racks.views)


def _strategies(settings: StreamsSettings) -> tuple[RackStrategy, ...]:
    if settings.rack_strategy is not None:
        return (RackStrategy(settings.rack_strategy),)
    return RackStrategy.MIN_TRAFFIC, RackStrategy.BALANCE_SUBTOPOLOGY


def _affordable(strategy: RackStrategy, record: ObservedRecord) -> bool:
    return len(record.tasks) * len(record.processes()) * WEIGHT[strategy] <= MOST_CELLS


def _unknown_costs(settings: StreamsSettings) -> list[str]:
    return [name for field, name in COSTS.items() if getattr(settings, field) is None]
