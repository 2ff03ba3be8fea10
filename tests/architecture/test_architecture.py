"""Promises about the whole tree: arrows point inwards, files stay readable, the base stays light."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("schemas", "assignors", "streaming", "dashboards")
PACKAGES = (*PRODUCT, "lab", "tests")
MAX_LINES = 400
WITHOUT_BYTES = ("connect_metrics", "lag_metrics", "metric", "metrics", "polling_metrics", "ports", "streams_metrics")
"""Rooms that no contract lets import schemas."""
HEAVY = ("pyspark", "pandas", "pyarrow", "psycopg", "confluent_kafka", "numpy", "great_expectations")


def sources() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_import_contracts_hold() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_connects_bytes_are_closed_to_every_other_room_of_the_core() -> None:
    """The contract lists the rooms one by one; a room that is added is to stand in it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    listed = next(one for one in contracts if one["name"].startswith("Connect's bytes"))["source_modules"]
    core = ROOT / "streaming" / "core"
    rooms = {path.stem for path in core.iterdir() if path.is_dir() or path.suffix == ".py"}
    rooms -= {"__init__", "__pycache__", "connect", *WITHOUT_BYTES}
    assert {one.rpartition(".")[2] for one in listed} == rooms


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_can_be_read_in_one_sitting(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES
    if lines:
        assert lines[0].startswith('"""') or lines[0].startswith("#!"), "a module opens with its contract"


@pytest.mark.parametrize("arguments", [["--help"], ["replay", "--help"], ["plan", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from rebalance_monitor.streaming.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        "print('LOADED', *sorted({name.split('.')[0] for name in sys.modules}))"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    loaded = out.split("LOADED ")[-1].split()
    assert not set(HEAVY) & set(loaded)


def test_migrations_are_numbered_without_gap() -> None:
    numbers = sorted(int(path.name[:4]) for path in (ROOT / "streaming" / "store" / "sql").glob("*.sql"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_product_does_not_import_the_lab() -> None:
    names_the_lab = re.compile(r"^\s*(from|import) lab\b", re.MULTILINE)
    product = [path for package in PRODUCT for path in (ROOT / package).rglob("*.py")]
    assert [path for path in product if names_the_lab.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("lock", sorted(ROOT.glob("requirements*.lock")), ids=lambda path: path.name)
def test_a_lock_pins_every_package_and_names_no_address(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert not re.search(r"://|--index", text)
    pins = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert pins
    assert all("==" in pin for pin in pins)
