"""Publishing over real HTTP to a server that enforces Grafana's documented API."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grafana_foundation_sdk")
pytest.importorskip("grafana_api")

from rebalance_monitor.dashboards import publish
from rebalance_monitor.dashboards.places import FLEET, PLACES
from rebalance_monitor.dashboards.publish import TOKEN_VARIABLE
from tests.dashboards.asked import rendered
from tests.dashboards.grafana_double import TOKEN, Double, grafana

UIDS = [place.uid for place in PLACES]


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    with grafana() as running:
        running.folders["kafka"] = "Kafka"
        yield running


def run(double: Double, *more: str) -> int:
    return publish.main(["--url", double.url, *more])


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    return {line["uid"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}


def actions(capsys: pytest.CaptureFixture[str]) -> set[str]:
    return {line["action"] for line in told(capsys).values()}


def test_creates_every_dashboard_in_the_folder(double: Double, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(double, "--folder", "kafka", "-o", "json") == 0
    assert list(double.dashboards) == UIDS
    assert {stored.folder for stored in double.dashboards.values()} == {"kafka"}
    assert double.shown(FLEET.uid) == json.loads(rendered()[FLEET.file])
    assert actions(capsys) == {"create"}


@pytest.mark.parametrize("bare", [False, True])
def test_what_is_there_already_is_not_stored_again(
    double: Double, capsys: pytest.CaptureFixture[str], bare: bool
) -> None:
    double.bare = bare
    run(double)
    capsys.readouterr()
    assert run(double, "-o", "json") == 0
    assert actions(capsys) == {"unchanged"}
    assert double.writes == len(UIDS)


def older(double: Double, uid: str) -> None:
    """As an earlier release of ours left it."""
    model = {**double.shown(uid), "title": "as it was"}
    double.dashboards[uid].versions.append((model, publish.message(model)))


def test_an_earlier_version_of_ours_is_replaced_where_it_is(double: Double, capsys: pytest.CaptureFixture[str]) -> None:
    run(double, "--folder", "kafka")
    older(double, FLEET.uid)
    capsys.readouterr()
    assert run(double, "-o", "json") == 0
    assert told(capsys)[FLEET.uid]["action"] == "update"
    assert double.shown(FLEET.uid)["title"] == FLEET.title
    assert double.dashboards[FLEET.uid].folder == "kafka"  # not moved to the root


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_what_was_edited_by_hand_is_left_alone_and_shown(
    double: Double, capsys: pytest.CaptureFixture[str], dry_run: list[str]
) -> None:
    run(double)
    double.edit(FLEET.uid, title="Our fleet")
    capsys.readouterr()
    assert run(double, *dry_run) == 1
    printed = capsys.readouterr().out
    assert "edited by hand" in printed
    assert '- "title": "Our fleet"' in printed
    assert f'+ "title": "{FLEET.title}"' in printed
    assert double.shown(FLEET.uid)["title"] == "Our fleet"
    assert double.writes == len(UIDS)


def test_an_edit_under_our_message_is_found_by_its_content(double: Double) -> None:
    run(double)
    mine = double.dashboards[FLEET.uid].versions[-1]
    double.dashboards[FLEET.uid].versions.append(({**mine[0], "title": "Our fleet"}, mine[1]))
    assert run(double) == 1
    assert double.shown(FLEET.uid)["title"] == "Our fleet"


def test_force_overwrites_and_the_edit_stays_in_the_history(double: Double) -> None:
    run(double)
    double.edit(FLEET.uid, title="Our fleet")
    assert run(double, "--force") == 0
    assert [content["title"] for content, _ in double.dashboards[FLEET.uid].versions] == [
        FLEET.title,
        "Our fleet",
        FLEET.title,
    ]
    assert run(double) == 0


def test_a_dry_run_stores_nothing_and_shows_the_difference(double: Double, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(double, "--dry-run", "--folder", "new", "--folder-title", "New", "-o", "json") == 0
    assert actions(capsys) == {"create"}
    assert (double.writes, "new" in double.folders) == (0, False)
    run(double)
    older(double, FLEET.uid)
    capsys.readouterr()
    assert run(double, "--dry-run", "-o", "json") == 0
    assert '- "title": "as it was"' in told(capsys)[FLEET.uid]["diff"]
    assert run(double, "--dry-run") == 0
    assert f"{FLEET.uid:32} would update" in capsys.readouterr().out
    assert double.shown(FLEET.uid)["title"] == "as it was"


def test_a_missing_folder_is_made_only_when_its_title_is_given(
    double: Double, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(double, "--folder", "new") == 2
    assert "--folder-title" in capsys.readouterr().err
    assert run(double, "--folder", "new", "--folder-title", "New") == 0
    assert double.folders["new"] == "New"


def test_another_folder_moves_what_is_ours(double: Double, capsys: pytest.CaptureFixture[str]) -> None:
    run(double)
    capsys.readouterr()
    assert run(double, "--folder", "kafka", "--dry-run") == 0
    assert "folder: (root) -> kafka" in capsys.readouterr().out
    assert run(double, "--folder", "kafka") == 0
    assert {stored.folder for stored in double.dashboards.values()} == {"kafka"}


def test_somebody_saving_at_this_moment_is_not_overwritten(double: Double, capsys: pytest.CaptureFixture[str]) -> None:
    run(double)
    older(double, FLEET.uid)
    double.raced = True
    assert run(double, "--force") == 2
    assert "publish again" in capsys.readouterr().err
    assert double.shown(FLEET.uid)["title"] == "mine"


def test_token_may_come_from_a_file(double: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE)
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    assert run(double, "--token-file", str(file)) == 0


@pytest.mark.parametrize(
    ("token", "url", "said"),
    [
        ("", "http://127.0.0.1:1", "no token"),
        ("hush\nhush", "http://127.0.0.1:1", "the token is not one word"),
        ("wrong", None, "Unauthorized"),
        (TOKEN, "grafana:3000", "is not an address"),
        (TOKEN, "closed", "cannot be reached"),
        (TOKEN, f"http://jane:{TOKEN}@127.0.0.1:1", "must hold no user and no password"),
    ],
)
def test_says_in_one_sentence_what_is_wrong(
    double: Double,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    token: str,
    url: str | None,
    said: str,
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    if url == "closed":
        with socket.socket() as bound:  # bound but not listening: connections are refused
            bound.bind(("127.0.0.1", 0))
            code = publish.main(["--url", f"http://127.0.0.1:{bound.getsockname()[1]}"])
    else:
        code = publish.main(["--url", url or double.url])
    error = capsys.readouterr().err
    assert code == 2
    assert said in error
    assert error.count("\n") == 1
    assert TOKEN not in error
