"""The process of a plug-in starts often: once for each plug-in and process that folds, and again after each failure."""

import subprocess
import sys

from lab.paths import ROOT

MODULES = "import sys, rebalance_monitor.streaming.plug_ins.keeper; print(*sys.modules)"
CORE = "rebalance_monitor.streaming.core"


def test_it_loads_nothing_that_judges() -> None:
    done = subprocess.run([sys.executable, "-c", MODULES], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith(f"{CORE}.")}
    assert loaded == {f"{CORE}.streams", f"{CORE}.streams.looked_at"}
