"""The project's wheel, built from the clone: setuptools works in the folder `build` there, so one test at a time."""

import fcntl
import subprocess
import sys
from pathlib import Path

from lab.paths import BUILD

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]


def built_wheel(folder: Path) -> Path:
    """Its file, in this folder."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([*PIP, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    (made,) = folder.glob("rebalance_monitor-*.whl")
    return made
