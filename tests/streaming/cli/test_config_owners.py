"""`config check` says which of several owners counts, and which expectation nobody can judge."""

import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.config_owners import _covers, found_by, notes_of
from rebalance_monitor.streaming.config.settings import Settings

CLUSTERS = [{"name": "a", "bootstrap_servers": "k:1"}, {"name": "b", "bootstrap_servers": "k:2", "source": "poll"}]


def settings(*owners: dict[str, Any], **sections: Any) -> Settings:
    owned = [{"team": "t", **one} for one in owners]
    return Settings.model_validate({"clusters": CLUSTERS, "owners": owned, **sections})


@pytest.mark.parametrize(
    ("owners", "sections", "says"),
    [
        (
            [{"groups": "orders-*"}, {"groups": "orders-7", "members_at_least": 1}],
            {},
            ["owners[1] (orders-7) never counts: owners[0] (orders-*) comes first and fits all its groups"],
        ),
        ([{"groups": "orders-7", "members_at_least": 1}, {"groups": "orders-*"}], {}, []),
        ([{"groups": "*", "cluster": "a"}, {"groups": "orders-*"}], {}, []),
        (
            [{"groups": "x", "cluster": "c*"}],
            {},
            ["owners[0] (x) never counts: no cluster of this configuration is called c*"],
        ),
        (
            [{"groups": "x", "lag_s": 5}],
            {"polling": {"progress": False}},
            ["owners[0] (x): lag_s is not judged, because polling.progress is false and no lag is known"],
        ),
        (
            [{"groups": "x*", "lag_s": 5}],
            {"polling": {"progress_groups": ["xy*"]}},
            ["owners[0] (x*): lag_s is judged only of groups that polling.progress_groups names"],
        ),
        ([{"groups": "xyz", "lag_s": 5}], {"polling": {"progress_groups": ["xy*"]}}, []),
        (
            [{"groups": "x", "rebalances_per_hour": 4}],
            {},
            ["owners[0] (x): rebalances_per_hour is not judged in cluster b, whose groups are polled"],
        ),
    ],
)
def test_what_is_said(owners: list[dict[str, Any]], sections: dict[str, Any], says: list[str]) -> None:
    assert list(notes_of(settings(*owners, **sections))) == says


PATTERNS = st.text("ab*?[]", min_size=1, max_size=5)


@given(PATTERNS, PATTERNS, st.text("ab*", max_size=5))
def test_what_is_covered_surely_fits(wide: str, narrow: str, group: str) -> None:
    if _covers(wide, narrow) and fnmatchcase(group, narrow):
        assert fnmatchcase(group, wide)


def test_for_how_many_groups_a_pattern_counts() -> None:
    core = settings(
        {"groups": "orders-7", "members_at_least": 2},
        {"groups": "orders-*", "lag_s": 5},
        {"groups": "gone-*", "rebalances_per_hour": 5},
        {"groups": "*"},
    ).core_clusters()["a"]
    groups = ("orders-7", "orders-8", "orders-9", "other")
    assert list(found_by(core, groups)) == [("orders-7", 1), ("orders-*", 2), ("gone-*", 0)]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / "monitor.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_people_and_programs_are_told(written: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    path = written(
        "database: {dsn: 'postgresql://monitor@db/monitor'}\nclusters: [{name: a, bootstrap_servers: 'k:1'}]\n"
        "owners: [{team: t}, {team: u, groups: x}]\n"
    )
    note = "owners[1] (x) never counts: owners[0] (*) comes first and fits all its groups"
    assert main(["config", "check", "--config", path]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"note: {note}"
    assert main(["config", "check", "--config", path, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"kind": "note", "text": note}
