"""The steps of the Dockerfile, executed without containers: in an empty folder, by a user without rights.

Absolute paths lead into the folder, and nothing beside it can be written. Stand-ins are what needs root (apt-get,
groupadd, useradd, which note what they were asked) and one installation: the locked packages are links to those that
are installed here, from a lock of which the image's is a part (tests/compose/test_files.py).
"""

import json
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path

import pytest

from lab.paths import ROOT
from lab.ports import HOST, free_ports
from rebalance_monitor.streaming.metrics.endpoint import Endpoint

pytestmark = pytest.mark.integration
NOBODY = 65534
BESIDE_IT_READ_ONLY = (
    f"mount -o remount,bind,ro / && mount --bind {{folder}} {{folder}} && mount -o remount,bind,rw {{folder}} && "
    f'exec unshare --user --map-user={NOBODY} --map-group={NOBODY} "$@"'
)
"""In a mount namespace of its own. Root becomes nobody there, without a right, and still reaches its own Python."""
LOCKED = "/opt/rebalance-monitor/bin/pip install --no-cache-dir --require-hashes -r requirements-run.lock"
ROOTS_OWN = ("apt-get", "groupadd", "useradd")
NOTES = '#!/bin/sh\necho "$(basename "$0") $*" >> "$ASKED"\n'
HEALTHY_PORT = "9470"


def instructions() -> list[tuple[str, str]]:
    """Keyword and argument, one after the other, lines that go on joined."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#")).replace("\\\n", " ")
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def only(keyword: str) -> str:
    """The argument of an instruction that is there once."""
    (found,) = [argument for name, argument in instructions() if name == keyword]
    return found


@dataclass(slots=True)
class Built:
    """What the instructions made of an empty folder."""

    folder: Path
    path: str
    workdir: Path = Path("/")
    variables: dict[str, str] = field(default_factory=dict)

    def here(self, text: str) -> str:
        """Paths of the image, as they are on this machine."""
        return re.sub(r"(?<![\w.])/(opt|usr|var|src|etc)(?=[/\s:]|$)", rf"{self.folder}/\1", text)

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        """In a shell, by the user without rights."""
        script = BESIDE_IT_READ_ONLY.format(folder=self.folder)
        as_user = [] if os.geteuid() else ["unshare", "--mount", "sh", "-c", script, "sh"]
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        environment = {
            **kept,
            "PATH": self.path,
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "ASKED": str(self.asked),
            "HOSTNAME": socket.gethostname(),  # as a container has it
            **self.variables,
        }
        return subprocess.run(
            [*as_user, "sh", "-c", self.here(command)], cwd=self.workdir, env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip

    @property
    def asked(self) -> Path:
        return self.folder / "asked"

    def take(self, keyword: str, argument: str) -> None:
        """One instruction."""
        match keyword:
            case "WORKDIR":
                self.workdir = Path(self.here(argument))
                self.workdir.mkdir(parents=True, exist_ok=True)
            case "COPY" if not argument.startswith("--from"):
                *sources, target = argument.split()
                for source in sources:
                    self.copy(source, self.workdir / target)
            case "RUN":
                done = self.run(argument.replace(LOCKED, "true"))
                assert done.returncode == 0, done.stderr
                if LOCKED in argument:
                    self.link()
            case "ENV":
                given = [word.partition("=") for word in shlex.split(argument)]
                self.variables |= {name: self.here(value.replace("$PATH", self.path)) for name, _, value in given}
            case _:
                pass  # a container engine's matter; `only` finds what is tried of it

    def copy(self, source: str, target: Path) -> None:
        """As COPY does: links stay links, and nothing comes along that .dockerignore keeps back."""
        assert f"!{source}" in (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            where = target / Path(source).name if target.is_dir() else target
            where.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, where)

    def link(self) -> None:
        """What the lock's packages are here, file by file."""
        (packages,) = (self.folder / "opt" / "rebalance-monitor" / "lib").glob("python*/site-packages")
        lock = (ROOT / "requirements-run.lock").read_text(encoding="utf-8")
        for name, marker in re.findall(r"^([\w.-]+)==\S+( ;.*)?", lock, re.MULTILINE):
            if marker and "win32" in marker:
                continue
            for file in distribution(name).files or ():
                source, target = Path(str(file.locate())), packages / str(file)
                if source.is_file() and target.resolve().is_relative_to(packages) and not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.symlink_to(source)


@pytest.fixture(scope="module")
def built() -> Iterator[Built]:
    folder = Path(tempfile.mkdtemp(prefix="rm-image-"))
    try:
        stand_ins = folder / "stand-ins"
        stand_ins.mkdir()
        for name in ROOTS_OWN:
            (stand_ins / name).write_text(NOTES)
        (stand_ins / "python").write_text(f'#!/bin/sh\nexec {sys.base_prefix}/bin/python3 "$@"\n')
        for one in stand_ins.iterdir():
            one.chmod(stat.S_IRWXU)
        made = Built(folder, f"{stand_ins}:/usr/bin:/bin")
        for name in ("src", "opt", "usr", "var", "var/lib", "var/lib/apt"):
            (folder / name).mkdir()
        made.asked.touch()
        for keyword, argument in instructions():
            made.take(keyword, argument)
        yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_the_command_of_the_image_runs(built: Built) -> None:
    """Where the image starts it, with its PATH, and with what only the extra `run` brings."""
    entry = only("ENTRYPOINT").strip('["]')
    done = built.run(f"{entry} config default")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (ROOT / "conf" / "default.yaml").read_text(encoding="utf-8")
    command = " ".join(re.findall(r'"([^"]+)"', only("CMD")))
    done = built.run(f"{entry} {command}")
    assert done.returncode == 2
    assert re.fullmatch(r"rebalance-monitor: [^\n]*/etc/rebalance-monitor/monitor.yaml[^\n]*\n", done.stderr)
    assert built.run("python3 -c 'import pyspark, confluent_kafka, psycopg, httpx'").returncode == 0


def test_the_image_says_what_is_in_it(built: Built) -> None:
    written = (built.folder / "opt" / "rebalance-monitor" / "sbom.cdx.json").read_text(encoding="utf-8")
    bom = json.loads(written)
    named = {component["name"]: component for component in bom["components"]}
    assert {"pyspark", "confluent-kafka", "pip"} <= set(named)
    assert named["spark-streaming_2.13"]["version"] == named["pyspark"]["version"]
    assert bom["metadata"]["component"]["name"] == "rebalance-monitor"
    assert str(built.folder) not in written


def test_nothing_of_the_sources_is_needed_any_more(built: Built) -> None:
    shutil.rmtree(built.folder / "src")
    assert built.run("rebalance-monitor rules imbalance").returncode == 0


def test_what_root_did_fits_the_user_that_runs_it(built: Built) -> None:
    asked = built.asked.read_text(encoding="utf-8")
    user, _, group = only("USER").partition(":")
    assert f"groupadd --system --gid {group} monitor" in asked
    assert f"useradd --system --uid {user} --gid {group} --create-home --home-dir {built.workdir} monitor" in asked
    assert "apt-get install -y --no-install-recommends openjdk-17-jre-headless" in asked


class Well:
    def scrape(self) -> bytes:
        return b""

    def readiness(self, cluster: str | None = None) -> tuple[bool, dict[str, object]]:
        return True, {}

    def part(self, name: str, problem: str | None) -> None:
        assert problem is None


def test_the_health_check_sees_whether_the_monitor_lives(built: Built) -> None:
    (port,) = free_ports(1)
    check = only("HEALTHCHECK").partition(" CMD ")[2].replace(HEALTHY_PORT, str(port))
    assert built.run(check).returncode != 0
    endpoint = Endpoint(HOST, port, Well(), Well())
    endpoint.start()
    try:
        assert built.run(check).returncode == 0
    finally:
        endpoint.stop()
