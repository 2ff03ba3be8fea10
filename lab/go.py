"""Programs written in Go, built from a module of this clone: its go.sum pins every source by hash."""

import shutil
import subprocess
from pathlib import Path

from lab.errors import LabError

BUILT_WITHIN_S = 1_200


def build(what: str, module: Path, package: str, program: Path, instead: str = "") -> Path:
    """Build `package` (an import path, or a folder) in the folder of a module; returns the program. A second time costs
    a second. LabError where that cannot be; `instead` says what to do without Go.
    """
    go = shutil.which("go")
    if go is None:
        raise LabError(f"{what} needs Go, which is not installed{instead and f'; {instead}'}")
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [go, "build", "-trimpath", "-o", str(program), package]
    try:
        done = subprocess.run(command, cwd=module, capture_output=True, text=True, check=False, timeout=BUILT_WITHIN_S)
    except subprocess.TimeoutExpired:
        raise LabError(f"{what} could not be built within {BUILT_WITHIN_S} s") from None
    if done.returncode != 0:
        raise LabError(f"{what} could not be built: {done.stderr.strip()[-400:]}")
    return program
