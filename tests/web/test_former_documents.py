"""A database that an earlier release filled: its documents lack the fields that came later, and everything is shown.

`FIRST` names the fields of the first release whose rows a migration carries on (and of `streams` and `epoch`, the first
release that wrote them). Every other field is taken out of each document, so a field that is added tomorrow is missing
here, too. Where names changed, migrations give former documents the present ones, so these stand here.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
from jsonschema import Draft202012Validator
from psycopg.types.json import Jsonb

from rebalance_monitor.streaming.audit.suites import SUITES
from rebalance_monitor.streaming.store.database import Database
from rebalance_monitor.streaming.store.past import StoredPast
from rebalance_monitor.streaming.store.stored import incident_of
from rebalance_monitor.streaming.web.contract import ROUTES, Route
from tests.audit import filled as audited
from tests.streaming import builders
from tests.waiting import PATIENCE_S
from tests.web import filled
from tests.web.conftest import database, dsn_of, served

pytestmark = pytest.mark.postgres
NOW_MS = 1_700_000_000_000
Object = dict[str, Any]

FIRST: Mapping[str, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        "violation": "kind incident_id rule code severity certainty cluster group opened_generation opened_at_ms"
        " resolved_at_ms subjects message evidence alert firing fired_at_ms times_notified team",
        "generation": "kind cluster group incarnation lifecycle protocol_type protocol generation leader at_ms state_ms"
        " source members diff cause verdict delay_ms unassigned streams epoch",
        "verdict": "grade assignor era reason expected pending_until_ms",
        "streams": "version processes subtopologies withheld next_rebalance_ms roles_known",
        "epoch": "group_epoch needed_ms computed_ms reached_ms overtaken_by progress",
        "connector_or_task": "kind cluster group subject incarnation generation assigned expected judged running"
        " since_ms agreement",
        "incident_part": "kind incident_id code severity certainty opened_generation opened_at_ms resolved_at_ms"
        " subjects message evidence",
    }.items()
}
TABLES = {
    "incidents": "incident_id",
    "generations": 'cluster, topic_id, partition, "offset"',
    "connectors_and_tasks": 'cluster, "group", type, id',
    "incident_parts": "incident_id, part, opened_at_ms",
}
CAPTURES = {
    "captures/zombie": 167_000,
    "captures/sessioned-4.3.1": None,
    "captures-groups/java-classic": None,
    "captures-groups/kip848-a": None,
    "captures-groups/streams-classic-4.3.1": None,
    "captures-groups/streams-kip1071-4.3.1": 60_000,
}


def cut(kind: str, document: Mapping[str, Any]) -> Object:
    """The document as the first release would have written it."""
    return {
        name: cut(name, value) if name in FIRST and isinstance(value, dict) else value
        for name, value in document.items()
        if name in FIRST[kind]
    }


def make_former(dsn: str) -> None:
    """Cuts every stored document."""
    with psycopg.connect(dsn) as connection:
        for table, key in TABLES.items():
            rows = connection.execute(f"select document, {key} from rebalance_monitor.{table}".encode()).fetchall()
            assert rows, table
            places = " and ".join(f"{name} = %s" for name in key.split(", "))
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"update rebalance_monitor.{table} set document = %s where {places}".encode(),
                    [(Jsonb(cut(one["kind"], one)), *place) for one, *place in rows],
                )


@pytest.fixture(scope="module")
def former(server: str) -> Iterator[str]:
    """Connection text of the database."""
    with database(server) as store:
        for name, for_ms in CAPTURES.items():
            filled.capture(store, name, name.rpartition("/")[2], for_ms)
        filled.put(store, *filled.planted(NOW_MS))
        make_former(dsn_of(store))
        yield dsn_of(store)


@pytest.fixture(scope="module")
def page(former: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with (
        served(tmp_path_factory.mktemp("former"), former) as url,
        httpx.Client(base_url=url, timeout=PATIENCE_S) as client,
    ):
        yield client


def groups(page: httpx.Client) -> list[Object]:
    items: list[Object] = page.get("/api/v1/groups", params={"limit": 500}).json()["items"]
    return items


def test_every_page_is_shown(page: httpx.Client) -> None:
    known = groups(page)
    assert {one["cluster"] for one in known} >= {name.rpartition("/")[2] for name in CAPTURES}
    addresses = [f"/group?cluster={quote(one['cluster'])}&group={quote(one['group'], safe='')}" for one in known]
    for address in ("/", *addresses):
        assert page.get(address).status_code == 200, address


@pytest.mark.parametrize("route", [one for one in ROUTES if one.media == "application/json"], ids=lambda one: one.name)
def test_every_answer_has_the_described_shape(page: httpx.Client, route: Route) -> None:
    description = page.get("/api/v1/openapi.json").json()
    operation = description["paths"][route.path]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    validator = Draft202012Validator({**schema, "components": description["components"]})
    needed = [one["name"] for one in operation["parameters"] if one["required"]]
    more = {"limit": 500} if route.paged else {}
    for group in groups(page) if needed else [{}]:
        if group.get("generation", 0) is None:
            continue
        latest = page.get("/api/v1/generations", params={"limit": 1, **_place(group)}).json()["items"] if needed else []
        known = {**group, **(latest[0]["source"] if latest else {})}
        answer = page.get(route.path, params={**more, **{name: known[name] for name in needed}})
        assert answer.status_code == 200, answer.text
        validator.validate(answer.json())


def _place(group: Object) -> dict[str, str]:
    return {"cluster": group["cluster"], "group": group["group"]}


def test_what_a_start_publishes_again_is_read(former: str) -> None:
    """And each incident is written again in the present shape."""
    past = StoredPast(Database(former))
    found = past.open_incidents(resolved_since_ms=0)
    assert found
    assert past.latest_generations()
    with psycopg.connect(former) as connection:
        rows = connection.execute("select document, transition from rebalance_monitor.incidents").fetchall()
    assert all(incident_of(document, transition).parts == 1 for document, transition in rows)


def test_the_audit_keeps_its_contracts(server: str) -> None:
    """On what the audit's own tests keep them on."""
    with database(server) as store:
        audited.everything(store)
        dsn = dsn_of(store)
        make_former(dsn)
        with psycopg.connect(dsn) as connection:
            broken = {
                one.name
                for suite in SUITES
                for one in suite.contracts
                if connection.execute(one.broken.encode()).fetchall()
            }
    assert broken == set()


def test_a_rule_that_was_renamed_may_have_incidents_under_both_titles(server: str) -> None:
    """Open ones keep the title that they opened with."""
    contracts = {one.name: one for suite in SUITES for one in suite.contracts}
    query = contracts["incident_code_has_one_title"].broken.encode()
    with database(server) as store:
        titles = {"a": "static_job_unassigned", "b": "static_task_unassigned"}
        filled.put(
            store,
            *(builders.incident(incident_id=one, rule=title, code="CONNECT-S5") for one, title in titles.items()),
        )
        with psycopg.connect(dsn_of(store)) as connection:
            assert connection.execute(query).fetchall() == []
            connection.execute("update rebalance_monitor.incidents set rule = 'another' where incident_id = 'b'")
            assert len(connection.execute(query).fetchall()) == 1
