"""Where a process that folds for the job finds the database: never in what was sent to it."""

import pickle
from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli import task_store
from rebalance_monitor.streaming.cli.opening import settings_from
from rebalance_monitor.streaming.cli.task_store import DSN

SECRET = "hush-hush"


@pytest.fixture(autouse=True)
def nothing_opened() -> None:
    task_store._opened.cache_clear()


def configured(folder: Path, database: str) -> str:
    path = folder / "monitor.yaml"
    path.write_text(
        "clusters: [{name: c, bootstrap_servers: 'localhost:9092'}]\n"
        f"database: {{dsn: 'postgresql://u:{SECRET}@127.0.0.1:1/{database}'}}\n"
    )
    return str(path)


def test_what_is_sent_holds_no_password(tmp_path: Path) -> None:
    config = configured(tmp_path, "one")
    assert SECRET.encode() not in pickle.dumps(task_store.task_store(settings_from(config), config, notify=True))


def test_an_edited_configuration_changes_nothing_of_a_running_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configured(tmp_path, "one")
    sent = pickle.loads(pickle.dumps(task_store.task_store(settings_from(config), config, notify=True)))
    monkeypatch.setenv(DSN, f"postgresql://u:{SECRET}@127.0.0.1:1/one")  # as the job sets it for its processes
    configured(tmp_path, "two")
    assert sent().database.address == "127.0.0.1:1/one"
    assert sent() is sent(), "it is opened once"


def test_on_another_machine_the_configuration_there_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = configured(tmp_path, "one")
    monkeypatch.delenv(DSN, raising=False)
    assert task_store.task_store(settings_from(config), config, notify=False)().database.address == "127.0.0.1:1/one"


def test_a_shadow_writes_into_its_schema_wherever_the_address_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configured(tmp_path, "one")
    sent = task_store.task_store(settings_from(config), config, notify=False, shadow="candidate")
    monkeypatch.delenv(DSN, raising=False)
    assert sent().database.schema == "candidate"
    task_store._opened.cache_clear()
    monkeypatch.setenv(DSN, f"postgresql://u:{SECRET}@127.0.0.1:1/one")
    assert pickle.loads(pickle.dumps(sent))().database.schema == "candidate"
