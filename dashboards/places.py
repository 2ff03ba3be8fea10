"""The dashboards there are: names, files, and the addresses by which they lead to each other.

A kind of group that has a view of its own (`kind`: Connect, Streams) is one entry here and one in
`dashboards.shelf`; links and navigation follow.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardPlace:
    """One dashboard. `one_group`: it shows a single group and so can be asked for it."""

    uid: str
    title: str
    file: str
    one_group: bool = False
    kind: str = ""


FLEET = DashboardPlace(uid="rebalance-monitor-fleet", title="Rebalances: fleet", file="fleet.json")
GROUP = DashboardPlace(uid="rebalance-monitor-group", title="Rebalances: one group", file="group.json", one_group=True)
CONNECT = DashboardPlace(
    uid="rebalance-monitor-connect", title="Rebalances: one Connect cluster", file="connect.json", one_group=True,
    kind="connect",
)  # fmt: skip
STREAMS = DashboardPlace(
    uid="rebalance-monitor-streams", title="Rebalances: one Streams application", file="streams.json", one_group=True,
    kind="streams",
)  # fmt: skip
REBALANCE = DashboardPlace(
    uid="rebalance-monitor-rebalance", title="Rebalances: one rebalance", file="rebalance.json", one_group=True
)
HEALTH = DashboardPlace(uid="rebalance-monitor-health", title="Rebalances: the monitor itself", file="health.json")

PLACES = (FLEET, GROUP, CONNECT, STREAMS, REBALANCE, HEALTH)


def address(place: DashboardPlace, *columns: str) -> str:
    """Of a dashboard, with variables from the columns of the row that was clicked."""
    given = "&".join(f"var-{column}=${{__data.fields.{column}}}" for column in columns)
    return f"/d/{place.uid}?{given}" if given else f"/d/{place.uid}"


def group_address() -> str:
    """Of the group that the row names."""
    return address(GROUP, "cluster", "group")


def rebalance_address() -> str:
    """Of the rebalance that the row names, in a table of one group: cluster and group are the dashboard's own."""
    mine = "var-cluster=${cluster}&var-group=${group}"
    return f"/d/{REBALANCE.uid}?{mine}&var-rebalance=${{__data.fields.rebalance}}&${{__url_time_range}}"
