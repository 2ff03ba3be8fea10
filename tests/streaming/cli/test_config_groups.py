"""`config check` says which of several entries counts, and which expectation nobody can judge."""

import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.config_groups import _covers, found_by, notes_of
from rebalance_monitor.streaming.config.settings import Settings

CLUSTERS = [{"name": "a", "bootstrap_servers": "k:1"}, {"name": "b", "bootstrap_servers": "k:2", "source": "poll"}]


def settings(*entries: dict[str, Any], **sections: Any) -> Settings:
    owned = [{"team": "t", **one} for one in entries]
    return Settings.model_validate({"clusters": CLUSTERS, "groups": owned, **sections})


@pytest.mark.parametrize(
    ("entries", "sections", "says"),
    [
        (
            [{"match": "orders-*"}, {"match": "orders-7", "members_at_least": 1}],
            {},
            ["groups[1] (orders-7) never counts: groups[0] (orders-*) comes first and fits all its groups"],
        ),
        ([{"match": "orders-7", "members_at_least": 1}, {"match": "orders-*"}], {}, []),
        ([{"match": "*", "cluster": "a"}, {"match": "orders-*"}], {}, []),
        (
            [{"match": "x", "cluster": "c*"}],
            {},
            ["groups[0] (x) never counts: no cluster of this configuration is called c*"],
        ),
        (
            [{"match": "x", "lag_s": 5}],
            {"polling": {"progress": False}},
            ["groups[0] (x): lag_s is not judged, because polling.progress is false and no lag is known"],
        ),
        (
            [{"match": "x*", "lag_s": 5}],
            {"polling": {"progress_groups": ["xy*"]}},
            ["groups[0] (x*): lag_s is judged only of groups that polling.progress_groups names"],
        ),
        ([{"match": "xyz", "lag_s": 5}], {"polling": {"progress_groups": ["xy*"]}}, []),
        (
            [{"match": "x", "rebalances_per_hour": 4}],
            {},
            ["groups[0] (x): rebalances_per_hour is not judged in cluster b, whose groups are polled"],
        ),
    ],
)
def test_what_is_said(entries: list[dict[str, Any]], sections: dict[str, Any], says: list[str]) -> None:
    assert list(notes_of(settings(*entries, **sections))) == says


PATTERNS = st.text("ab*?[]", min_size=1, max_size=5)


@given(PATTERNS, PATTERNS, st.text("ab*", max_size=5))
def test_what_is_covered_surely_fits(wide: str, narrow: str, group: str) -> None:
    if _covers(wide, narrow) and fnmatchcase(group, narrow):
        assert fnmatchcase(group, wide)


def test_for_how_many_groups_a_pattern_counts() -> None:
    core = settings(
        {"match": "orders-7", "members_at_least": 2},
        {"match": "orders-*", "lag_s": 5},
        {"match": "gone-*", "rebalances_per_hour": 5},
        {"match": "*"},
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
        "groups: [{team: t}, {team: u, match: x}]\n"
    )
    note = "groups[1] (x) never counts: groups[0] (*) comes first and fits all its groups"
    assert main(["config", "check", "--config", path]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"note: {note}"
    assert main(["config", "check", "--config", path, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"kind": "note", "text": note}
