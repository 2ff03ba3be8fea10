"""The fold that runs the plug-ins of the configuration."""

from functools import cache, partial
from typing import Any

from rebalance_monitor.streaming.core.fold import fold
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.lifecycles import FoldGroup, registry
from rebalance_monitor.streaming.core.streams.plug_ins import PlugIns


class _FoldWith:
    """`fold_group` with these plug-ins. Sent to another process, it is made there, once."""

    def __init__(self, plug_ins: PlugIns) -> None:
        self._plug_ins, self._fold = plug_ins, partial(fold.fold_group, registry(plug_ins))

    def __call__(self, *given: Any, **named: Any) -> FoldOutcome:
        return self._fold(*given, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return fold_with, (self._plug_ins,)


@cache
def fold_with(plug_ins: PlugIns) -> FoldGroup:
    return _FoldWith(plug_ins)
