"""Every declared route answers on a real database, and each answer has its declared shape."""

import time
from dataclasses import replace
from typing import Any

import httpx
import psycopg
import pytest
from jsonschema import Draft202012Validator

from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
from rebalance_monitor.streaming.store.maintenance import add
from rebalance_monitor.streaming.web.attention import Attention
from rebalance_monitor.streaming.web.contract import ROUTES, Route
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.statements import Unavailable
from tests.streaming import builders
from tests.web import filled
from tests.web.conftest import Filled, database

pytestmark = pytest.mark.postgres
JSON = [route for route in ROUTES if route.media == "application/json"]


def ask(page: httpx.Client, path: str, **parameters: Any) -> Any:
    answer = page.get(f"/api/v1/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def everything(page: httpx.Client, path: str, **parameters: Any) -> list[Any]:
    """All pages of a list, joined."""
    items: list[Any] = []
    while True:
        told = ask(page, path, **parameters)
        assert len(told["items"]) <= parameters["limit"]
        items += told["items"]
        if told["next"] is None:
            return items
        parameters["cursor"] = told["next"]


@pytest.mark.parametrize("route", JSON, ids=lambda route: route.name)
def test_every_route_answers_as_the_description_says(page: httpx.Client, route: Route) -> None:
    description = ask(page, "openapi.json")
    operation = description["paths"][route.path]["get"]
    assert operation["operationId"] == route.name
    generation = ask(page, "generations", limit=1, cluster="alpha")["items"][0]
    known = {**generation["source"], "cluster": "alpha", "group": "zombies"}
    known |= {"since_ms": generation["at_ms"] - 60_000, "until_ms": generation["at_ms"] + 1}
    required = {p["name"]: known[p["name"]] for p in operation["parameters"] if p["required"]}
    for parameters in (required, {**required, **_every(operation, known)}):
        answer = page.get(route.path, params=parameters)
        assert answer.status_code == 200, answer.text
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": description["components"]}).validate(answer.json())
    if route.paged:
        assert page.get(route.path).json()["items"] != []


def _every(operation: Any, known: dict[str, Any]) -> dict[str, Any]:
    """Every parameter at once, the cursor aside: it is of a list."""
    values = {**known, "q": "ZOMB", "limit": 1, "state": "all", "grade": "match", "agreement": "ok"}
    values |= {"incident_id": "of-nothing", "kind": "grade", "by": "team,day"}
    values |= {"since_ms": 1_700_000_000_000, "until_ms": 1_700_086_400_000}
    return {p["name"]: values[p["name"]] for p in operation["parameters"] if p["name"] != "cursor"}


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("groups", {}),
        ("generations", {}),
        ("generations", {"cluster": "alpha", "group": "zombies"}),
        ("incidents", {"state": "all"}),
        ("incident_parts", {"cluster": "alpha"}),
        ("connectors_and_tasks", {}),
        ("gaps", {}),
        ("summaries", {}),
        ("gaps", {"state": "all", "cluster": "gamma", "topic": "waits-status"}),
    ],
)
def test_pages_join_to_the_whole_list(page: httpx.Client, path: str, parameters: dict[str, str]) -> None:
    whole = everything(page, path, limit=500, **parameters)
    assert len(whole) > 3
    assert everything(page, path, limit=len(whole) // 4 + 1, **parameters) == whole
    assert everything(page, path, limit=max(1, len(whole) // 2), **parameters) == whole


def test_a_list_of_generations_ends_at_the_moments_asked_for(page: httpx.Client) -> None:
    whole = everything(page, "generations", limit=500, cluster="alpha")
    since_ms, until_ms = whole[-3]["at_ms"], whole[2]["at_ms"]
    asked = everything(page, "generations", limit=2, cluster="alpha", since_ms=since_ms, until_ms=until_ms)
    assert asked == whole[2:-2]


def test_incidents_of_a_moment_are_those_that_lasted_then(page: httpx.Client) -> None:
    whole = [one["violation"] for one in everything(page, "incidents", limit=500, cluster="beta", state="all")]
    for at_ms in {one["opened_at_ms"] for one in whole} | {one["resolved_at_ms"] or 0 for one in whole}:
        asked = everything(
            page, "incidents", limit=500, cluster="beta", state="all", since_ms=at_ms, until_ms=at_ms
        )  # fmt: skip
        lasting = [
            one["incident_id"]
            for one in whole
            if one["opened_at_ms"] <= at_ms
            and (one["firing"] or one["resolved_at_ms"] is None or one["resolved_at_ms"] >= at_ms)
        ]
        assert [one["violation"]["incident_id"] for one in asked] == lasting


def test_what_is_shown_is_what_is_stored(page: httpx.Client, full: Filled) -> None:
    with full.store.database.session() as connection:
        rows = connection.execute("select document from rebalance_monitor.generations").fetchall()
    shown = everything(page, "generations", limit=500)
    assert len(shown) == len(rows)
    for (document,) in rows:
        assert document in shown


def test_attention_of_incidents(page: httpx.Client) -> None:
    told = {one["violation"]["incident_id"]: one for one in everything(page, "incidents", limit=50, state="all")}
    found = {name: told[name]["attention"] for name in ("notified", "muted", "suppressed", "over")}
    assert found == {name: name for name in found}
    assert told["muted"]["why"] == "maintenance by jane: broker upgrade"
    still_open = {one["violation"]["incident_id"] for one in everything(page, "incidents", limit=50)}
    assert "over" not in still_open
    assert {"notified", "muted", "suppressed"} <= still_open


def test_a_window_of_the_command_line_mutes(server: str) -> None:
    with database(server) as store:
        filled.put(store, builders.incident(cluster="gamma", group="g"))
        reader = Reader([store.database], DatabaseUnreachable)
        (incident,) = reader.open_incidents()
        now_ms = incident.document["opened_at_ms"] + 1
        assert Attention(reader.windows(), now_ms).of(incident).attention == "notified"
        with store.database.session() as connection:
            ended = replace(filled.window(now_ms), groups="ended", until_ms=now_ms + 1)
            for window in (
                replace(filled.window(now_ms), groups="*", until_ms=int(time.time() * 1000) + 60_000),
                ended,
            ):
                window = replace(window, from_ms=max(window.from_ms, window.until_ms - 604_800_000))
                add(connection, window, "test")
        (window,) = reader.windows()
        told = Attention([window], window.from_ms).of(incident)
        assert (told.attention, told.why) == ("muted", "maintenance by jane: broker upgrade")


def test_a_hostile_group_is_found_by_its_name(page: httpx.Client) -> None:
    told = ask(page, "group", cluster="gamma", group=filled.HOSTILE)
    assert told["group"]["state"] == "critical"
    assert told["generation"]["group"] == filled.HOSTILE


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("group?cluster=alpha&group=nobody", 404, "no such group is known"),
        ("generation?cluster=alpha&partition=0&offset=99999999", 404, "no such generation is known"),
        ("groups?cursor=nonsense", 400, "the cursor is none of this list; take `next` of the page before"),
        ("groups?limit=no", 400, "the parameter limit must be a number from 1 to 500"),
        ("nothing", 404, "there is nothing at this address"),
    ],
)
def test_a_refusal_is_one_sentence(page: httpx.Client, path: str, status: int, sentence: str) -> None:
    answer = page.get(f"/api/v1/{path}")
    assert (answer.status_code, answer.json()) == (status, {"error": sentence})


def test_the_page_cannot_write(full: Filled, page: httpx.Client) -> None:
    assert page.post("/api/v1/groups").status_code == 405
    with full.store.database.session() as connection:
        rows = connection.execute(
            "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        ).fetchall()
    assert rows, "the page holds connections"
    # The settings that `serve` gives each of them refuse a write and end a long statement.
    from psycopg.conninfo import make_conninfo

    from rebalance_monitor.streaming.cli.serve import READ_ONLY

    with psycopg.connect(make_conninfo(full.dsn, options=READ_ONLY), autocommit=True) as connection:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("delete from rebalance_monitor.stored_generations")
        assert connection.execute("show statement_timeout").fetchone() == ("10s",)


def test_the_clock_moves_with_every_commit_whichever_writer_began_first(full: Filled) -> None:
    reader = Reader([Database(full.dsn)], DatabaseUnreachable)
    write = "update rebalance_monitor.states set due_ms = due_ms where cluster = %s"
    with psycopg.connect(full.dsn) as first, psycopg.connect(full.dsn) as second:
        first.execute(write, ("alpha",))
        second.execute(write, ("beta",))
        second.commit()
        before = reader.clock()
        assert reader.clock() == before
        first.commit()
        assert reader.clock() != before
    reader.close()


def test_a_database_that_is_away_or_empty_is_one_sentence(server: str) -> None:
    away = Reader([Database("postgresql://secret:word@127.0.0.1:1/x")], DatabaseUnreachable)
    with pytest.raises(Unavailable, match=r"PostgreSQL at 127\.0\.0\.1:1/x can't be used") as why:
        away.groups()
    assert "word" not in str(why.value)
    empty = Reader([Database(server)], DatabaseUnreachable)
    with pytest.raises(Unavailable, match="holds no tables of the monitor yet"):
        empty.groups()
    empty.close()


def test_a_request_does_not_wait_for_ever_for_a_connection() -> None:
    with pytest.raises(Unavailable, match="too many requests at once"):
        Reader([], DatabaseUnreachable, wait_s=0.01).clock()
