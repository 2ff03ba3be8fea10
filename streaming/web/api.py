"""The answers of the JSON API: one function for each declared route, from checked parameters to a plain object.

A group outside the scope is answered like one that does not exist.
"""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rebalance_monitor.streaming.core.columns import date_of
from rebalance_monitor.streaming.core.costs import CostQuestion, CostSums, answer, by_of
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import GapRecord
from . import fleet, queries
from .advice import USUAL_ADVICE_MS, RecentAdvice, usual_advice_object
from .attention import Attention, LastsMs, by_the_catalogue, incident_object, storms
from .contract import MOST_LINES
from .expected import ExpectsOf, expects_nothing
from .lanes_read import history_object, read_history
from .openapi import document
from .parameters import BadRequest, cursor, place
from .reader import Reader
from .rows import NOBODY, GapRow, GroupName, IncidentRow, ListPage, SummaryRow
from .scope import EVERYTHING, Scope, TeamOf, visible
from .statements import Unavailable
from .upstream import StreamingJob
from .why import USUAL_AT_ONCE_MS, USUAL_WHY_MS, RecentEvents, at_once_object, why_object
from .window import bounded

MOST_READ = 200_000
"""Sums that are put together for one answer about costs by team: a team's are those of its groups. Without teams each
sum is a line."""
GAPS_OF_A_GROUP = 20
"""So many stand on a group's page; the API lists all."""

Object = dict[str, Any]
Values = dict[str, Any]


class NotFound(Exception):
    """Nothing there, or nothing there for this scope; one sentence."""


def now_ms() -> int:
    return int(time.time() * 1000)


@dataclass(frozen=True, slots=True)
class PageSource:
    """What answers are made of."""

    reader: Reader
    job: StreamingJob
    team_of: TeamOf
    windows: Sequence[Maintenance] = ()
    version: str = ""
    clock_ms: Callable[[], int] = now_ms
    topics_of: Callable[[GroupName], Collection[str]] = lambda _: ()
    lasts_ms: LastsMs = by_the_catalogue
    expects_of: ExpectsOf = expects_nothing
    recent: RecentEvents = field(default_factory=RecentEvents)
    recent_advice: RecentAdvice = field(default_factory=RecentAdvice)

    def gaps(self, key: GroupName) -> list[GapRow]:
        """The last gaps of this group's records and topics, acknowledged ones too."""
        return self.reader.gaps({"cluster": key[0]}, "all", self.concerned([key]), GAPS_OF_A_GROUP).items

    def concerned(self, keys: Sequence[GroupName]) -> dict[GroupName, Collection[str]]:
        """Each group with its topics: gaps in them concern it."""
        return {key: self.topics_of(key) for key in keys}

    def only(self, scope: Scope) -> list[GroupName] | None:
        """The groups that this scope shows; None for all."""
        return None if scope.everything else visible(scope, self.team_of, self.reader.names())

    def all_windows(self) -> list[Maintenance]:
        """Windows of the configuration and of the command line."""
        return [*self.windows, *self.reader.windows()]

    def shown(self, scope: Scope) -> fleet.Fleet:
        """Groups and open incidents that this scope shows."""
        only = self.only(scope)
        rows, incidents = self.reader.groups(only), self.reader.open_incidents(only)
        return fleet.fleet(rows, incidents, self.attention(incidents), self.team_of, self.expects_of)

    def group(self, scope: Scope, key: GroupName) -> fleet.GroupState:
        """One group as it stands; NotFound."""
        row = self.reader.group(key) if scope.sees(key[0], self.team_of(*key)) else None
        if row is None:
            raise NotFound("no such group is known")
        incidents = self.reader.open_incidents([key])
        attention, team = self.attention(incidents), self.team_of(*key)
        told = [attention.of(one) for one in incidents]
        return fleet.group_state(row, told, team, attention.now_ms, self.expects_of(*key))

    def attention(self, incidents: Iterable[IncidentRow]) -> Attention:
        """What decides now whether people hear of incidents. `incidents`: the open ones of the groups in question."""
        rows = [*incidents]
        progress = self.reader.progress_of({row.key for row in rows if not row.over}) if rows else {}
        return Attention(self.all_windows(), self.clock_ms(), storms(rows), self.lasts_ms, progress)


def groups(source: PageSource, scope: Scope, values: Values) -> Object:
    after = place(values.get("cursor"), (str, str))
    wanted, sought = values.get("cluster"), values.get("q", "").lower()
    known = [
        group
        for group in source.shown(scope).groups
        if (wanted is None or group.row.cluster == wanted)
        and sought in group.row.group.lower()
        and (after is None or group.row.key > (after[0], after[1]))
    ]
    known.sort(key=lambda one: one.row.key)
    limit = values["limit"]
    more = list(known[limit - 1].row.key) if len(known) > limit else None
    return {"items": [fleet.group_object(one) for one in known[:limit]], "next": cursor(more)}


def group(source: PageSource, scope: Scope, values: Values) -> Object:
    key = values["cluster"], values["group"]
    state = source.group(scope, key)
    latest = source.reader.generations({"cluster": key[0], "group": key[1]}, None, 1)
    return {
        "group": fleet.group_object(state),
        "generation": latest.items[0].document if latest.items else None,
        "incidents": [incident_object(told) for told in state.incidents],
        "progress": source.reader.progress(key),
    }


def generations(source: PageSource, scope: Scope, values: Values) -> Object:
    after = place(values.get("cursor"), queries.GENERATIONS.place)
    where = _where(values, "cluster", "group", "grade", "since_ms", "until_ms")
    page = source.reader.generations(where, source.only(scope), values["limit"], after)
    cut_ms = source.reader.cut_before_ms()
    return _listed(page, lambda row: row.document) | ({} if cut_ms is None else {"cut_before_ms": cut_ms})


def why(source: PageSource, scope: Scope, values: Values) -> Object:
    key = values["cluster"], values["group"]
    source.group(scope, key)
    since_ms, until_ms = _span(source, values, USUAL_WHY_MS)
    return why_object(source.reader, key, since_ms, until_ms)


def advice(source: PageSource, scope: Scope, values: Values) -> Object:
    key = values["cluster"], values["group"]
    state = source.group(scope, key)
    since_ms, until_ms = _span(source, values, USUAL_ADVICE_MS)
    there = "until_ms" in values or state.row.status not in NOBODY
    return usual_advice_object(source.reader, key, since_ms, until_ms, there=there)


def _span(source: PageSource, values: Values, usual_ms: int) -> tuple[int, int]:
    until_ms = values.get("until_ms", source.clock_ms())
    return values.get("since_ms", max(until_ms - usual_ms, 0)), until_ms


def at_once(source: PageSource, scope: Scope, values: Values) -> Object:
    since_ms, until_ms = _span(source, values, USUAL_AT_ONCE_MS)
    return at_once_object(source.reader, source.only(scope), since_ms, until_ms, values.get("cluster"))


def summaries(source: PageSource, scope: Scope, values: Values) -> Object:
    after = place(values.get("cursor"), queries.SUMMARIES.place)
    where = _where(values, "cluster", "group", "kind")
    return _listed(source.reader.summaries(where, source.only(scope), values["limit"], after), _summary)


def costs(source: PageSource, scope: Scope, values: Values) -> Object:
    try:
        by = by_of(values["by"])
    except ValueError as why:
        raise BadRequest(str(why)) from None
    question = CostQuestion(**{**values, "by": by})
    most, what = (MOST_READ, "takes more than {} sums") if "team" in by else (MOST_LINES, "gives more than {} lines")
    entries, total = source.reader.costs(question, source.only(scope), most + 1), None
    if "connector" in by:
        total = next((one.sums for one in entries if not one.words), CostSums(0))
        entries = [one for one in entries if one.words]
    if len(entries) > most:
        raise BadRequest(_too_much(by, what.format(most)))
    told = answer(entries, question, source.team_of, source.reader.being_cut(), total)
    if len(told["lines"]) > MOST_LINES:
        raise BadRequest(_too_much(by, f"gives more than {MOST_LINES} lines"))
    return told


def _too_much(by: Iterable[str], what: str) -> str:
    return f"by={','.join(by)} {what}; ask for fewer days, or by fewer words"


def generation(source: PageSource, scope: Scope, values: Values) -> Object:
    row = source.reader.generation(values["cluster"], values["topic"], values["partition"], values["offset"])
    if row is None or not scope.sees(row.cluster, source.team_of(row.cluster, row.group)):
        raise NotFound("no such generation is known")
    return row.document


def lanes(source: PageSource, scope: Scope, values: Values) -> Object:
    state = source.group(scope, (values["cluster"], values["group"]))
    window = bounded("since_ms", values["since_ms"], "until_ms", values["until_ms"])
    return history_object(read_history(source.reader, state.row, source.windows, window.from_ms, window.until_ms))


def incidents(source: PageSource, scope: Scope, values: Values) -> Object:
    after = place(values.get("cursor"), queries.INCIDENTS.place)
    where = _where(values, "cluster", "group", "since_ms", "until_ms")
    page = source.reader.incidents(where, values["state"], source.only(scope), values["limit"], after)
    groups = sorted({row.key for row in page.items if not row.over})
    attention = source.attention(source.reader.open_incidents(groups) if groups else ())
    return _listed(page, lambda row: incident_object(attention.of(row)))


def incident_parts(source: PageSource, scope: Scope, values: Values) -> Object:
    after = place(values.get("cursor"), queries.PARTS.place)
    where = _where(values, "cluster", "group", "incident_id")
    page = source.reader.parts(where, source.only(scope), values["limit"], after)
    return _listed(page, lambda row: row.document)


def connectors_and_tasks(source: PageSource, scope: Scope, values: Values) -> Object:
    after = place(values.get("cursor"), queries.CONNECTORS_AND_TASKS.place)
    where = _where(values, "cluster", "group", "agreement")
    page = source.reader.connectors_and_tasks(where, source.only(scope), values["limit"], after)
    return _listed(page, lambda row: row.document)


def gaps(source: PageSource, scope: Scope, values: Values) -> Object:
    after = place(values.get("cursor"), queries.GAPS.place)
    keys = source.only(scope)
    if "group" in values:
        known = source.reader.names() if keys is None else keys
        keys = [key for key in known if key[1] == values["group"] and key[0] == values.get("cluster", key[0])]
    concerned = None if keys is None else source.concerned(keys)
    where = _where(values, "cluster", "topic")
    return _listed(source.reader.gaps(where, values["state"], concerned, values["limit"], after), _gap)


def health(source: PageSource, scope: Scope = EVERYTHING, values: Values | None = None) -> Object:
    """Caught up, by the job's own word, and the database answers. `role`: a monitor that stands by would say so."""
    told = source.job.readiness()
    try:
        source.reader.clock()
        database = "ok"
    except Unavailable as why:
        database = str(why)
    shown = [name for name in {*told.clusters, *told.degraded} if not name or scope.sees_cluster(name)]
    return {
        "ready": told.ready and database == "ok",
        "role": "standby" if told.standby else "active",
        "database": database,
        "clusters": {name or "monitor": told.clusters[name] for name in sorted(shown) if name in told.clusters},
        "degraded": {name: told.degraded[name] for name in sorted(shown) if name in told.degraded},
    }


def openapi(source: PageSource, scope: Scope, values: Values) -> Object:
    return document(source.version)


ANSWERS: dict[str, Callable[[PageSource, Scope, Values], Object]] = {
    "groups": groups,
    "group": group,
    "generations": generations,
    "generation": generation,
    "lanes": lanes,
    "incidents": incidents,
    "incident_parts": incident_parts,
    "connectors_and_tasks": connectors_and_tasks,
    "gaps": gaps,
    "summaries": summaries,
    "why": why,
    "advice": advice,
    "at_once": at_once,
    "costs": costs,
    "health": health,
    "openapi": openapi,
}


def _where(values: Values, *names: str) -> Values:
    return {name: values[name] for name in names if name in values}


def _summary(row: SummaryRow) -> Object:
    return {
        "cluster": row.cluster,
        "group": row.group,
        "day": date_of(row.day),
        "kind": row.kind,
        "name": row.name,
        "count": row.counted,
    }


def _gap(row: GapRow) -> Object:
    noted = None
    if row.acknowledged:
        noted = {
            "at_ms": row.acknowledged_ms,
            "by": row.acknowledged_by,
            "operator": row.acknowledged_operator,
        }
    record = GapRecord(
        cluster=row.cluster,
        topic=row.topic,
        partition=row.partition,
        from_offset=row.from_offset,
        to_offset=row.to_offset,
        reason=row.reason,
    )
    return {"gap": as_object(record), "found_at_ms": row.found_ms, "acknowledged": noted}


def _listed(page: ListPage, shown: Callable[[Any], Object]) -> Object:
    return {"items": [shown(one) for one in page.items], "next": cursor(page.next)}
