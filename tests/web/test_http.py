"""The served page as a browser or a scraper meets it: content, headers, tokens, events, and how it ends."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.asking import local
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.web.fleet import STATES
from tests.streaming import builders
from tests.waiting import PATIENCE_S
from tests.web import filled
from tests.web.conftest import Filled, database, dsn_of, served

pytestmark = pytest.mark.postgres
ADDRESSES = ("/", "/group?cluster=alpha&group=zombies", "/nothing", "/api/v1/groups", "/healthz", "/static/monitor.js")


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_forbids_what_the_page_does_not_need(page: httpx.Client, address: str) -> None:
    headers = page.get(address).headers
    assert "default-src 'none'; script-src 'self';" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in headers
    assert "server" not in headers


def test_the_fleet_shows_harm_first(page: httpx.Client) -> None:
    text = page.get("/").text
    groups = re.findall(r'<tr class="(\w+)">', text)
    assert groups == sorted(groups, key=list(STATES).index)
    assert set(groups) >= {"critical", "warning", "muted", "fine"}
    at = [text.index(f">{heading}</h2>") for heading in ("Open incidents", "Groups", "Last rebalances")]
    assert at == sorted(at), "what people are told of stands above all groups"


def test_one_of_a_kind_is_not_several(page: httpx.Client) -> None:
    counted = re.findall(r"<li[^>]*>(?:<a[^>]*>)?<b>(\d+)</b> (\w+)", page.get("/").text)
    assert any(number == "1" for number, _ in counted)
    assert all(word.endswith("s") == (number != "1") for number, word in counted)


def test_a_hostile_name_is_text_everywhere(page: httpx.Client) -> None:
    group = httpx.QueryParams({"cluster": "gamma", "group": filled.HOSTILE})
    for address in ("/", f"/group?{group}", "/?q=%3Cscript%3Ealert(1)", "/?page=%3Cscript%3E", "/%3Cscript%3E"):
        text = page.get(address).text
        assert re.findall(r"<script[^>]*>", text) in (
            [f'<script src="{source}" defer>' for source in re.findall(r'src="(static/monitor\.js\?v=\w+)"', text)],
            [],
        )
        assert not re.search(r"\son\w+=|style=|javascript:", text)
    shown = page.get(f"/group?{group}").text
    assert "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;" in shown
    found = re.search(r'href="(group\?cluster=gamma&amp;group=%3Cscript[^"#]*)"', page.get("/").text)
    assert found is not None
    assert page.get("/" + found[1].replace("&amp;", "&")).status_code == 200


def test_a_group_shows_matrix_timeline_and_countdown(page: httpx.Client) -> None:
    text = page.get("/group", params={"cluster": "gamma", "group": "waits"}).text
    assert re.search(r'data-until="\d+"', text)
    assert "orders-0, orders-1 held back because w3:8083 went away" in text
    assert "workers were lost: w3:8083 (likely)" in text
    assert "task orders-0 has no holder" in text
    text = page.get("/group", params={"cluster": "alpha", "group": "zombies"}).text
    assert '<th scope="col" class="worker" title="127.0.0.1:19305"><bdi>19305</bdi></th>' in text
    assert text.count('<li id="g-') > 10


def test_older_generations_are_a_click_away(page: httpx.Client) -> None:
    address, seen = "/group?cluster=beta&group=connect-main", 0
    while address:
        text = page.get(address).text
        seen += text.count('<li id="g-')
        older = re.search(r'rel="next" href="([^"]+)"', text)
        address = "/" + older[1].replace("&amp;", "&") if older else ""
    assert seen == len(page.get("/api/v1/generations?cluster=beta&limit=500").json()["items"]) > 30


@pytest.mark.parametrize(
    ("address", "status", "sentence"),
    [
        ("/nothing", 404, "there is nothing at this address"),
        ("/group", 400, "the address names no group; go to the fleet and choose one"),
        ("/group?cluster=alpha&group=x", 404, "no such group is known"),
        ("/group?cluster=alpha&group=zombies&before=x", 400, "the cursor is none of this list; take"),
        ("/runbook?rule=no_such", 404, "no rule and no alert has this name"),
        ("/static/..%2fserve.py", 404, "there is nothing at this address"),
    ],
)
def test_an_error_page_is_one_sentence(page: httpx.Client, address: str, status: int, sentence: str) -> None:
    answer = page.get(address)
    assert answer.status_code == status
    assert f"<h1>{sentence}" in answer.text


def test_a_foreign_name_is_refused_on_loopback(page: httpx.Client) -> None:
    answer = page.get("/api/v1/groups", headers={"Host": "evil.example:80"})
    assert (answer.status_code, "page.hosts" in answer.json()["error"]) == (421, True)
    assert page.get("/healthz", headers={"Host": "LOCALHOST:1"}).status_code == 200


def test_head_and_compression(page: httpx.Client) -> None:
    assert page.head("/").content == b""
    assert page.get("/").headers["content-encoding"] == "gzip"


TOKENS: list[dict[str, Any]] = [
    {"name": "ops", "token": "everything-0123456789"},
    {"name": "waiters", "token": "waiters-0123456789", "clusters": ["gam*"], "teams": ["waiters"]},
]
OWNERS = [{"team": "waiters", "cluster": "gamma", "match": "wait*"}]
CLUSTERS = [{"name": "gamma", "bootstrap_servers": "nobody.invalid:9092"}]


@pytest.fixture(scope="module")
def exporter() -> Iterator[Exporter]:
    """The job's own endpoint, caught up with its one cluster."""
    running = Exporter(0, clusters=["gamma"])
    running.start()
    running.of("gamma").set_health(None)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def guarded(full: Filled, exporter: Exporter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page with tokens."""
    told = {"tokens": TOKENS, "monitor_url": exporter.url}
    folder = tmp_path_factory.mktemp("guarded")
    with served(folder, full.dsn, told, groups=OWNERS, clusters=CLUSTERS) as url:
        yield url


def client(url: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_S)


def test_nobody_is_let_in_without_a_token(guarded: str) -> None:
    for address in ("/", "/api/v1/groups", "/api/v1/events", "/metrics", "/api/v1/openapi.json"):
        answer = local().get(guarded + address, timeout=PATIENCE_S)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Basic ")
        assert "zombies" not in answer.text
    ready = local().get(f"{guarded}/readyz", timeout=PATIENCE_S).json()
    assert set(ready) == {"ready", "role"}
    assert local().get(f"{guarded}/healthz", timeout=PATIENCE_S).status_code == 200
    assert local().get(guarded, auth=("anybody", "everything-0123456789"), timeout=PATIENCE_S).status_code == 200


def test_a_scoped_token_finds_nothing_else(guarded: str) -> None:
    with client(guarded, "waiters-0123456789") as waiters, client(guarded, "everything-0123456789") as ops:
        assert [one["group"] for one in waiters.get("/api/v1/groups").json()["items"]] == ["waits"]
        assert len(ops.get("/api/v1/groups").json()["items"]) > 8
        for path in ("generations", "incidents?state=all", "connectors_and_tasks"):
            items = waiters.get(f"/api/v1/{path}").json()["items"]
            assert {one.get("violation", one)["group"] for one in items} <= {"waits"}
        hidden = {"cluster": "gamma", "group": "under-work"}
        assert ops.get("/api/v1/group", params=hidden).status_code == 200
        for path in ("/api/v1/group", "/group"):
            there = waiters.get(path, params=hidden)
            absent = waiters.get(path, params={"cluster": "gamma", "group": "no-such"})
            assert (there.status_code, there.content) == (absent.status_code, absent.content) == (404, absent.content)
        gaps = waiters.get("/api/v1/gaps").json()["items"]
        assert {one["gap"]["topic"] for one in gaps} == {"waits-status"}
        assert len(ops.get("/api/v1/gaps").json()["items"]) > len(gaps)
        assert waiters.get("/api/v1/gaps", params=hidden).json()["items"] == []
        assert ops.get("/api/v1/gaps", params=hidden).json()["items"] != []
        source = ops.get("/api/v1/generations", params=hidden).json()["items"][0]["source"]
        assert ops.get("/api/v1/generation", params={"cluster": "gamma", **source}).status_code == 200
        assert waiters.get("/api/v1/generation", params={"cluster": "gamma", **source}).status_code == 404
        text = waiters.get("/").text
        assert "waits" in text
        assert "under-work" not in text
        assert "zombies" not in text
        assert waiters.get("/metrics").status_code == 404


def test_metrics_and_readiness_are_the_jobs_own(guarded: str, exporter: Exporter, full: Filled) -> None:
    with client(guarded, "everything-0123456789") as ops:
        assert b"rebalance_monitor_ready" in ops.get("/metrics").content
        state = ops.get("/readyz")
        assert (state.status_code, state.json()["role"]) == (503, "active")
        assert state.json()["clusters"]["monitor"].startswith("what is open in the database is not published yet")
        exporter.restore(full.store)
        assert ops.get("/readyz").json() == {
            "ready": True, "role": "active", "database": "ok", "clusters": {}, "degraded": {},
        }  # fmt: skip
        exporter.of("gamma").set_health("catching up, 5 records left")
        assert ops.get("/api/v1/health").json()["clusters"] == {"gamma": "catching up, 5 records left"}
        exporter.of("gamma").set_health(None)


def test_a_token_is_never_told(guarded: str) -> None:
    with client(guarded, "everything-0123456789") as ops:
        for address in (*ADDRESSES, "/api/v1/openapi.json", "/api/v1/health"):
            assert "0123456789" not in ops.get(address).text


def events(lines: Iterator[str]) -> Iterator[list[str]]:
    """Groups of each `changed` event."""
    for line in lines:
        if line.startswith('data: {"groups"'):
            yield [one["group"] for one in json.loads(line.removeprefix("data: "))["groups"]]


def test_events_tell_each_watcher_of_its_own(server: str, tmp_path: Path) -> None:
    with database(server) as store:
        now_ms = int(time.time() * 1000)
        mine = [builders.generation(offset=n, cluster="gamma", group=f"wait-{n}", at_ms=now_ms) for n in (1, 2)]
        other = builders.generation(offset=3, cluster="gamma", group="other", at_ms=now_ms)
        filled.put(store, mine[0], other)
        with (
            served(tmp_path, dsn_of(store), {"tokens": TOKENS}, groups=OWNERS, clusters=CLUSTERS) as url,
            client(url, "waiters-0123456789") as waiters,
            client(url, "everything-0123456789") as ops,
            waiters.stream("GET", "/api/v1/events") as few,
            ops.stream("GET", "/api/v1/events") as all_of_them,
        ):
            assert few.headers["content-type"].startswith("text/event-stream")
            some, every = few.iter_lines(), all_of_them.iter_lines()
            assert next(some) == next(every) == "retry: 2000"
            told, every_told = events(some), events(every)
            filled.put(store, builders.incident(cluster="gamma", group="other"))
            assert next(every_told) == ["other"]
            filled.put(store, mine[1])
            assert next(every_told) == ["wait-2"]
            assert next(told) == ["wait-2"]
