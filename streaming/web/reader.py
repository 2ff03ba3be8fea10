"""All that is read of the database, by statements that an index serves.

`only` limits a statement to groups; None: no limit.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, LiteralString

from rebalance_monitor.streaming.core.columns import DAY_MS
from rebalance_monitor.streaming.core.costs import CostEntry, CostQuestion, sums_of
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from . import cost_rows, queries
from .coordinator_reasons import with_said
from .day_spans import before, since, spans, within
from .rows import (
    Document,
    GenerationKey,
    GenerationRow,
    GroupName,
    GroupRow,
    IncidentRow,
    ListPage,
)
from .statements import Statements


class Reader(Statements):
    """What page and API ask."""

    def clock(self) -> str:
        """Differs once any transaction of the server that wrote has ended; costs no table access.

        The whole snapshot, because its upper end stays when a writer ends that began before one which has ended.
        """
        return str(self._rows("select pg_current_snapshot()::text")[0][0])

    def groups(self, only: Collection[GroupName] | None = None) -> list[GroupRow]:
        """Every group that ever had a generation or has an open incident, by cluster and name."""
        return self._latest("true", ()) if only is None else self._latest(queries.ONLY, _columns(only))

    def group(self, key: GroupName) -> GroupRow | None:
        found = self._latest('cluster = %s and "group" = %s', key)
        return found[0] if found else None

    def _latest(self, condition: LiteralString, values: Sequence[Any]) -> list[GroupRow]:
        """`condition`: of which groups, by columns of `states`."""
        ((day,),) = self._rows(f"{queries.LEAST_NEWEST_DAY} where {condition}", values)
        if day is None:
            return []
        latest = f'{queries.LATEST} and {_qualified(condition)} order by s.cluster, s."group"'
        return [GroupRow(*row) for row in self._rows(latest, [day - 1, *values])]

    def rebalances(self, since_ms: int, only: Collection[GroupName] | None = None) -> dict[GroupName, int]:
        """How many generations each group had since then; one that was written again counts once."""
        conditions, values = _conditions({"since_ms": since_ms}, only, on_days=True)
        rows = self._rows(
            'select cluster, "group", count(distinct (incarnation, generation))::int'
            f" from rebalance_monitor.stored_generations where {' and '.join(conditions)} group by 1, 2",
            values,
        )
        return {(cluster, group): count for cluster, group, count in rows}

    def names(self) -> list[GroupName]:
        """Every group of which something is stored."""
        rows = self._rows('select cluster, "group" from rebalance_monitor.states')
        return [(cluster, group) for cluster, group in rows]

    def generations(
        self, where: dict[str, Any], only: Collection[GroupName] | None, limit: int, after: Sequence[Any] | None = None
    ) -> ListPage:
        """The newest first, with what coordinators said of each. `where`: column to value."""
        page = ListPage([])
        conditions, values = _conditions(where, only)
        for days, bounds in spans(where, self._newest_day(where), None if after is None else after[0]):
            page = self._page(queries.GENERATIONS, [*conditions, *days], [*values, *bounds], limit, after)
            if page.next is not None:
                break
        return ListPage(with_said(self._of(page.items), self._rows), page.next)

    def _of(self, keys: Sequence[GenerationKey]) -> list[GenerationRow]:
        """These generations, in this order, without those that are cut meanwhile."""
        days: dict[int, list[GenerationKey]] = {}
        for key in keys:
            days.setdefault(key.day, []).append(key)
        statements, values = list[LiteralString](), list[Any]()
        for day, those in days.items():
            places, alone = [key[:-1] for key in those], len(those) == 1
            statements.append(queries.OF_DAY + (queries.ONE if alone else queries.SEVERAL))
            values += [day, *(places[0] if alone else map(list, zip(*places, strict=True)))]
        rows = self._rows(" union all ".join(statements), values) if keys else []
        width = len(GenerationKey._fields)
        found = {row[:width]: GenerationRow(*row[width:]) for row in rows}
        return [found[key] for key in keys if key in found]

    def _newest_day(self, where: Mapping[str, Any]) -> int | None:
        """The day of the generation that was written last, of a group or of all; None where none is known."""
        conditions, values = _conditions({name: where[name] for name in ("cluster", "group") if name in where}, None)
        ((day,),) = self._rows(
            f"select max(newest_day) from rebalance_monitor.states where {' and '.join(conditions) or 'true'}", values
        )
        return None if day is None else int(day)

    def moments(
        self, since_ms: int, until_ms: int, only: Collection[GroupName] | None, limit: int
    ) -> list[tuple[str, str, int]]:
        """(cluster, group, time) of each generation, the newest first, without its document."""
        conditions, values = _conditions({"since_ms": since_ms, "until_ms": until_ms}, only, on_days=True)
        rows = self._rows(
            'select cluster, "group", at_ms from rebalance_monitor.stored_generations'
            f' where {" and ".join(conditions)} order by at_ms desc, cluster, "group", "offset" limit %s',
            [*values, limit],
        )
        return [(cluster, group, at_ms) for cluster, group, at_ms in rows]

    def newest_before(
        self, at_ms: int, cluster: str, only: Collection[GroupName] | None, *, empty: bool
    ) -> list[Document]:
        """Of each group of a cluster its newest generation before a moment, as much of it as says who its members are.
        `empty`: also of groups that have no members now."""
        found: dict[GroupName, Document | None] = {}
        wanted = only
        for days, bounds in before(at_ms):
            where, values = ("", []) if wanted is None else (f" and {_qualified(queries.ONLY)}", _columns(wanted))
            rows = self._rows(
                f'{queries.MEMBERS.format(days=" and ".join(days))}{where} order by s."group"',
                [at_ms, *bounds, cluster, empty, *values],
            )
            found |= {(name, group): document for name, group, _, document in rows}
            wanted = [(name, group) for name, group, there, _ in rows if not there]
            if not wanted:
                break
        return [document for document in found.values() if document is not None]

    def generation(self, cluster: str, topic: str, partition: int, offset: int) -> GenerationRow | None:
        """By its record; of a topic that was made again the newer one."""
        place = self._rows(queries.PLACE, [cluster, partition, offset, topic, partition, topic])
        if not place:
            return None
        ((topic_id, day),) = place
        rows = self._of([GenerationKey(cluster, topic_id, partition, offset, day)])
        return with_said(rows, self._rows)[0] if rows else None

    def first_generation(self, key: GroupName, since_ms: int) -> list[Document]:
        """The group's first generation since a moment; empty if there is none."""
        conditions, values = _conditions({"cluster": key[0], "group": key[1], "since_ms": since_ms}, None)
        for days, bounds in since(since_ms):
            rows = self._rows(
                "select document from rebalance_monitor.generations"
                f' where {" and ".join([*conditions, *days])} order by at_ms, "offset" limit 1',
                [*values, *bounds],
            )
            if rows:
                return [document for (document,) in rows]
        return []

    def open_incidents(self, only: Collection[GroupName] | None = None) -> list[IncidentRow]:
        """Not resolved, or people are still told."""
        where, values = ("", []) if only is None else (f" and {queries.ONLY}", _columns(only))
        rows = self._rows(f"{queries.INCIDENT} where {queries.OPEN}{where}", values)
        return [IncidentRow(*row[: len(IncidentRow._fields)]) for row in rows]

    def incidents(
        self, where: dict[str, Any], state: str, only: Collection[GroupName] | None, limit: int, after: Any = None
    ) -> ListPage:
        """The newest first; `state` is open, resolved or all."""
        conditions, values = _conditions(where, only, _LASTING)
        if state != "all":
            conditions.append(queries.OPEN if state == "open" else f"not {queries.OPEN}")
        return self._page(queries.INCIDENTS, conditions, values, limit, after)

    def parts(
        self, where: dict[str, Any], only: Collection[GroupName] | None, limit: int, after: Sequence[Any] | None = None
    ) -> ListPage:
        """Every finding of the incidents, the earliest first."""
        return self._page(queries.PARTS, *_conditions(where, only), limit, after)

    def connectors_and_tasks(
        self, where: dict[str, Any], only: Collection[GroupName] | None, limit: int, after: Sequence[Any] | None = None
    ) -> ListPage:
        """By cluster, group, type and name; those that nobody knows any more only when asked for."""
        conditions, values = _conditions(where, only)
        if "agreement" not in where:
            conditions.append("agreement <> 'gone'")
        return self._page(queries.CONNECTORS_AND_TASKS, conditions, values, limit, after)

    def progress(self, key: GroupName) -> Document | None:
        """How far the group's members had come when brokers were asked last; None if they never were."""
        rows = self._rows(
            'select document from rebalance_monitor.group_progress where cluster = %s and "group" = %s', key
        )
        return rows[0][0] if rows else None

    def progress_of(self, groups: Collection[GroupName]) -> dict[GroupName, Document]:
        """The same of each of these groups that brokers were asked for."""
        rows = self._rows(
            f'select cluster, "group", document from rebalance_monitor.group_progress where {queries.ONLY}',
            _columns(groups),
        )
        return {(cluster, group): document for cluster, group, document in rows}

    def task_versions(self) -> dict[GroupName, str]:
        """For each group a text that changes with every write of one of its connectors and tasks."""
        rows = self._rows(
            'select cluster, "group", sum(xmin::text::bigint)::text'
            " from rebalance_monitor.connectors_and_tasks group by 1, 2"
        )
        return {(cluster, group): version for cluster, group, version in rows}

    def gaps(
        self,
        where: dict[str, Any],
        state: str,
        concerned: Mapping[GroupName, Collection[str]] | None,
        limit: int,
        after: Sequence[Any] | None = None,
    ) -> ListPage:
        """What was gone before it could be read, the newest first; `state` is open, acknowledged or all.

        `concerned`: only gaps of the partitions with a record of one of these groups, and of the topics given for it.
        """
        conditions, values = _conditions(where, None)
        conditions.append(queries.ACKNOWLEDGED[state])
        if concerned is not None:
            topics = [(cluster, topic) for (cluster, _), named in concerned.items() for topic in named]
            conditions.append(queries.CONCERNED)
            values += [*_columns(topics), *_columns(concerned)]
        return self._page(queries.GAPS, conditions, values, limit, after)

    def cut_before_ms(self) -> int | None:
        """Before when only summaries are left; None while nothing was cut."""
        ((day,),) = self._rows("select max(day) from rebalance_monitor.cuts")
        return None if day is None else (day + 1) * DAY_MS

    def summaries(
        self, where: dict[str, Any], only: Collection[GroupName] | None, limit: int, after: Sequence[Any] | None = None
    ) -> ListPage:
        """What is left of days, the newest first."""
        return self._page(queries.SUMMARIES, *_conditions(where, only), limit, after)

    def costs(self, question: CostQuestion, only: Collection[GroupName] | None, limit: int) -> list[CostEntry]:
        """What rebalances cost, with the words that are needed; so many sums at most. By connector,
        what all of them cost is one more, without words."""
        since, until = question.days
        asked = {"cluster": question.cluster, "group": question.group, "since_day": since, "until_day": until}
        given = {name: value for name, value in asked.items() if value is not None}
        conditions, values = _conditions(given, only, _DAYS)
        words = question.needed
        statement, times = cost_rows.statement(words, conditions)
        rows = self._rows(statement, [*values * times, limit + times - 1])
        return [
            CostEntry({} if row[0] is None else dict(zip(words, row, strict=False)), sums_of(row[len(words) :]))
            for row in rows
        ]

    def being_cut(self) -> list[int]:
        """Days that have left the tables and of which the sums are not written yet."""
        rows = self._rows("select day from rebalance_monitor.cuts where dropped_at is null order by day")
        return [day for (day,) in rows]

    def windows(self) -> list[Maintenance]:
        """Maintenance windows given on the command line, running or planned."""
        return self._windows("where ended_at is null and until_ms > extract(epoch from now()) * 1000")

    def windows_between(self, from_ms: int, until_ms: int) -> list[Maintenance]:
        """Those that ran between the two moments or are to; one that somebody ended early ends then."""
        return self._windows("where from_ms < %s and until_ms > %s", (until_ms, from_ms))

    def _windows(self, where: LiteralString, values: Sequence[Any] = ()) -> list[Maintenance]:
        names = ("cluster", "groups", "owner", "reason", "from_ms", "until_ms", "window_id")
        return [
            Maintenance(**dict(zip(names, row, strict=True))) for row in self._rows(f"{queries.WINDOW} {where}", values)
        ]


def _qualified(condition: LiteralString) -> LiteralString:
    return condition.replace("cluster", "s.cluster", 1).replace('"group"', 's."group"', 1)


def _columns(keys: Collection[GroupName]) -> list[Any]:
    return [[cluster for cluster, _ in keys], [group for _, group in keys]]


_WITHIN: dict[str, LiteralString] = {"since_ms": "at_ms >= %s", "until_ms": "at_ms <= %s"}
_LASTING: dict[str, LiteralString] = {
    "since_ms": "(resolved_at_ms is null or firing or resolved_at_ms >= %s)", "until_ms": "opened_at_ms <= %s",
}  # fmt: skip
"""What a moment means for a list of moments, and for one of what lasts."""
_DAYS: dict[str, LiteralString] = {"since_day": "day >= %s", "until_day": "day <= %s"}


def _conditions(
    where: Mapping[str, Any],
    only: Collection[GroupName] | None,
    moments: Mapping[str, LiteralString] = _WITHIN,
    *,
    on_days: bool = False,
) -> tuple[list[LiteralString], list[Any]]:
    """Column names come from this package alone, values never enter the text. `on_days`: the days of the moments as
    well."""
    known: dict[str, LiteralString] = {
        "cluster": "cluster = %s", "group": '"group" = %s', "grade": "grade = %s", "agreement": "agreement = %s",
        "topic": "topic = %s", "incident_id": "incident_id = %s", "kind": "kind = %s", **moments,
    }  # fmt: skip
    conditions = [known[name] for name in where]
    values = list(where.values())
    if only is not None:
        conditions.append(queries.ONLY)
        values.extend(_columns(only))
    days, bounds = within(where.get("since_ms"), where.get("until_ms")) if on_days else ([], [])
    return [*conditions, *days], [*values, *bounds]
