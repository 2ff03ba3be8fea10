"""`make test-of`: which tests a room needs, by where things are."""

from pathlib import Path

import pytest

from lab import room_tests
from lab.paths import ROOT
from lab.room_tests import TESTS, module_of, needed

PRODUCT = ("schemas", "assignors", "dashboards", "streaming")
ROOMS = sorted(
    path.parent.relative_to(ROOT)
    for top in PRODUCT
    for path in (ROOT / top).rglob("__init__.py")
    if len(path.relative_to(ROOT).parts) <= 4
)


def test_every_room_of_the_product_has_tests() -> None:
    assert [room for room in ROOMS if not needed(room).run] == []


def test_a_room_has_the_tests_of_its_folder_and_those_that_import_from_it() -> None:
    run = needed(Path("streaming/notify")).run
    assert {path.parent for path in run} > {TESTS / "streaming" / "notify"}
    assert TESTS / "streaming" / "store" / "test_migrations.py" not in needed(Path("streaming/web")).run


def test_a_helper_and_a_file_count_like_a_folder() -> None:
    helper = needed(Path("tests/postgres_server.py"))
    assert TESTS / "web" / "test_api.py" in helper.run
    one = set(needed(Path("streaming/notify/webhook.py")).run)
    assert one <= set(needed(Path("streaming/notify")).run)


def test_files_of_the_integration_tier_are_named_and_not_run() -> None:
    found = needed(Path("lab/simulated_group"))
    assert TESTS / "integration" / "test_static_plan.py" in found.integration
    assert not set(found.run) & set(found.integration)


def test_rooms_are_imported_by_one_name() -> None:
    assert module_of(Path("streaming/store/__init__.py")) == "rebalance_monitor.streaming.store"
    assert module_of(Path("lab/tiers.py")) == "lab.tiers"


@pytest.mark.parametrize("arguments", [[], ["docs"], ["nowhere/at/all.py"]])
def test_a_room_that_is_not_there_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert room_tests.main(arguments) == 2
    assert capsys.readouterr().out.count("\n") == 1
