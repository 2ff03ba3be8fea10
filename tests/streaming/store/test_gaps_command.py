"""`rebalance-monitor gaps` against a real database: what is listed, what is acknowledged, one sentence else."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.core.model.results import GapRecord
from rebalance_monitor.streaming.store import gaps
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import TOPIC
from tests.web.filled import put

pytestmark = pytest.mark.postgres
Command = Callable[..., tuple[int, str, str]]
WEEK_S = 604_800


@pytest.fixture
def command(dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command with a configuration that names one cluster and this database."""
    (tmp_path / "monitor.yaml").write_text("clusters: [{name: orders, bootstrap_servers: 'k:9092'}]\n")
    monkeypatch.setenv("REBALANCE_MONITOR__DATABASE__DSN", dsn)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["gaps", *arguments, "--config", str(tmp_path / "monitor.yaml")])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def gap(topic: str = TOPIC, start: int = 3, end: int = 7, reason: str = "deleted_before_read") -> GapRecord:
    return GapRecord(cluster="orders", topic=topic, partition=9, from_offset=start, to_offset=end, reason=reason)


def listed(command: Command, *more: str) -> list[tuple[str, int, bool]]:
    """Topic, first offset and whether somebody took note, of each gap."""
    code, said, _ = command("list", "-o", "json", *more)
    assert code == 0
    found = [json.loads(line) for line in said.splitlines()]
    return [(one["topic"], one["from_offset"], one["acknowledged"] is not None) for one in found]


def test_a_gap_is_listed_until_it_is_acknowledged(command: Command, store: PostgresStore) -> None:
    assert command("list") == (0, "no gap that nobody has acknowledged\n", "")
    assert command("list", "--all") == (0, "no gap\n", "")
    put(store, gap(), gap("sinks-status", 0, 5), gap("sinks-configs", 12, 12, "topic_made_anew"))
    assert {one[0] for one in listed(command)} == {TOPIC, "sinks-status", "sinks-configs"}
    code, said, _ = command("list")
    assert (code, "3 to 7" in said, "deleted_before_read" in said) == (0, True, True)
    assert command("acknowledge", "--topic", "sinks-status") == (0, "1 gap is acknowledged\n", "")
    assert {one[0] for one in listed(command)} == {TOPIC, "sinks-configs"}
    assert command("acknowledge", "--cluster", "orders") == (0, "2 gaps are acknowledged\n", "")
    assert listed(command) == []
    assert {one[2] for one in listed(command, "--all")} == {True}
    assert command("acknowledge")[1] == "0 gaps are acknowledged\n"


def test_a_later_gap_is_shown_again(command: Command, store: PostgresStore) -> None:
    put(store, gap())
    command("acknowledge")
    put(store, gap(start=40, end=50), batch_id=8)
    assert listed(command) == [(TOPIC, 40, False)]
    with store.database.session() as connection:
        (known,) = gaps.known(connection, WEEK_S)
    assert (known.offsets, known.shown) == (14, 1), "what was lost stays counted"


def test_who_took_note_stands_with_the_gap(command: Command, store: PostgresStore) -> None:
    put(store, gap())
    command("acknowledge")
    with store.database.session() as connection:
        (listed,) = gaps.listed(connection, everything=True)
        (user,) = connection.execute("select session_user").fetchone() or ("",)
    assert (listed.acknowledged_by, bool(listed.acknowledged_operator)) == (user, True)
    assert command("list", "--all")[1].count(str(listed.acknowledged_operator)) >= 1


def test_before_the_first_start_it_says_so(command: Command) -> None:
    for arguments in (("list",), ("acknowledge",)):
        code, _, said = command(*arguments)
        assert (code, said.count("\n"), "no gaps to acknowledge yet" in said) == (2, 1, True)
