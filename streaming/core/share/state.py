"""What is remembered of a share group between batches."""

from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.targets.state import TargetsState


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareState(TargetsState):
    """What all such groups have, of a share group."""

    view: ShareGroup = field(default_factory=ShareGroup)
