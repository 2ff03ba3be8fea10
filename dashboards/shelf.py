"""Every dashboard with its file: what is generated, published, linked and tested."""

from collections.abc import Callable
from typing import Any

from dashboards import places
from dashboards.connect import connect
from dashboards.fleet import fleet
from dashboards.group import group
from dashboards.health import health
from dashboards.places import Place
from dashboards.rebalance import rebalance

SHELF: tuple[tuple[Place, Callable[[], Any]], ...] = (
    (places.FLEET, fleet),
    (places.GROUP, group),
    (places.CONNECT, connect),
    (places.REBALANCE, rebalance),
    (places.HEALTH, health),
)
"""A view of another kind of group (Streams, consumers) is one more line here and one place in `dashboards.places`."""
