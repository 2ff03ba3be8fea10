"""What is committed is what the code makes, and it keeps the promises that readers of a dashboard rely on."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("grafana_foundation_sdk")

from dashboards import build, queries
from dashboards.build import GENERATED, render
from dashboards.runbooks import pages
from streaming.core.metrics import GENERATIONS, METRICS, PREFIX

ROOT = Path(__file__).parents[2]
NAMES = {metric.name for metric in METRICS}


def panels(file: str) -> list[dict[str, Any]]:
    return list(json.loads(render()[file])["panels"])


def every_panel() -> Iterator[Any]:
    for file in ("fleet.json", "group.json"):
        for panel in panels(file):
            if panel["type"] != "row":
                yield pytest.param(panel, id=f"{file}-{panel['title']}")


@pytest.mark.parametrize("name", sorted(render()))
def test_committed_file_equals_what_the_code_makes(name: str) -> None:
    assert (GENERATED / name).read_text(encoding="utf-8") == render()[name]


def test_check_finds_drift_and_build_mends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--out", str(tmp_path), "--docs", str(tmp_path / "docs")]
    assert build.main([*where, "--check"]) == 1
    assert build.main(where) == 0
    assert build.main([*where, "--check"]) == 0
    (tmp_path / "group.json").write_text("{}")
    capsys.readouterr()
    assert build.main([*where, "--check", "-o", "json"]) == 1
    states = {line["file"]: line["state"] for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert {name for name, state in states.items() if state == "differs"} == {"group.json"}
    assert set(states) == {*render(), *(f"docs/{path}" for path in pages())}
    assert (tmp_path / "group.json").read_text() == "{}"


@pytest.mark.parametrize("panel", list(every_panel()))
def test_panel_explains_itself_and_names_no_data_source(panel: dict[str, Any]) -> None:
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    for source in [panel["datasource"], *(target["datasource"] for target in panel["targets"])]:
        assert source["uid"] in ("${prometheus}", "${postgres}")


@pytest.mark.parametrize("file", ["fleet.json", "group.json"])
def test_panels_have_their_own_number_and_place(file: str) -> None:
    numbers = [panel["id"] for panel in panels(file)]
    assert numbers == list(range(1, len(numbers) + 1))
    cells = [
        (x, y)
        for panel in panels(file)
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23


@pytest.mark.parametrize("name", sorted(render()))
def test_only_declared_series_are_used(name: str) -> None:
    used = set(re.findall(rf"\b{PREFIX}[a-z_]+", render()[name]))
    assert used
    assert used <= NAMES


def test_a_label_that_a_metric_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="has no label worker"):
        queries.rate(GENERATIONS, ("worker",))


def test_runbooks_can_live_elsewhere() -> None:
    rules = yaml.safe_load(render("https://wiki.example.org/runbooks")["alerts.yml"])
    urls = [rule["annotations"]["runbook_url"] for group in rules["groups"] for rule in group["rules"]]
    assert urls[0] == "https://wiki.example.org/runbooks/RebalanceIncidentWhileBlind.md"
    assert urls[1] == "https://wiki.example.org/runbooks/{{ $labels.rule }}.md"


def test_provisioning_names_no_host_and_no_secret() -> None:
    for file in (ROOT / "dashboards" / "provisioning").glob("*.yml"):
        parsed = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert parsed["apiVersion"] == 1
        for source in parsed.get("datasources", []):
            assert source["url"].startswith("${")
            assert all(value.startswith("${") for value in source.get("secureJsonData", {}).values())
