"""Every dashboard with its file: what is generated, published, linked and tested."""

from collections.abc import Callable
from typing import Any

from rebalance_monitor.dashboards import places
from rebalance_monitor.dashboards.connect import connect
from rebalance_monitor.dashboards.fleet import fleet
from rebalance_monitor.dashboards.group import group
from rebalance_monitor.dashboards.health import health
from rebalance_monitor.dashboards.places import DashboardPlace
from rebalance_monitor.dashboards.rebalance import rebalance
from rebalance_monitor.dashboards.streams import streams

SHELF: tuple[tuple[DashboardPlace, Callable[[], Any]], ...] = (
    (places.FLEET, fleet),
    (places.GROUP, group),
    (places.CONNECT, connect),
    (places.STREAMS, streams),
    (places.REBALANCE, rebalance),
    (places.HEALTH, health),
)
"""A view of another kind of group (consumers) is one more line here and one place in `dashboards.places`."""
