"""Writes dashboards, alert rules and runbooks: the same bytes for the same code; `--check` finds drift."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards import tables
from dashboards.alerts import prometheus_rule, rule_file
from dashboards.frames import rebalances
from dashboards.runbooks import pages
from dashboards.shelf import SHELF
from streaming.core.settings import RUNBOOKS

GENERATED = Path(__file__).parent / "generated"
DOCS = Path(__file__).parents[1] / "docs"
_HEADER = "# Made by `rebalance-monitor dashboards build` from dashboards/alerts.py; edit that file.\n"


def render(runbooks: str = RUNBOOKS) -> dict[str, str]:
    """File name -> text of everything that is generated."""
    return {
        **{place.file: _dashboard_text(build()) for place, build in SHELF},
        "annotation.json": _dashboard_text(rebalances(tables.annotations()).build()),
        "alerts.yml": _yaml(rule_file(runbooks)),
        "prometheusrule.yaml": _yaml(prometheus_rule(runbooks)),
    }


def _yaml(document: dict[str, Any]) -> str:
    return _HEADER + yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=10_000)


def _dashboard_text(model: object) -> str:
    return json.dumps(model, cls=JSONEncoder, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main(argv: Sequence[str]) -> int:
    """Write or check the generated files. 0: written or equal; 1: `--check` found a difference."""
    parser = argparse.ArgumentParser(prog="rebalance-monitor dashboards build", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    parser.add_argument("--out", type=Path, default=GENERATED, metavar="DIR", help="where the files are or go")
    parser.add_argument("--docs", type=Path, default=DOCS, metavar="DIR", help="where runbooks and rules.md are or go")
    parser.add_argument("--runbooks", default=RUNBOOKS, metavar="URL", help="address in front of each runbook's name")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="how to report")
    options = parser.parse_args(argv)
    drifted = False
    files = {name: (options.out / name, text) for name, text in render(options.runbooks).items()}
    # An installed package has no documentation next to it.
    if options.docs != DOCS or (DOCS / "alerts.md").exists():
        files |= {f"docs/{name}": (options.docs / name, text) for name, text in pages().items()}
    for name, (path, text) in files.items():
        state = _settle(path, text, check=options.check)
        drifted = drifted or state == "differs"
        report = {"kind": "file", "file": name, "state": state}
        print(json.dumps(report) if options.output == "json" else f"{name:48} {state}", flush=True)
    return 1 if drifted else 0


def _settle(path: Path, text: str, *, check: bool) -> str:
    present = path.read_text(encoding="utf-8") if path.exists() else None
    if present == text:
        return "unchanged"
    if check:
        return "differs"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return "written"
