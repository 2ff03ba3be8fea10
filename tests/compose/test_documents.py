"""The commands of docs/compose.md, executed: what `.env` gets is enough for the file; docker is a stand-in that notes
what it was asked. The page's `curl` asks the processes of test_services.py and test_secured.py.
"""

import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compose.on_this_machine import COMMANDS, ROOT, SERVICES
from tests.compose.test_files import PASSWORDS

Shell = Callable[[str], list[str]]
"""Executes a block of commands; what docker was asked."""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    programs, asked = tmp_path / "bin", tmp_path / "asked"
    programs.mkdir()
    (programs / "docker").write_text('#!/bin/sh\necho "$*" >> "$ASKED"\n', encoding="utf-8")
    (programs / "docker").chmod(stat.S_IRWXU)

    def execute(block: str) -> list[str]:
        asked.unlink(missing_ok=True)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False,
            env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": "/nowhere", "ASKED": str(asked)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return asked.read_text(encoding="utf-8").splitlines()

    return execute


def test_docker_is_asked_for_profiles_and_services_that_are_there(shell: Shell) -> None:
    first, curl, *others = COMMANDS
    assert curl.startswith("curl ")
    assert shell(first) == ["compose up --build"]
    assert [line for block in others for line in shell(block)] == [
        "compose kill worker-2",
        "compose up worker-2",
        "compose down",
        "compose --profile sasl up --build",
        "compose --profile sasl down",
        "compose --profile tls up --build",
        "compose --profile sasl down --volumes",
    ]
    assert "worker-2" in SERVICES
    assert {profile for service in SERVICES.values() for profile in service["profiles"]} == {"demo", "sasl", "tls"}


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed (Debian package)")
def test_the_first_block_writes_all_that_the_file_asks_for(shell: Shell, tmp_path: Path) -> None:
    shell(COMMANDS[0])
    *passwords, profile = (tmp_path / ".env").read_text(encoding="utf-8").splitlines()
    assert profile == "COMPOSE_PROFILES=demo"
    assert [line.partition("_PASSWORD=")[0] for line in passwords] == list(PASSWORDS)
    assert len({line.partition("=")[2] for line in passwords}) == len(PASSWORDS)
    command = ["docker-compose", "-f", str(ROOT / "docker-compose.yml"), "--env-file", str(tmp_path / ".env"), "config"]
    done = subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_file_begins_with_the_same_commands() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    assert "".join(f"#   {line}\n" for line in COMMANDS[0].splitlines()) in text
