"""What page, API and dashboards ask the database, with a range of time where they have one."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from rebalance_monitor.dashboards.build import render
from rebalance_monitor.dashboards.places import STREAMS
from rebalance_monitor.dashboards.shelf import SHELF
from rebalance_monitor.streaming.core.costs import CostQuestion
from rebalance_monitor.streaming.store.database import Connection, Database, DatabaseUnreachable
from rebalance_monitor.streaming.web.api import MOST_READ
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.why import MOST_MOMENTS, at_once_object, why_object

TRIES = 41
OF_A_DAY = 5
"""Generations that each group has in one day, too: a longer list would compare a short answer with a long one."""
Ask = Callable[[], object]


@dataclass(frozen=True, slots=True)
class AskedRange:
    """From when to when (ms), and the groups that are looked at: one that connects; a Streams application or ""."""

    since_ms: int
    until_ms: int
    group: tuple[str, str]
    streams: str


def side_by_side(asked: Sequence[tuple[str, AskedRange]]) -> Iterator[tuple[str, list[float]]]:
    """How long each question takes in each database with its range, ms: asked by turns, the middle of some tries after
    a first one."""
    with ExitStack() as opened:
        each = [_questions(opened, dsn, within) for dsn, within in asked]
        for name in each[0]:
            took: list[list[float]] = [[] for _ in each]
            for _ in range(1 + TRIES):
                for of_one, questions in zip(took, each, strict=True):
                    began_s = time.perf_counter()
                    questions[name]()
                    of_one.append(1000 * (time.perf_counter() - began_s))
            yield name, [sorted(one[1:])[TRIES // 2] for one in took]


def _questions(opened: ExitStack, dsn: str, within: AskedRange) -> dict[str, Ask]:
    reader = Reader([Database(dsn)], DatabaseUnreachable)
    opened.callback(reader.close)
    connection = opened.enter_context(Database(dsn).session())
    opened.callback(connection.close)
    connection.prepare_threshold = None  # each question of Grafana is planned anew
    return dict((*_of_page(reader, within), *_of_dashboards(connection, within)))


def _of_page(reader: Reader, within: AskedRange) -> Iterator[tuple[str, Ask]]:
    since, until, key = within.since_ms, within.until_ms, within.group
    where, times = {"cluster": key[0], "group": key[1]}, {"since_ms": since, "until_ms": until}
    newest = reader.generations(where, None, 1).items[0].document
    at = newest["source"]
    everywhere = CostQuestion(by=("team", "cause"), since_ms=since, until_ms=until)
    of_group = CostQuestion(by=("rebalance",), cluster=key[0], group=key[1], since_ms=since, until_ms=until)
    yield "page: groups", reader.groups
    yield "page: the last rebalances", lambda: reader.generations({}, None, 12)
    yield "page: rebalances of the last hour", lambda: reader.rebalances(until - 3_600_000)
    yield "page: a group", lambda: reader.group(key)
    yield f"page: a group's last {OF_A_DAY} generations", lambda: reader.generations(where, None, OF_A_DAY)
    yield "page: open incidents", reader.open_incidents
    yield "page: before when is cut", reader.cut_before_ms
    yield "page: many at once, the last hour", lambda: at_once_object(reader, None, until - 3_600_000, until)
    yield "API: generations of the range", lambda: reader.generations(times, None, 100)
    yield (
        "API: unexplained generations of the range",
        lambda: reader.generations({**times, "grade": "unexplained"}, None, 100),
    )
    yield "API: a group's generations of the range", lambda: reader.generations({**where, **times}, None, 100)
    yield "API: one generation", lambda: reader.generation(key[0], at["topic"], at["partition"], at["offset"])
    yield "API: a group's first one of the range", lambda: reader.first_generation(key, since)
    yield "API: incidents of the range", lambda: reader.incidents(dict(times), "all", None, 100)
    yield "API: findings", lambda: reader.parts({}, None, 100)
    yield "API: summaries", lambda: reader.summaries({}, None, 100)
    yield "API: connectors and tasks", lambda: reader.connectors_and_tasks({}, None, 100)
    yield (
        "API: members at the beginning of the range",
        lambda: reader.newest_before(since + 3_600_000, key[0], None, empty=True),
    )
    yield "API: when groups rebalanced in the range", lambda: reader.moments(since, until, None, MOST_MOMENTS)
    yield "API: why a group rebalanced in the range", lambda: why_object(reader, key, since, until)
    yield "API: costs of the range by team and cause", lambda: reader.costs(everywhere, None, MOST_READ)
    yield "API: costs of a group by rebalance", lambda: reader.costs(of_group, None, MOST_READ)


def _of_dashboards(connection: Connection, within: AskedRange) -> Iterator[tuple[str, Ask]]:
    row = connection.execute(
        'select topic_id, partition, "offset", day from rebalance_monitor.generations'
        ' where (cluster, "group") = (%s, %s) order by at_ms desc limit 1',
        within.group,
    ).fetchone()
    assert row is not None
    rebalance = "/".join(map(str, row))
    made = render()
    for place, _ in SHELF:
        dashboard = json.loads(made[place.file])
        group = within.streams if place.file == STREAMS.file else within.group[1]
        if not group:
            continue
        values = {"cluster": within.group[0], "group": group, "rebalance": rebalance}
        for panel in dashboard["panels"]:
            for target in panel.get("targets", ()):
                if "rawSql" in target:
                    sql = _filled(target["rawSql"], values, within)
                    yield f"{place.file.removesuffix('.json')}: {panel['title']}", _run(connection, sql)
        for mark in dashboard["annotations"].get("list", ()):
            sql = _filled(mark["target"]["rawSql"], values, within)
            yield f"{place.file.removesuffix('.json')}: marks", _run(connection, sql)


def _run(connection: Connection, sql: str) -> Ask:
    return lambda: connection.execute(sql.encode()).fetchall()


def _filled(sql: str, values: Mapping[str, str], within: AskedRange) -> str:
    """The query as Grafana sends it."""
    for name, value in values.items():
        sql = sql.replace(f"${{{name}:sqlstring}}", f"'{value}'")
    sql = sql.replace("$__unixEpochFrom()", str(within.since_ms // 1000))
    sql = sql.replace("$__unixEpochTo()", str(within.until_ms // 1000))
    assert not re.search(r"\$(__|\{)", sql), sql
    return sql
