"""The load of generations: true answers are no alarm; what was planted is told with its rules, and nothing else is."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from lab.bench.generations.__main__ import main
from lab.bench.generations.load import KINDS, Load
from lab.bench.generations.played import Size
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.replay import replay

SIZE = Size(generations=70, groups=2, changing=0.15, wrong=0.15)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_planted_is_told_and_nothing_else(kind: str) -> None:
    load = Load(SIZE, (kind,))
    told = replay(list(load.records()), load.settings, knowledge=load.knowledge()).objects
    moments = {(one["group"], one["at_ms"]): one["generation"] for one in told if one["kind"] == "generation"}
    found = defaultdict[tuple[str, int], set[str]](set)
    for one in told:
        if one["kind"] == "violation":
            found[one["group"], moments[one["group"], one["opened_at_ms"]]].add(one["code"])
    unexplained = {
        (one["group"], one["generation"])
        for one in told
        if one["kind"] == "generation" and one["verdict"]["grade"] == "unexplained"
    }
    assert load.planted
    assert found == load.planted
    assert unexplained == load.planted.keys()
    assert Counter(one["kind"] for one in told)["generation"] == load.generations == SIZE.generations


def test_a_seed_is_a_load() -> None:
    first, again = (list(Load(Size(generations=40, groups=7)).records()) for _ in range(2))
    other = list(Load(Size(generations=40, groups=7, seed=2)).records())
    assert first == again
    assert first != other


def test_most_generations_change_nothing() -> None:
    load = Load(Size(generations=200, groups=2), ("range", "sticky"))
    told = replay(list(load.records()), load.settings, knowledge=load.knowledge()).objects
    changed = [one for one in told if one["kind"] == "generation" and one["diff"]]
    assert 2 < len(changed) < 0.2 * 200


def test_the_capture_holds_the_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--generations", "30", "--groups", "7", "--wrong", "0.2"]) == 0
    load = Load(Size(generations=30, groups=7, wrong=0.2))
    records = list(load.records())
    assert list(records_of(tmp_path)) == records
    assert settings_of(tmp_path).connect == load.settings.connect
    assert knowledge_of(tmp_path).topics == load.knowledge().topics
    assert f"{len(records)} records, 30 generations" in capsys.readouterr().out
