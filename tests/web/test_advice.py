"""The command, the API and the page say the same of settings that need no value."""

import json
import re
from html import unescape
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.exit_codes import DONE
from rebalance_monitor.streaming.cli.group_sources import capture_of, judged
from rebalance_monitor.streaming.core.model.results import Generation
from rebalance_monitor.streaming.store.database import DatabaseUnreachable
from rebalance_monitor.streaming.stories.whatif.advice import AskedHistory
from rebalance_monitor.streaming.stories.whatif.usual_advice import notes_on, usual_object, worth_it
from rebalance_monitor.streaming.web import advice, api, pages
from rebalance_monitor.streaming.web.advice import MOST_KEPT, RecentAdvice
from rebalance_monitor.streaming.web.api import PageSource
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.scope import EVERYTHING
from rebalance_monitor.streaming.web.upstream import StreamingJob
from tests.vector_files import GROUP_CAPTURES
from tests.web.conftest import database
from tests.web.filled import put

pytestmark = pytest.mark.postgres
CAPTURE = str(GROUP_CAPTURES / "java-classic")


def answered(page: httpx.Client, cluster: str, group: str) -> Any:
    return page.get("/api/v1/advice", params={"cluster": cluster, "group": group, "since_ms": 0}).json()


def printed(page: httpx.Client, capsys: pytest.CaptureFixture[str], group: str, *words: str) -> str:
    assert main(["advise", "--group", group, "--url", str(page.base_url), "--since", "9000d", *words]) == DONE
    return capsys.readouterr().out


def test_the_command_prints_what_the_api_answers(page: httpx.Client, capsys: pytest.CaptureFixture[str]) -> None:
    told = answered(page, "delta", "compat-282")
    (one,) = told["settings"]
    assert json.loads(printed(page, capsys, "compat-282", "-o", "json")) == one
    assert json.loads(printed(page, capsys, "compat-282", "--release", one["release"], "-o", "json")) == one
    ((line, evidence),) = worth_it(told)
    assert f"{line} ({evidence})" in printed(page, capsys, "compat-282")


def test_the_api_and_the_page_say_of_stored_generations_what_the_command_says_of_a_capture(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = ("java-classic", "j-range")
    results = [one for one in judged(Path(CAPTURE)).results if isinstance(one, Generation) and one.group == key[1]]
    with database(server) as store:
        put(store, *results)
        reader = Reader([store.database], DatabaseUnreachable)
        source = PageSource(reader, StreamingJob("http://127.0.0.1:9"), lambda *_: "", clock_ms=lambda: 2**53)
        told = api.advice(source, EVERYTHING, {"cluster": key[0], "group": key[1], "since_ms": 0})
        asked = ["advise", "--group", key[1], "--capture", CAPTURE]
        assert main([*asked, "-o", "json"]) == DONE
        printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [_without_now(one) for one in printed] == [_without_now(one) for one in told["settings"]]
        assert main(asked) == DONE
        text = capsys.readouterr().out
        assert [line in text for line, _ in worth_it(told)] == [True, True]
        # The page looks at the generations that it shows.
        shown = pages.group_page(source, EVERYTHING, *key)
        newest = list(islice(capture_of(CAPTURE).generations(key), pages.GENERATIONS_SHOWN))
        of_these = usual_object(AskedHistory(*key, newest, whole=False, until_ms=0, there=True), None)
        assert [line in unescape(shown) for line, _ in worth_it(of_these)] == [True, True]
        assert notes_on({"all": False, "generations": pages.GENERATIONS_SHOWN})[0] in shown
        (older,) = re.findall(r'rel="next" href="[^"]*before=([^"]*)"', shown)
        assert "Under another setting" not in pages.group_page(source, EVERYTHING, *key, {"before": older})
        source.job.close()


def _without_now(advice: dict[str, Any]) -> dict[str, Any]:
    """At the end of the capture nobody is in the group; what is stored does not say that."""
    answer = advice["answer"]
    return advice if answer is None else {**advice, "answer": {**answer, "first": None}}


def test_the_page_shows_the_lines_that_are_worth_it(page: httpx.Client) -> None:
    shown = unescape(page.get("/group?cluster=delta&group=compat-282").text)
    told = answered(page, "delta", "compat-282")
    assert "Under another setting" in shown
    assert all(line in shown and evidence in shown for line, evidence in worth_it(told))
    assert "Under another setting" not in page.get("/group?cluster=beta&group=connect-main").text, "nothing is saved"


def test_the_page_computes_again_once_there_is_another_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []

    def computing(history: AskedHistory, _: int | None) -> dict[str, Any]:
        computed.append(len(history.generations))
        return {}

    monkeypatch.setattr(advice, "usual_object", computing)
    recent = RecentAdvice()
    shown: list[Any] = [{"source": {"offset": one}, "at_ms": one, "members": []} for one in (3, 2, 1)]
    for some, complete in ((shown[1:], True), (shown[1:], True), (shown, True), (shown, True), (shown, False)):
        recent.of(("k", "g"), some, complete=complete, there=True)
    assert computed == [2, 3, 3]
    for number in range(MOST_KEPT):
        recent.of(("k", str(number)), shown, complete=True, there=True)
    recent.of(("k", "g"), shown, complete=False, there=True)
    assert len(computed) == 3 + MOST_KEPT + 1, "no more than so many are kept"
