"""The lifecycles that the monitor knows. A new one is a package and an entry here."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from rebalance_monitor.streaming.core.clocks.others import OtherClocks
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.connect.lifecycle import ConnectLifecycle
from rebalance_monitor.streaming.core.connect.rules.catalogue_status import RUNNING_TWICE
from rebalance_monitor.streaming.core.connect.rules.sinks import consumed_twice
from rebalance_monitor.streaming.core.consumer.laws import ConsumerLaw
from rebalance_monitor.streaming.core.consumer.lifecycle import ConsumerLifecycle
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.registry import Registry
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.streams.lifecycle import StreamsLifecycle
from rebalance_monitor.streaming.core.streams.plug_ins import NO_PLUG_INS, PlugIns
from rebalance_monitor.streaming.core.targets.counted import CountedLifecycle
from rebalance_monitor.streaming.core.targets.lifecycle import TargetsLifecycle
from .fold import fold, isolation, routing
from .reading import decoding
from .targets import kinds


class FoldGroup(Protocol):
    """`fold_group`, or what stands in its place."""

    def __call__(
        self,
        settings: ClusterSettings,
        group: str,
        state: Saved | None,
        rows: Sequence[Row],
        tick: Tick | None,
        *,
        knowledge: Knowledge = ...,
        end_of_input: bool = False,
        witnesses: OtherClocks | None = None,
        before_record: Callable[[Row], None] = ...,
    ) -> FoldOutcome:
        """Fold these rows, then the tick."""


def registry(plug_ins: PlugIns = NO_PLUG_INS) -> Registry:
    """All lifecycles. `plug_ins` run the task assignors of the user's own."""
    return Registry(
        (
            ConnectLifecycle(),
            StreamsLifecycle(plug_ins),
            ConsumerLifecycle(laws=(ConsumerLaw(RUNNING_TWICE, consumed_twice),)),  # a sink's tasks are consumers
            *(TargetsLifecycle(kind) for kind in (kinds.SHARE, kinds.CONSUMER, kinds.STREAMS)),
            CountedLifecycle(),
        )
    )


REGISTRY = registry()

FORMATS = tuple(one.members for one in REGISTRY.lifecycles if one.members is not None)
"""How members' bytes are read, for each protocol type that is."""
decode_offsets_record = partial(decoding.decode_offsets_record, blobs=REGISTRY.blobs)
fold_group: FoldGroup = partial(fold.fold_group, REGISTRY)
"""The fold that runs no plug-ins."""
failed = partial(isolation.failed, REGISTRY)
route = partial(routing.route, REGISTRY)
groups_concerned = partial(routing.groups_concerned, REGISTRY)
