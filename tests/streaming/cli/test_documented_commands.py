"""Every command in the documents is executed by a test: by this file, where it needs neither a cluster nor a database,
else by one that is named here.
"""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.commands import parser
from tests.documented import PAGES, ROOT, DocumentedCommand, commands

ALL = list(commands())
OURS = [one for one in ALL if one.program == "rebalance-monitor"]
HERE = ("replay", "decode", "plan", "rules")
"""Commands that need no cluster and no database; so do others that are given a capture."""
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b|…")
ALONE = [
    one for one in OURS
    if not one.shown
    and (one.words[0] in HERE or "--capture" in one.words)
    and not {"--config", "--topic"} & {*one.words}
    and not PLACEHOLDER.search(one.text)
]  # fmt: skip
BY_LINE = {"docs/advise.md": "tests/streaming/cli/test_advise.py"}
"""Who compares what a page shows line by line."""
SHOWN = [one for one in OURS if one.shown and one.page not in BY_LINE]
LIVE = {
    "advise": "tests/web/test_advice.py",
    "audit": "tests/audit/test_command.py",
    "bundle": "tests/integration/test_capture.py",
    "capture": "tests/integration/test_capture.py",
    "compare": "tests/integration/test_shadow.py",
    "config": "tests/integration/test_chain.py",
    "cost": "tests/web/test_commands.py",
    "dashboards": "tests/dashboards/test_publish.py",
    "decode": "tests/streaming/cli/test_decode.py",
    "explain": "tests/web/test_commands.py",
    "gaps": "tests/streaming/store/test_gaps_command.py",
    "maintenance": "tests/streaming/store/test_maintenance_command.py",
    "plan": "tests/streaming/plug_ins/test_plan_with_plug_ins.py",
    "replay": "tests/streaming/plug_ins/test_plug_ins_judge_a_capture.py",
    "run": "tests/integration/watched.py",
    "serve": "tests/web/conftest.py",
    "status": "tests/web/test_commands.py",
    "wait": "tests/web/test_commands.py",
    "whatif": "tests/web/test_commands.py",
    "why": "tests/web/test_commands.py",
}
"""Who executes the other commands of ours, with a cluster, a database or a running monitor."""
OTHERS = {
    "docs/cluster.md": "tests/integration/test_cluster_page.py",
    "docs/compose.md": "tests/compose/test_documents.py",
    "docs/deploy.md": "tests/deploy/test_documents.py",
    "docs/upgrade.md": "tests/streaming/store/test_upgrade_page.py",
}
"""Who executes all commands of other programs that a page shows, word for word."""
ONE_BY_ONE = {
    ("docs/security.md", "kafka-acls.sh"): "tests/streaming/config/test_rights.py",
    ("docs/security.md", "docker"): "tests/packaging/test_dockerfile.py",
    ("docs/security.md", "curl"): "tests/streaming/metrics/test_endpoint.py",
    ("docs/running.md", "curl"): "tests/web/test_api.py",
    ("docs/audit.md", "pip"): "tests/packaging/test_capture_extra.py",
    ("README.md", "source"): "tests/streaming/cli/test_completion.py",
    ("docs/lab.md", "python"): "lab/demo/play.py",
}
"""Who does what the others do: the same program, or a client in its place."""
OF_A_CLONE = ("make", "pytest", "python", "export", ".")
"""Variables of a shell, and what a clone is worked with: `make test` runs the tests, of this file too."""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with what the examples read, where they may write."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)


def told(one: DocumentedCommand) -> str:
    return f"{one.page}: {one.text}"


def test_every_command_of_ours_is_one() -> None:
    assert {one.words[0] for one in OURS} >= {"config", "run", "serve", "replay", "plan", "decode", "rules"}
    for one in OURS:
        parser().parse_args(one.words)


@pytest.mark.parametrize("one", SHOWN, ids=told)
def test_a_command_prints_what_is_shown(
    capsys: pytest.CaptureFixture[str], clone: None, one: DocumentedCommand
) -> None:
    """Word for word; lines are broken to fit the page, and `…` stands for what is left out."""
    assert main(one.words) in (0, 1)
    pattern = r"\s.*\s".join(map(re.escape, " ".join(one.shown.split()).split(" … ")))
    assert re.fullmatch(pattern, " ".join(capsys.readouterr().out.split()), re.DOTALL)


@pytest.mark.parametrize("one", ALONE, ids=told)
def test_what_needs_no_cluster_runs_from_the_clone(
    capsys: pytest.CaptureFixture[str], clone: None, one: DocumentedCommand
) -> None:
    assert main(one.words) in (0, 1)
    printed = capsys.readouterr()
    assert (bool(printed.out), printed.err) == (True, "")
    if one.words[-1] == "json":
        assert [json.loads(line) for line in printed.out.splitlines()]


def test_all_other_commands_of_ours_are_executed_elsewhere() -> None:
    rest = {one.words[0] for one in OURS if one not in ALONE and not one.shown}
    assert rest == LIVE.keys()
    for word, file in LIVE.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"\b{word}\b", text), f"{file} does not execute {word}"


def test_all_commands_of_other_programs_are_executed_elsewhere() -> None:
    nobody = [
        told(one)
        for one in ALL
        if one.program != "rebalance-monitor"
        and one.page not in OTHERS
        and (one.page, one.program) not in ONE_BY_ONE
        and one.program not in OF_A_CLONE
    ]
    assert nobody == []
    for page, file in (OTHERS | BY_LINE).items():
        assert Path(page).name in (ROOT / file).read_text(encoding="utf-8")
    assert all((ROOT / file).is_file() for file in ONE_BY_ONE.values())
    assert ONE_BY_ONE.keys() <= {(one.page, one.program) for one in ALL}


def test_every_target_of_make_that_is_shown_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    shown = {word for one in ALL if one.program == "make" for word in one.words[:1]}
    inline = {
        word for page in PAGES for word in re.findall(r"`make ([a-z-]+)", (ROOT / page).read_text(encoding="utf-8"))
    }
    assert shown | inline <= targets


def test_commands_are_found() -> None:
    """Or nothing that is claimed above would be of any."""
    found = Counter(one.program for one in ALL)
    assert found["rebalance-monitor"] > 90
    assert {"make", "docker", "kubectl", "helm", "psql", "kafka-acls.sh"} <= found.keys()
    assert len([one for one in OURS if one.shown]) > 15
    assert len(ALONE) >= 8
