"""A handful of what `make chaos` does: parts are killed under load, and nothing is lost, doubled or misjudged."""

import pytest

from lab.chaos.__main__ import run, table
from lab.chaos.faults import FAULTS
from lab.paths import BUILD
from lab.process import Progress

pytestmark = pytest.mark.integration
SOME = (
    "killed inside a bundle's transaction", "PostgreSQL crashed", "source process killed", "Connect worker killed",
)  # fmt: skip


def test_a_handful_of_faults_loses_and_doubles_nothing() -> None:
    faults = [one for one in FAULTS if one.name in SOME]
    assert len(faults) == len(SOME)
    done = run(1, faults, Progress(quiet=True), BUILD / "chaos-short")
    print(f"\n{table([done])}")
    assert done.generations > 0
    assert done.well, done.lines
