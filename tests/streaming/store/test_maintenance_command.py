"""`rebalance-monitor maintenance` against a real database: one sentence for every mistake, no secret in any of them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.moments import duration_ms, moment_ms
from rebalance_monitor.streaming.store.postgres import PostgresStore

ADD = ["add", "--groups", "connect-*", "--owner", "jane", "--reason", "broker upgrade"]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command with a configuration that names one cluster and this database."""
    (tmp_path / "monitor.yaml").write_text("clusters: [{name: orders, bootstrap_servers: 'k:9092'}]\n")
    monkeypatch.setenv("REBALANCE_MONITOR__DATABASE__DSN", dsn)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["maintenance", *arguments, "--config", str(tmp_path / "monitor.yaml")])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def one_sentence(text: str) -> bool:
    return text.startswith("rebalance-monitor: ") and text.count("\n") == 1 and "Traceback" not in text


@pytest.mark.postgres
def test_add_list_and_end(command: Command, store: PostgresStore) -> None:
    code, said, _ = command(*ADD, "--for", "2h")
    assert (code, said.startswith("window 1: groups connect-* of * until ")) == (0, True)
    assert command(*ADD, "--for", "1h", "--cluster", "ord*", "--begins", "2999-01-10T20:00:00Z")[0] == 0
    code, said, _ = command("list", "-o", "json")
    first, second = map(json.loads, said.splitlines())
    assert (first["state"], first["owner"], first["reason"]) == ("running", "jane", "broker upgrade")
    assert (second["state"], second["begins"], second["cluster"]) == ("planned", "2999-01-10T20:00:00Z", "ord*")
    assert command("end", "1")[0] == 0
    assert [json.loads(line)["id"] for line in command("list", "-o", "json")[1].splitlines()] == ["2"]
    (ended, _) = map(json.loads, command("list", "--all", "-o", "json")[1].splitlines())
    assert (ended["state"], ended["ended"]["by"]) == ("ended", ended["added"]["by"])
    assert "planned" in command("list")[1]


@pytest.mark.postgres
def test_windows_of_the_configuration_are_listed_too(
    command: Command, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"owner": "joe", "reason": "move", "begins": "2999-01-10T20:00:00Z", "ends": "2999-01-10T21:00:00Z"}
    monkeypatch.setenv("REBALANCE_MONITOR__MAINTENANCE", json.dumps([own]))
    (line,) = command("list", "-o", "json")[1].splitlines()
    assert (json.loads(line)["from"], json.loads(line)["state"]) == ("configuration", "planned")


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((*ADD, "--for", "8d"), "the window may last 7 days at most"),
        ((*ADD, "--for", "0h"), "the window must end after it begins"),
        ((*ADD, "--for", "2 hours"), "is no time; write 90m"),
        ((*ADD, "--for", "1h", "--begins", "2020-01-10T20:00:00Z"), "must end in the future"),
        ((*ADD, "--for", "1h", "--begins", "tomorrow"), "is no moment"),
        ((*ADD, "--for", "1h", "--begins", "2999-01-10T20:00:00"), "is no moment"),
        ((*ADD, "--for", "1h", "--cluster", "other"), "fits none of the configured clusters (orders)"),
        (("add", "--groups", "*", "--owner", " ", "--reason", "r", "--for", "1h"), "--owner is empty"),
        (("end", "12"), "there is no window 12"),
        (("end", "first"), "is no window's id"),
    ],
)
def test_a_mistake_is_one_sentence(
    command: Command, store: PostgresStore, arguments: tuple[str, ...], why: str
) -> None:
    code, _, said = command(*arguments)
    assert code == 2
    assert one_sentence(said)
    assert why in said


@pytest.mark.postgres
def test_before_the_first_start_it_says_so(command: Command) -> None:
    for arguments in ((*ADD, "--for", "1h"), ("list",), ("end", "1")):
        code, _, said = command(*arguments)
        assert (code, one_sentence(said), "no table of windows yet" in said) == (2, True, True)


def test_a_database_that_does_not_answer_is_one_sentence_without_its_password(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REBALANCE_MONITOR__DATABASE__MAINTENANCE_DSN", "postgresql://jane:planted@127.0.0.1:9/monitor")
    assert main(["maintenance", *ADD, "--for", "1h"]) == 2
    said = capsys.readouterr().err
    assert one_sentence(said)
    assert "database.maintenance_dsn" in said
    assert "planted" not in said


@pytest.mark.parametrize(("text", "expected"), [("90m", 5_400_000), ("1d12h", 129_600_000), ("30s", 30_000)])
def test_times(text: str, expected: int) -> None:
    assert duration_ms(text, "--for") == expected


def test_moments() -> None:
    assert moment_ms("2026-01-10T20:00:00+01:00", "--at") == moment_ms("2026-01-10T19:00:00Z", "--at")
