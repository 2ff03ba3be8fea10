"""`status`, `explain`, `wait` and `whatif` asking a real page, as its process serves it."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.exit_codes import BAD_INPUT, CANNOT_TELL, DONE, FOUND, NOT_YET
from rebalance_monitor.streaming.cli.monitor_api import TOKEN, URL
from tests.streaming.core.rules.builders import GROUP
from tests.streaming.stories import drills
from tests.vector_files import CAPTURES
from tests.waiting import PATIENCE_S
from tests.web import filled
from tests.web.conftest import Filled, database, dsn_of, served

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(page: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page's address, also in the environment."""
    address = str(page.base_url).rstrip("/")
    monkeypatch.setenv(URL, address)
    return address


def told(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    main([*words, "-o", "json"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_all_groups_are_those_of_the_page_the_worst_first(
    url: str, page: httpx.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status"]) == FOUND
    assert filled.HOSTILE in capsys.readouterr().out
    (shown,) = told(capsys, "status")
    states = {(one["cluster"], one["group"]): one["state"] for one in shown["groups"]}
    listed = page.get("/api/v1/groups", params={"limit": 500}).json()["items"]
    assert states == {(one["cluster"], one["group"]): one["state"] for one in listed}
    order = ["critical", "warning", "muted", "watched", "waiting", "fine"]
    assert list(states.values()) == sorted(states.values(), key=order.index)


def test_one_group_of_the_page_in_six_lines(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = told(capsys, "status", "--group", "zombies")
    (group,) = shown["groups"]
    assert group["state"] == "watched"
    assert group["answer"]["what"].startswith("watched: 127.0.0.1:19302 came back with idle-a")
    assert "workers came back with what others had been given: 127.0.0.1:19302" in group["answer"]["caused_by"]
    (waiting,) = told(capsys, "status", "--group", "waits", "--cluster", "gamma")[0]["groups"]
    assert waiting["answer"]["harmed"].startswith("1 task: ")
    assert "the scheduled delay is over at" in waiting["answer"]["ends"]


def test_the_page_answers_in_the_same_lines(url: str, page: httpx.Client, capsys: pytest.CaptureFixture[str]) -> None:
    """But for spans of time, which would be wrong on a page that stays open."""
    (group,) = told(capsys, "status", "--group", "zombies")[0]["groups"]
    text = page.get("/group", params={"cluster": "alpha", "group": "zombies"}).text
    lines = dict(re.findall(r"<div><dt>([a-z ]+)</dt><dd>(.*?)</dd></div>", text))
    assert list(lines)[:6] == ["what", "since", "harmed", "caused by", "ends", "do"]
    assert (lines["what"], lines["caused by"]) == (group["answer"]["what"], group["answer"]["caused_by"])
    assert "ago" not in lines["since"]


def test_what_happened_long_ago_is_in_the_same_lines_on_every_page_of_a_group(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page shows fewer generations than are looked at for the cause."""
    with database(server) as store:
        filled.put(store, *drills.restless_after_a_deployment().fold())
        with served(tmp_path, dsn_of(store)) as url, httpx.Client(base_url=url, timeout=PATIENCE_S) as page:
            main(["status", "--group", GROUP, "--url", url, "-o", "json"])
            answer = json.loads(capsys.readouterr().out)["groups"][0]["answer"]
            first = page.get("/group", params={"cluster": "cluster", "group": GROUP}).text
            older = re.search(r'rel="next" href="([^"]*)"', first)
            assert older is not None
            pages = first, page.get(unescape(f"/{older[1]}")).text
    assert "a rolling restart, as of a deployment: 3 members in 6 rebalances within 64 s" in answer["caused_by"]
    for text in pages:
        assert f"<dt>caused by</dt><dd>{answer['caused_by']}</dd>" in text
        assert f"<dt>what</dt><dd>{answer['what']}</dd>" in text


def test_a_moment_that_is_past_is_answered_from_what_is_stored(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    (then,) = told(capsys, "status", "--group", "zombies", "--at", "2026-11-20T12:28:57Z")
    (group,) = then["groups"]
    assert (group["state"], group["generation"]) == ("waiting", 9)
    assert group["answer"]["harmed"] == "idle-a-1, idle-a-4, idle-b-2"


def test_a_prediction_of_the_page_is_that_of_the_records(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("whatif", "--group", "zombies", "--at", "2026-11-20T12:28:40Z", "--leave", "127.0.0.1:19304")
    (page,) = told(capsys, *asked)
    (records,) = told(capsys, *asked, "--capture", "tests/vectors/captures/zombie")
    assert page["cases"] == records["cases"] != []
    assert told(capsys, *asked[:3], "--join", "2")[0]["cases"]


def test_a_rebalance_of_the_page_is_explained(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--group", "zombies", "--generation", "9"]) == DONE
    assert "It is held back until 2026-11-20 12:29:02 UTC" in capsys.readouterr().out
    since = told(capsys, "explain", "--group", "zombies", "--at", "2026-11-20T12:29:00Z", "--since", "30s")
    assert [one["generation"] for one in since] == [8, 9]


def test_the_rebalances_of_the_page_are_ranked(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("why", "--group", "zombies", "--at", "2026-11-20T12:29:20Z", "--since", "30s")
    (stored,) = told(capsys, *asked)
    (captured,) = told(capsys, *asked, "--capture", str(CAPTURES / "zombie"))
    assert stored == captured | {"cluster": "alpha"}
    assert stored["rebalances"] == 4
    assert main(["why", "--at-once"]) == CANNOT_TELL
    assert "no groups that rebalanced at once share a host" in capsys.readouterr().out


def test_the_page_is_waited_for(url: str, full: Filled, capsys: pytest.CaptureFixture[str]) -> None:
    """The job does not run, so the monitor has not caught up."""
    assert main(["wait", "--group", "waits", "--stable", "0s", "--timeout", "0s"]) == NOT_YET
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("rebalance-monitor: not at rest after 0s: waits waits: the monitor has not caught up: ")
    assert "the scheduled delay holds back orders-0, orders-1, until 20" in sentence
    assert main(["wait", "--group", "nobody", "--stable", "0s", "--timeout", "0s"]) == NOT_YET
    assert "no generation of the group is known" in capsys.readouterr().err


def test_a_token_opens_what_it_is_for(
    full: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = [{"name": "alphas", "token": "planted-token-of-alpha-x", "clusters": ["alpha"]}]
    with served(tmp_path, full.dsn, {"tokens": tokens}) as address:
        monkeypatch.setenv(URL, address)
        assert main(["status"]) == BAD_INPUT
        assert f"asks for a token; put one that page.tokens lists into {TOKEN}" in capsys.readouterr().err
        monkeypatch.setenv(TOKEN, "planted-token-of-alpha-x")
        (shown,) = told(capsys, "status")
        assert {one["cluster"] for one in shown["groups"]} == {"alpha"}


def test_costs_are_those_of_the_api(url: str, page: httpx.Client, capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = told(capsys, "cost", "--since", "3650d", "--by", "cause,group")
    own = page.get("/api/v1/costs", params={"by": "cause,group", "since_ms": 0}).json()
    assert {**shown, "since": None} == {"kind": "costs", **own, "since": None}
    assert {line["cluster"] for line in shown["lines"]} >= {"alpha", "beta"}
    (shown,) = told(capsys, "cost", "--since", "3650d", "--by", "connector,cause")
    own = page.get("/api/v1/costs", params={"by": "connector,cause", "since_ms": 0}).json()
    assert {**shown, "since": None} == {"kind": "costs", **own, "since": None}
    assert {line["connector"] for line in own["lines"]} >= {"idle-a", "idle-b", "idle-c"}
    assert main(["cost", "--since", "3650d", "--group", "zombies", "--by", ""]) == DONE
    assert "rebalances from " in capsys.readouterr().out
    assert main(["cost", "--since", "1d", "--group", "zombies"]) == CANNOT_TELL
    assert capsys.readouterr().out.startswith("no rebalance is known from ")
    assert main(["cost", "--group", "nobody"]) == BAD_INPUT
    assert "no group 'nobody' is known" in capsys.readouterr().err
    assert page.get("/api/v1/costs", params={"by": "topic"}).json()["error"].startswith("'topic' is nothing to split")
