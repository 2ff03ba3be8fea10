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
LAG = DashboardPlace(uid="rebalance-monitor-lag", title="Rebalances: lag", file="lag.json")
HEALTH = DashboardPlace(uid="rebalance-monitor-health", title="Rebalances: the monitor itself", file="health.json")

PLACES = (FLEET, GROUP, CONNECT, STREAMS, REBALANCE, LAG, HEALTH)

SOURCES = ("prometheus", "postgres")
"""The variables that every dashboard has: its data sources."""
FIRST_CHOSEN = "first"
"""A hidden variable where several clusters can be chosen: the first of them."""
_SOURCES = "&".join(f"${{{name}:queryparam}}" for name in SOURCES)


def navigation(here: DashboardPlace, there: DashboardPlace) -> tuple[str, bool]:
    """The address by which one dashboard leads to another, and whether Grafana adds all variables to it.

    Several chosen clusters mean nothing to a dashboard that shows one group: it is given the first of them.
    """
    if here.one_group or not there.one_group:
        return f"/d/{there.uid}", True
    return f"/d/{there.uid}?var-cluster=${{{FIRST_CHOSEN}:percentencode}}&{_SOURCES}", False


def group_address() -> str:
    """Of the group that the row names."""
    return _of_row(GROUP, "var-cluster=${__data.fields.cluster}&var-group=${__data.fields.group}")


def rebalance_address() -> str:
    """Of the rebalance that the row names, in a table of one group: cluster and group are the dashboard's own."""
    mine = "${cluster:queryparam}&${group:queryparam}"
    return _of_row(REBALANCE, f"{mine}&var-rebalance=${{__data.fields.rebalance}}")


def _of_row(place: DashboardPlace, variables: str) -> str:
    return f"/d/{place.uid}?{variables}&{_SOURCES}&${{__url_time_range}}"
