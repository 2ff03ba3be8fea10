"""The fold that runs the plug-ins of the configuration."""

from functools import partial

from rebalance_monitor.streaming.core.fold import fold
from rebalance_monitor.streaming.core.lifecycles import registry
from rebalance_monitor.streaming.core.streams.plug_ins import PlugIns
from rebalance_monitor.streaming.guarding.fold import FoldGroup


def fold_with(plug_ins: PlugIns) -> FoldGroup:
    """`fold_group` with these plug-ins."""
    return partial(fold.fold_group, registry(plug_ins))
