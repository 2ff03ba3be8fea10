"""What is committed is what the code makes, and it keeps the promises that readers of a dashboard rely on."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("grafana_foundation_sdk")

from rebalance_monitor.dashboards import build, queries
from rebalance_monitor.dashboards.build import GENERATED, render
from rebalance_monitor.dashboards.places import PLACES
from rebalance_monitor.dashboards.published import pages, published
from rebalance_monitor.dashboards.shelf import SHELF
from rebalance_monitor.streaming.core.metrics import GENERATIONS, METRICS, PREFIX
from rebalance_monitor.streaming.core.runbooks import Addresses
from tests.dashboards.asked import rendered

ROOT = Path(__file__).parents[2]
NAMES = {metric.name for metric in METRICS}
SERIES = NAMES | {f"{metric.name}_bucket" for metric in METRICS if metric.kind == "histogram"}
FILES = [place.file for place, _ in SHELF]
RENDERED = rendered()


def panels(file: str) -> list[dict[str, Any]]:
    return list(json.loads(RENDERED[file])["panels"])


def every_panel() -> Iterator[Any]:
    for file in FILES:
        for panel in panels(file):
            if panel["type"] != "row":
                yield pytest.param(panel, id=f"{file}-{panel['title']}")


MADE_BY = "`rebalance-monitor dashboards build` writes it"


@pytest.mark.parametrize("name", sorted(RENDERED))
def test_committed_file_equals_what_the_code_makes(name: str) -> None:
    assert (GENERATED / name).read_text(encoding="utf-8") == RENDERED[name], MADE_BY


@pytest.mark.parametrize("name", sorted(published()))
def test_committed_page_equals_what_the_code_makes(name: str) -> None:
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == published()[name], MADE_BY


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
    assert set(states) == {*RENDERED, *(f"docs/{path}" for path in (*pages(), *published()))}
    assert (tmp_path / "group.json").read_text() == "{}"


@pytest.mark.parametrize("panel", list(every_panel()))
def test_panel_explains_itself_and_names_no_data_source(panel: dict[str, Any]) -> None:
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    for source in [panel["datasource"], *(target["datasource"] for target in panel["targets"])]:
        assert source["uid"] in ("${prometheus}", "${postgres}")


@pytest.mark.parametrize("file", FILES)
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


@pytest.mark.parametrize("name", sorted(RENDERED))
def test_only_declared_series_are_used(name: str) -> None:
    assert set(re.findall(rf"\b{PREFIX}[a-z_]+", RENDERED[name])) <= SERIES


def test_every_declared_series_is_shown_somewhere() -> None:
    shown = {used for file in FILES for used in re.findall(rf"\b{PREFIX}[a-z_]+", RENDERED[file])}
    assert NAMES - {one.removesuffix("_bucket") for one in shown} == set()


@pytest.mark.parametrize("file", FILES)
def test_links_lead_both_ways_and_to_nothing_else(file: str) -> None:
    dashboard = json.loads(RENDERED[file])
    assert {link["url"].partition("?")[0] for link in dashboard["links"]} == {
        f"/d/{place.uid}" for place in PLACES if place.file != file
    }
    known = {place.uid for place in PLACES}
    assert set(re.findall(r'/d/([^?"\\]+)', RENDERED[file])) <= known


def links(model: Any) -> Iterator[dict[str, Any]]:
    """Every link of a dashboard: its navigation, and those of the cells of its tables."""
    match model:
        case dict():
            if str(model.get("url", "")).startswith("/d/"):
                yield model
            for value in model.values():
                yield from links(value)
        case list():
            for value in model:
                yield from links(value)
        case _:
            pass


@pytest.mark.parametrize("file", FILES)
def test_every_link_keeps_the_time_and_the_variables_that_both_dashboards_have(file: str) -> None:
    variables = {
        json.loads(RENDERED[place.file])["uid"]: {
            one["name"] for one in json.loads(RENDERED[place.file])["templating"]["list"]
        }
        for place in PLACES
    }
    dashboard = json.loads(RENDERED[file])
    for link in links(dashboard):
        there = re.findall(r"/d/([^?]+)", link["url"])[0]
        shared = variables[dashboard["uid"]] & variables[there]
        if link.get("includeVars"):
            assert link["keepTime"]
            continue
        given = set(re.findall(r"[?&](?:var-(?=\w+=)|\$\{(?=\w+:queryparam\}))(\w+)", link["url"]))
        assert shared <= given <= variables[there]
        assert link.get("keepTime") or link["url"].endswith("&${__url_time_range}")


@pytest.mark.parametrize("file", FILES)
def test_variables_are_chained_and_name_no_data_source(file: str) -> None:
    variables = json.loads(RENDERED[file])["templating"]["list"]
    names = [variable["name"] for variable in variables]
    assert names[:2] == ["prometheus", "postgres"]
    for at, variable in enumerate(variables[2:], start=2):
        assert variable["datasource"]["uid"] in ("${prometheus}", "${postgres}")
        used = set(re.findall(r"\$\{?([a-z]+)", variable["definition"])) & set(names)
        assert used == set(names[2:at])  # each is asked for within what was chosen before


def test_the_mark_for_other_dashboards_leans_on_no_variable_of_ours() -> None:
    text = RENDERED["annotation.json"]
    assert set(re.findall(r"\$\{(\w+)", text)) == {"postgres"}
    assert json.loads(text)["target"]["refId"]


def test_every_kind_of_group_with_a_view_has_one() -> None:
    kinds = [place.kind for place in PLACES if place.kind]
    assert len(kinds) == len(set(kinds))
    assert [place for place, _ in SHELF] == list(PLACES)
    assert all(json.loads(RENDERED[place.file])["uid"] == place.uid for place in PLACES)


def test_a_label_that_a_metric_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="has no label worker"):
        queries.rate(GENERATIONS, ("worker",))


def test_runbooks_can_live_elsewhere() -> None:
    rules = yaml.safe_load(render(Addresses(runbooks="https://wiki.example.org/runbooks"))["alerts.yml"])
    urls = [
        rule["annotations"]["runbook_url"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule
    ]
    assert urls[0] == "https://wiki.example.org/runbooks/RebalanceIncidentWhileBlind.md"
    assert urls[1] == "https://wiki.example.org/runbooks/duplicate_active.md"


def test_links_lead_to_the_page_as_people_reach_it() -> None:
    rules = yaml.safe_load(render(Addresses("https://kafka.example/monitor/"))["alerts.yml"])
    said = [rule["annotations"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule]
    assert all(one["runbook_url"].startswith("https://kafka.example/monitor/runbook?rule=") for one in said)
    assert "https://kafka.example/monitor/group?cluster={{ urlquery $labels.cluster }}" in said[1]["group_url"]


def test_provisioning_names_no_host_and_no_secret() -> None:
    for file in (ROOT / "dashboards" / "provisioning").glob("*.yml"):
        parsed = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert parsed["apiVersion"] == 1
        for source in parsed.get("datasources", []):
            assert source["url"].startswith("${")
            assert all(value.startswith("${") for value in source.get("secureJsonData", {}).values())


def test_the_documents_of_a_clone_are_found() -> None:
    """Without them `build` would write dashboards alone, as it does when installed."""
    assert (build.DOCS / "alerts.md").exists()
