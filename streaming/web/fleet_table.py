"""The fleet as a table that is filtered and sorted by the address, so it needs no script. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, NamedTuple

from rebalance_monitor.streaming.core.model.lags import TRENDS
from .fleet import STATES, GroupState
from .parameters import BadRequest, address
from .rows import GroupName, GroupRow

GROUPS_ON_A_PAGE = 100
LONGEST_TEXT = 200
KINDS = {
    "connect": "Connect",
    "consumer": "consumer, classic",
    "consumer_kip848": "consumer, KIP-848",
    "streams": "Streams, classic",
    "streams_kip1071": "Streams, KIP-1071",
    "share": "share",
    "other": "another protocol",
    "unknown": "not known",
}
_OF_TARGETS = {"consumer": "consumer_kip848", "streams": "streams_kip1071", "share": "share"}
_GRADES = ("unexplained", "not_judged", "explainable", "match")


def kind_of_group(row: GroupRow) -> str:
    """A name of KINDS, by the latest generation."""
    if row.lifecycle is None or row.generation is None:
        return "unknown"
    if row.lifecycle != "classic":
        return _OF_TARGETS.get(row.lifecycle, "other")
    if row.protocol_type == "connect":
        return "connect"
    if row.protocol_type == "consumer":
        return "streams" if row.protocol == "stream" else "consumer"
    return "other"


class FleetLine(NamedTuple):
    """A group with what the table adds to it: `rebalances` are those of the last hour."""

    one: GroupState
    kind: str
    rebalances: int


@dataclass(frozen=True, slots=True)
class FleetColumn:
    """`key`: what is compared, None where it is not known: that comes last either way. `largest`: the largest comes
    first."""

    name: str
    title: str
    key: Callable[[FleetLine], Any]
    largest: bool = False


COLUMNS = (
    FleetColumn("state", "State", lambda line: [*STATES].index(line.one.state)),
    FleetColumn("group", "Group", lambda line: line.one.row.group.lower()),
    FleetColumn("cluster", "Cluster", lambda line: line.one.row.cluster.lower()),
    FleetColumn("kind", "Kind", lambda line: [*KINDS].index(line.kind)),
    FleetColumn("members", "Members", lambda line: line.one.row.members, largest=True),
    FleetColumn("unassigned", "Unassigned", lambda line: line.one.row.unassigned, largest=True),
    FleetColumn("lag", "Lag", lambda line: line.one.row.lag, largest=True),
    FleetColumn("behind", "Behind", lambda line: line.one.row.lag_ms, largest=True),
    FleetColumn("trend", "Trend", lambda line: TRENDS.index(line.one.row.trend) if line.one.row.trend else None, True),
    FleetColumn("rebalances", "Rebalances, 1\u00a0h", lambda line: line.rebalances, largest=True),
    FleetColumn("incidents", "Incidents", lambda line: len(line.one.incidents), largest=True),
    FleetColumn(
        "verdict", "Last verdict", lambda line: _GRADES.index(line.one.row.grade) if line.one.row.grade else None
    ),
    FleetColumn("last", "Last rebalance", lambda line: line.one.row.at_ms, largest=True),
)
_BY_NAME = {one.name: one for one in COLUMNS}


class FleetHeading(NamedTuple):
    """A column's title, the address that sorts by it, and how it is sorted now: ascending, descending or ""."""

    column: FleetColumn
    href: str
    sorted: str


@dataclass(frozen=True, slots=True)
class FleetQuery:
    """What the address asks for. `sort`: a column's name, behind a - for the other direction; "": the worst first."""

    q: str = ""
    cluster: str = ""
    kind: str = ""
    team: str = ""
    sort: str = ""
    page: int = 1

    def address(self, **other: Any) -> str:
        """This with other values; what is usual is not named."""
        asked = replace(self, **{"page": 1, **other})
        given = {name: getattr(asked, name) for name in ("q", "cluster", "kind", "team", "sort")}
        named = {name: value for name, value in given.items() if value}
        if asked.page > 1:
            named["page"] = f"{asked.page}"
        return address("./", named) if named else "./"

    @property
    def filtered(self) -> bool:
        return bool(self.q or self.cluster or self.kind or self.team)

    @property
    def reversed(self) -> bool:
        """In the direction that is not the column's own."""
        return self.sort.startswith("-")

    @property
    def column(self) -> FleetColumn | None:
        """By which it is sorted; None: as people look."""
        return _BY_NAME.get(self.sort.removeprefix("-"))

    def headings(self) -> list[FleetHeading]:
        """A column that is sorted by is sorted the other way by its title."""
        found = []
        for one in COLUMNS:
            now, sort = "", one.name
            if one is self.column:
                now = "descending" if one.largest != self.reversed else "ascending"
                sort = one.name if self.reversed else f"-{one.name}"
            found.append(FleetHeading(one, self.address(sort=sort), now))
        return found


def fleet_query(given: Mapping[str, str]) -> FleetQuery:
    """Raises BadRequest where it names no column or no kind. A page that is no number is the first."""
    page = given.get("page", "1")
    number = int(page) if page.isascii() and page.isdecimal() and len(page) < 7 else 1
    texts = {name: given.get(name, "")[:LONGEST_TEXT] for name in ("q", "cluster", "kind", "team", "sort")}
    if texts["sort"] and texts["sort"].removeprefix("-") not in _BY_NAME:
        raise BadRequest(f"the fleet is sorted by one of {', '.join(_BY_NAME)}; correct `sort` in the address")
    if texts["kind"] and texts["kind"] not in KINDS:
        raise BadRequest(f"a group's kind is one of {', '.join(KINDS)}; correct `kind` in the address")
    return FleetQuery(**texts, page=max(1, number))


@dataclass(frozen=True, slots=True)
class FleetTable:
    """One page of it. The choices are of all groups: what there is to filter by."""

    lines: Sequence[FleetLine]
    found: int
    page: int
    pages: int
    clusters: tuple[str, ...]
    kinds: tuple[str, ...]
    teams: tuple[str, ...]


def fleet_table(groups: Iterable[GroupState], rebalances: Mapping[GroupName, int], query: FleetQuery) -> FleetTable:
    """`groups` as people look at them, the worst first; equal ones keep this order."""
    every = [FleetLine(one, kind_of_group(one.row), rebalances.get(one.row.key, 0)) for one in groups]
    lines = [line for line in every if _fits(line, query)]
    column = query.column
    if column is not None:
        known = [line for line in lines if column.key(line) is not None]
        unknown = [line for line in lines if column.key(line) is None]
        lines = sorted(known, key=column.key, reverse=column.largest != query.reversed) + unknown
    pages = max(1, ceil(len(lines) / GROUPS_ON_A_PAGE))
    page = min(query.page, pages)
    return FleetTable(
        lines[(page - 1) * GROUPS_ON_A_PAGE : page * GROUPS_ON_A_PAGE],
        len(lines),
        page,
        pages,
        tuple(sorted({line.one.row.cluster for line in every})),
        tuple(kind for kind in KINDS if any(line.kind == kind for line in every)),
        tuple(sorted({line.one.team for line in every} - {""})),
    )


def _fits(line: FleetLine, query: FleetQuery) -> bool:
    return (
        query.q.lower() in line.one.row.group.lower()
        and query.cluster in ("", line.one.row.cluster)
        and query.kind in ("", line.kind)
        and query.team in ("", line.one.team)
    )
