"""The commands of docs/cluster.md for a standalone cluster, executed: workers have nothing but the archive.

Only the installation from an index stands in: the environment is made of links to the packages that the extra asks for.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lab.paths import ROOT
from tests.built_wheel import PIP, built_wheel
from tests.integration.spark_cluster import BOTH, GROUPS, expected, found, sections, standalone, write
from tests.integration.watched import Watched

pytestmark = pytest.mark.integration
MASTER = "spark://host:7077"
INSTALLS = 'environment/bin/pip install "rebalance-monitor[run]"'


def commands() -> Iterator[str]:
    """The blocks of the section, one after the other."""
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    section = page.partition("\n## Standalone\n")[2].partition("\n## ")[0]
    yield from re.findall(r"^```bash\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def asked_for(name: str, extras: frozenset[str], found: dict[str, Distribution]) -> dict[str, Distribution]:
    """The distributions that this one needs, by name, with itself."""
    found[name] = distribution(name)
    for line in found[name].requires or ():
        one = Requirement(line)
        wanted = any(one.marker is None or one.marker.evaluate({"extra": extra}) for extra in extras | {""})
        if wanted and (one.name not in found or one.extras):
            asked_for(one.name, frozenset(one.extras), found)
    return found


def install(environment: Path) -> None:
    """What `pip install "rebalance-monitor[run]"` leaves there: packages by link, the project as its wheel."""
    (packages,) = environment.glob("lib/python*/site-packages")
    every = asked_for("rebalance-monitor", frozenset({"run"}), {})
    del every["rebalance-monitor"]
    for one in every.values():
        for file in one.files or ():
            source, target = Path(str(one.locate_file(file))), packages / str(file)
            if source.is_file() and target.resolve().is_relative_to(environment):
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    os.link(source, target)
    wheel = built_wheel(environment.parent / "dist")
    subprocess.run([*PIP, "--python", str(environment / "bin/python"), "install", "--no-deps", str(wheel)], check=True)


def test_every_command_of_the_page_works(watched: Watched) -> None:
    write(watched)
    folder = watched.lab.folder / "submitted"
    home = folder / "home"
    home.mkdir(parents=True)
    master = standalone(watched, PYSPARK_PYTHON="/nowhere", HOME=str(home), PATH=os.defpath)
    given = sections(watched, "local[1]")  # the command line says another one
    given["spark"]["conf"] = BOTH
    shutil.copy(watched.configuration(**given), folder / "monitor.yaml")
    first, *others, last = commands()
    assert INSTALLS in first
    assert MASTER in last
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "GZIP": "-1"}  # a quick archive, a larger one
    run = ["bash", "-euc"]
    subprocess.run([*run, first.replace(INSTALLS, "")], cwd=folder, env=environment, check=True)
    install(folder / "environment")
    for block in others:
        subprocess.run([*run, block], cwd=folder, env=environment, check=True)
    command = [*run, f"cd {folder}\n{last.replace(MASTER, master)}"]
    with watched.process("page", command, environment) as job:
        watched.wait_ready(job)
        lines = [json.loads(line) for line in job.log.read_text().splitlines() if line.startswith("{")]
    processes = {one for line in lines if line.get("event") == "batch" for one in line["processes"]}
    assert len(processes) > 1, "two executors folded"
    assert found(watched.postgres.dsn) == dict.fromkeys(GROUPS, expected())
