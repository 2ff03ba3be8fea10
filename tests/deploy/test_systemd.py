"""The systemd unit: sound by systemd's own word, hardened, and in step with the documents."""

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from lab.paths import ROOT

PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
UNIT = ROOT / "deploy" / "systemd" / "rebalance-monitor.service"
PROGRAM = "/opt/rebalance-monitor/bin/rebalance-monitor"
MOST_EXPOSED = 20
"""Of 100, as `systemd-analyze security` counts: 15 with systemd 252, for the network and Java's compiler."""
LINE = re.compile(r"([A-Z]\w+)=(.*)")


def parsed(text: str) -> dict[str, dict[str, list[str]]]:
    """Section -> key -> its values. A line that is none of a unit's is an AssertionError."""
    found: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), defaultdict(list))
        elif line and not line.startswith("#"):
            given = LINE.fullmatch(line)
            assert given, line
            section[given[1]].append(given[2])
    return found


def analysed(folder: Path, text: str, *command: str) -> str:
    """What systemd says of a unit; nothing where there is no systemd."""
    program = shutil.which("systemd-analyze")
    if program is None:
        return ""
    unit = folder / UNIT.name
    unit.write_text(text.replace(PROGRAM, str(Path(sys.executable).parent / "rebalance-monitor")), encoding="utf-8")
    done = subprocess.run([program, *command, str(unit)], capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}" if done.returncode or command[0] == "verify" else ""


def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    text = UNIT.read_text(encoding="utf-8")
    assert parsed(text).keys() == {"Unit", "Service", "Install"}
    assert analysed(tmp_path, text, "verify") == ""


def test_a_misspelt_key_is_found(tmp_path: Path) -> None:
    text = UNIT.read_text(encoding="utf-8").replace("ProtectClock", "ProtectClocks")
    if shutil.which("systemd-analyze"):
        assert "ProtectClocks" in analysed(tmp_path, text, "verify")


def test_it_is_hardened(tmp_path: Path) -> None:
    text = UNIT.read_text(encoding="utf-8")
    assert analysed(tmp_path, text, "security", "--offline=true", f"--threshold={MOST_EXPOSED}") == ""
    service = parsed(text)["Service"]
    for key in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "PrivateDevices", "RestrictNamespaces"):
        assert service[key] == ["yes"]
    assert service["CapabilityBoundingSet"] == [""]
    assert service["ProtectSystem"] == ["strict"]


def test_java_may_do_what_it_needs() -> None:
    service = parsed(UNIT.read_text(encoding="utf-8"))["Service"]
    assert not {"MemoryDenyWriteExecute", "ProcSubset", "PrivateNetwork"} & service.keys()


def test_no_secret_is_in_it() -> None:
    service = parsed(UNIT.read_text(encoding="utf-8"))["Service"]
    assert service["EnvironmentFile"] == ["-/etc/rebalance-monitor/secrets.env"]
    assert service["Environment"] == ["HOME=%S/rebalance-monitor"]


@pytest.mark.parametrize("path", [PROGRAM.removesuffix("/bin/rebalance-monitor"), "/etc/rebalance-monitor/secrets.env"])
def test_the_page_installs_what_the_unit_names(path: str) -> None:
    assert path in UNIT.read_text(encoding="utf-8")
    assert f"sudo python3 -m venv {path}\n" in PAGE or f" {path}\n" in PAGE
