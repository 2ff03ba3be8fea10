"""Uploads the generated dashboards to a Grafana, and never over somebody's own work.

Every version that is published carries the hash of its content in its message. The latest version in Grafana is ours
if its message has such a hash and its content still gives it; anything else was edited by hand. The token comes from
the environment or a file, never from the command line, where every process could read it.
"""

import argparse
import difflib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rebalance_monitor.streaming.cli.examples import show_own_examples
from rebalance_monitor.streaming.core.metrics import CLUSTER
from .build import CLUSTER_LABEL_HELP, SELECTOR_HELP, cluster_label, render, selector
from .grafana import Grafana, GrafanaRefused, HeldDashboard
from .shelf import SHELF

TOKEN_VARIABLE = "REBALANCE_MONITOR_GRAFANA_TOKEN"
_MARK = re.compile(r"^rebalance-monitor sha256:([0-9a-f]{64})$")
_GRAFANAS_OWN = ("id", "version", "iteration")
"""Fields that Grafana sets when it stores a dashboard."""

Model = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishStep:
    """What is to be done with one dashboard: `create`, `update`, `unchanged` or `edited` (by hand, left alone)."""

    model: Model
    action: str
    diff: str = ""


def fingerprint(model: Mapping[str, Any]) -> str:
    """Hash of a dashboard's content, without what Grafana adds."""
    own = {key: value for key, value in model.items() if key not in _GRAFANAS_OWN}
    return hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()


def message(model: Mapping[str, Any]) -> str:
    """The message of the version that stores this content."""
    return f"rebalance-monitor sha256:{fingerprint(model)}"


def planned(model: Model, held: HeldDashboard | None, folder: str | None, *, force: bool) -> PublishStep:
    """What to do, given what Grafana holds. `folder` None: wherever it is."""
    if held is None:
        return PublishStep(model=model, action="create")
    marked = _MARK.match(held.message)
    ours = marked is not None and marked[1] == fingerprint(held.model)
    diff = _diff(held.model, model)
    if folder is not None and folder != held.folder:
        diff = f"folder: {held.folder or '(root)'} -> {folder}\n{diff}".rstrip()
    elif fingerprint(held.model) == fingerprint(model):
        return PublishStep(model=model, action="unchanged")
    return PublishStep(model=model, action="update" if ours or force else "edited", diff=diff)


def _diff(held: Mapping[str, Any], model: Mapping[str, Any]) -> str:
    lines = difflib.unified_diff(_lines(held), _lines(model), "in Grafana", "generated", n=2, lineterm="")
    return "\n".join(lines)


def _lines(model: Mapping[str, Any]) -> list[str]:
    own = {key: value for key, value in model.items() if key not in _GRAFANAS_OWN}
    return json.dumps(own, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def publish(
    grafana: Grafana,
    folder: str | None,
    folder_title: str | None,
    *,
    dry_run: bool,
    force: bool,
    label: str = CLUSTER,
    matchers: str = "",
) -> Iterator[PublishStep]:
    """Settle every dashboard, one by one; each step is told after it was taken. Raises Refused."""
    if folder is not None and not grafana.has_folder(folder):
        if folder_title is None:
            raise GrafanaRefused(f"Grafana has no folder {folder!r}; give its uid, or --folder-title to have it made")
        if not dry_run:
            grafana.make_folder(folder, folder_title)
    made = render(cluster_label=label, selector=matchers)
    for place, _ in SHELF:
        model: Model = json.loads(made[place.file])
        held = grafana.held(place.uid)
        step = planned(model, held, folder, force=force)
        if step.action in ("create", "update") and not dry_run:
            kept = held.folder if held is not None else ""
            grafana.store(model, kept if folder is None else folder, message(model), held)
        yield step


def parser() -> argparse.ArgumentParser:
    usage = argparse.ArgumentParser(prog="rebalance-monitor dashboards publish", description=__doc__)
    usage.add_argument("--url", required=True, help="address of Grafana, such as http://127.0.0.1:3000")
    usage.add_argument("--folder", default=None, metavar="UID", help="folder to put them into (default: General)")
    usage.add_argument("--folder-title", default=None, metavar="TEXT", help="make the folder, if it is missing")
    usage.add_argument("--dry-run", action="store_true", help="change nothing; show what would be")
    usage.add_argument("--force", action="store_true", help="overwrite what was edited by hand, too")
    usage.add_argument("--token-file", type=Path, default=None, help=f"file with the token; else ${TOKEN_VARIABLE}")
    usage.add_argument("--cluster-label", type=cluster_label, default=CLUSTER, metavar="NAME", help=CLUSTER_LABEL_HELP)
    usage.add_argument("--selector", type=selector, default="", metavar="MATCHERS", help=SELECTOR_HELP)
    usage.add_argument("-o", "--output", choices=("table", "json"), default="table", help="how to report")
    show_own_examples(usage, "dashboards publish")
    return usage


def main(argv: Sequence[str]) -> int:
    """Upload the dashboards. 0: all are there; 1: one was edited by hand; 2: wrong usage, or Grafana refuses."""
    options = parser().parse_args(argv)
    edited = False
    try:
        grafana = Grafana(options.url, _token(options.token_file))
        steps = publish(
            grafana,
            options.folder,
            options.folder_title,
            dry_run=options.dry_run,
            force=options.force,
            label=options.cluster_label,
            matchers=options.selector,
        )
        for step in steps:
            edited = edited or step.action == "edited"
            _tell(step, dry_run=options.dry_run, as_json=options.output == "json")
    except GrafanaRefused as why:
        print(why, file=sys.stderr)
        return 2
    return 1 if edited else 0


def _tell(step: PublishStep, *, dry_run: bool, as_json: bool) -> None:
    show = dry_run or step.action == "edited"
    if as_json:
        report = {"kind": "dashboard", "uid": step.model["uid"], "action": step.action, "dry_run": dry_run}
        print(json.dumps({**report, "diff": step.diff} if show else report), flush=True)
        return
    changes = step.action in ("create", "update")
    told = f"would {step.action}" if dry_run and changes else step.action
    if step.action == "edited":
        told = "edited by hand, left alone (--force overwrites it)"
    print(f"{step.model['uid']:32} {told}", flush=True)
    if show and step.diff:
        print(step.diff, flush=True)


def _token(file: Path | None) -> str:
    try:
        token = file.read_text(encoding="utf-8") if file else os.environ.get(TOKEN_VARIABLE, "")
    except OSError as why:
        raise GrafanaRefused(f"the token file {file} cannot be read: {why.strerror}") from why
    except UnicodeDecodeError:
        raise GrafanaRefused(f"the token file {file} holds no text; write the token alone into it") from None
    if not token.strip():
        raise GrafanaRefused(f"no token: set {TOKEN_VARIABLE} or give --token-file")
    if not re.fullmatch(r"[!-~]+", token.strip()):
        raise GrafanaRefused("the token is not one word of plain letters; give the token alone, without other lines")
    return token.strip()
