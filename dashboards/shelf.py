"""Every dashboard with its file: what is generated, published, linked and tested."""

from collections.abc import Callable
from typing import Any

from . import places
from .connect import connect
from .fleet import fleet
from .group import group
from .health import health
from .lag_of_groups import lag_of_groups
from .places import DashboardPlace
from .rebalance import rebalance
from .streams import streams

SHELF: tuple[tuple[DashboardPlace, Callable[[], Any]], ...] = (
    (places.FLEET, fleet),
    (places.GROUP, group),
    (places.CONNECT, connect),
    (places.STREAMS, streams),
    (places.REBALANCE, rebalance),
    (places.LAG, lag_of_groups),
    (places.HEALTH, health),
)
"""A view of another kind of group (consumers) is one more line here and one place in `dashboards.places`."""
