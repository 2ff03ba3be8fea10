"""Writes dashboards, alert rules and runbooks: the same bytes for the same code; `--check` finds drift."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder

from rebalance_monitor.streaming.cli.examples import show_own_examples
from rebalance_monitor.streaming.core.metrics import CLUSTER, label_problem
from rebalance_monitor.streaming.core.runbooks import Addresses
from . import tables
from .alerts import prometheus_rule, rule_file
from .cluster_label import renamed_dashboard, selector_problem
from .frames import rebalances
from .incident_alerts import OF_THE_MONITOR
from .published import pages, published
from .shelf import SHELF

GENERATED = Path(__file__).parent / "generated"
DOCS = Path(__file__).resolve().parents[1] / "docs"  # the folder is imported through a link
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""The one in C writes the same bytes in a twelfth of the time."""
_HEADER = "# Made by `rebalance-monitor dashboards build` from dashboards/alerts.py; edit that file.\n"


def render(addresses: Addresses | None = None, cluster_label: str = CLUSTER, selector: str = "") -> dict[str, str]:
    """File name -> text of everything that is generated. Addresses and `cluster_label`: as in the configuration."""
    return {
        **{place.file: _dashboard_text(build(), cluster_label, selector) for place, build in SHELF},
        "annotation.json": _dashboard_text(rebalances(tables.annotations()).build(), cluster_label, selector),
        "alerts.yml": _yaml(rule_file(addresses, cluster_label, selector)),
        "prometheusrule.yaml": _yaml(prometheus_rule(addresses, cluster_label, selector)),
    }


def _yaml(document: dict[str, Any]) -> str:
    return _HEADER + yaml.dump(document, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=10_000)


def _dashboard_text(model: object, cluster_label: str, selector: str) -> str:
    values = renamed_dashboard(json.loads(json.dumps(model, cls=JSONEncoder)), cluster_label, selector)
    return json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def cluster_label(text: str) -> str:
    problem = label_problem(text)
    if problem is not None:
        raise argparse.ArgumentTypeError(problem)
    return text


def selector(text: str) -> str:
    problem = selector_problem(text)
    if problem is not None:
        raise argparse.ArgumentTypeError(problem)
    return text


PUBLIC_URL_HELP = "the monitor's page as people reach it (default: what the monitor itself says, page.public_url)"
RUNBOOKS_HELP = "where a published copy of docs/runbooks is (default: the page's own /runbook)"
CLUSTER_LABEL_HELP = "the label that names the Kafka cluster, as metrics.cluster_label says (default: %(default)s)"
SELECTOR_HELP = "label matchers for the monitor's series, such as 'job=\"rebalance-monitor\"' (default: all series)"


def parser() -> argparse.ArgumentParser:
    usage = argparse.ArgumentParser(prog="rebalance-monitor dashboards build", description=__doc__)
    usage.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    usage.add_argument("--out", type=Path, default=GENERATED, metavar="DIR", help="where the files are or go")
    usage.add_argument("--docs", type=Path, default=DOCS, metavar="DIR", help="where generated pages are or go")
    usage.add_argument("--public-url", default=OF_THE_MONITOR, metavar="URL", help=PUBLIC_URL_HELP)
    usage.add_argument("--runbooks", default=None, metavar="URL", help=RUNBOOKS_HELP)
    usage.add_argument("--cluster-label", type=cluster_label, default=CLUSTER, metavar="NAME", help=CLUSTER_LABEL_HELP)
    usage.add_argument("--selector", type=selector, default="", metavar="MATCHERS", help=SELECTOR_HELP)
    usage.add_argument("-o", "--output", choices=("table", "json"), default="table", help="how to report")
    show_own_examples(usage, "dashboards build")
    return usage


def main(argv: Sequence[str]) -> int:
    """Write or check the generated files. 0: written or equal; 1: `--check` found a difference."""
    options = parser().parse_args(argv)
    states = []
    made = render(Addresses(options.public_url, options.runbooks), options.cluster_label, options.selector)
    files = {name: (options.out / name, text) for name, text in made.items()}
    # An installed package has no documentation next to it.
    if options.docs != DOCS or (DOCS / "alerts.md").exists():
        documents = pages(options.cluster_label) | published()
        files |= {f"docs/{name}": (options.docs / name, text) for name, text in documents.items()}
    for name, (path, text) in files.items():
        state = _settle(path, text, check=options.check)
        states.append(state)
        if options.output == "json":
            print(json.dumps({"kind": "file", "file": name, "state": state}), flush=True)
        elif state != "unchanged":
            print(f"{name:48} {state}", flush=True)
    if options.output == "table":
        print(f"{states.count('unchanged')} of {len(states)} files unchanged")
    return 1 if "differs" in states else 0


def _settle(path: Path, text: str, *, check: bool) -> str:
    present = path.read_text(encoding="utf-8") if path.exists() else None
    if present == text:
        return "unchanged"
    if check:
        return "differs"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return "written"
