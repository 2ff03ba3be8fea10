"""The page of a Streams application: tasks by process and role, lags, balance, and when it can have settled."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.web.tasks import TaskView, task_view
from tests.vector_files import GROUP_CAPTURES
from tests.web.conftest import database, dsn_of, served
from tests.web.filled import capture

CLASSIC, KIP1071, PROBING = "streams-classic-4.3.1", "streams-kip1071-4.3.1", "streams-probing"


def documents(name: str) -> list[dict[str, Any]]:
    path = GROUP_CAPTURES / name
    objects = replay(records_of(path), settings_of(path), knowledge=knowledge_of(path)).objects
    return [one for one in objects if one["kind"] == "generation"]


def views(name: str) -> list[TaskView]:
    found = [task_view(one) for one in documents(name)]
    assert all(found)
    return [one for one in found if one is not None]


@pytest.mark.parametrize("name", [CLASSIC, KIP1071, PROBING])
def test_every_generation_has_its_processes_and_sub_topologies(name: str) -> None:
    for document, view in zip(documents(name), views(name), strict=True):
        processes = document["streams"]["processes"]
        assert [line.threads for line in view.processes] == [len(process["threads"]) for process in processes]
        tasks = [len(thread["active"]) for process in processes for thread in process["threads"]]
        assert sum(line.with_state + line.without_state for line in view.processes) == sum(tasks)
        assert [line.name for line in view.parts] == [part["name"] for part in document["streams"]["subtopologies"]]
        balance = document["streams"]["balance"]
        for line in view.processes:
            assert balance["stateful"][0] <= line.with_state <= balance["stateful"][1]
            assert balance["stateless"][0] <= line.without_state <= balance["stateless"][1]


def test_what_is_left_to_do_is_told_with_its_earliest_time() -> None:
    told = [one for one in views(CLASSIC) if one.next_ms is not None]
    assert told
    assert any(" left, at best " in one.moves and one.not_before_ms is not None for one in told)
    assert all(one.not_before_ms >= one.next_ms for one in told if one.not_before_ms is not None and one.next_ms)
    assert any(one.moves == "Every task with state is where it shall be" for one in views(CLASSIC))
    assert any("no copy is missing" in one.facts for one in views(CLASSIC))


def test_copies_are_told_with_role_and_lag() -> None:
    behind = [line.behind for one in views(PROBING) for line in one.processes if "warms up" in line.copies]
    assert behind
    assert any(": " in text for text in behind), "brokers said where changelogs end"
    known = [line.behind for one in views(CLASSIC) for line in one.processes if line.behind]
    assert known
    assert all(" at " in text for text in known), "nobody asked: what the copies reported"


def test_another_kind_of_group_has_none() -> None:
    assert task_view(documents("kip848-a")[0]) is None


@pytest.mark.postgres
def test_the_page_shows_it(server: str, tmp_path: Path) -> None:
    with database(server) as store:
        capture(store, f"captures-groups/{CLASSIC}", "s")
        capture(store, f"captures-groups/{PROBING}", "p", for_ms=40_000)
        with served(tmp_path, dsn_of(store)) as url, httpx.Client(base_url=url, timeout=120) as client:

            def page(cluster: str, group: str) -> str:
                return client.get("/group", params={"cluster": cluster, "group": group}).text

            text, moving = page("s", "app-4.3.1"), page("p", "never")
    assert 'id="processes"' in text
    assert 'id="parts"' in text
    assert "tasks with state: " in text
    assert "app-4.3.1-by-value-repartition" in text
    # A time to come is no time ago: the page leaves it as it is.
    assert re.search(r'so not before <time datetime="[^"]+">', moving)
    assert re.search(r'next probing rebalance <time datetime="[^"]+">', moving)
    assert "(warms up)" in moving
