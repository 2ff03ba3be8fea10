"""One installable name: packages and folders of other people that are called like our parts change nothing."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.built_wheel import built_wheel

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
PARTS = ("streaming", "schemas", "assignors", "dashboards")
RAISES = 'raise ImportError("this is somebody else\'s package")\n'
IN_A_WORKER = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
def fold(batches):
    import pyarrow as pa
    for _ in batches:
        outcome = fold_group(ClusterSettings(name="c"), "g", None, [], None)
        yield pa.RecordBatch.from_pydict({"errors": [len(outcome.errors)]})
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print([row.errors for row in spark.range(1).mapInArrow(fold, "errors bigint").collect()])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture
def strangers(tmp_path: Path) -> Path:
    """A folder with packages called like our parts, which cannot be imported."""
    for part in PARTS:
        (tmp_path / part).mkdir()
        (tmp_path / part / "__init__.py").write_text(RAISES, encoding="utf-8")
    return tmp_path


def python(*words: str, cwd: Path) -> str:
    """What an interpreter says that finds the packages of `cwd` before everything else."""
    done = subprocess.run([sys.executable, *words], cwd=cwd, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_wheel_has_one_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name.partition("/")[0] for name in archive.namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"rebalance_monitor"}


def test_the_command_line_does_not_meet_strangers(strangers: Path) -> None:
    assert python("-m", "rebalance_monitor", "--version", cwd=strangers).startswith("rebalance-monitor ")
    assert "static" in python("-m", "rebalance_monitor", "rules", cwd=strangers).lower()


def test_workers_of_spark_do_not_meet_strangers(strangers: Path) -> None:
    assert python("-c", IN_A_WORKER, cwd=strangers).strip() == "[0]"


def test_a_zip_in_front_is_what_is_imported(wheel: Path, tmp_path: Path) -> None:
    """As `--py-files` ships it: one copy of each module, and it is that of the archive."""
    told = python(
        "-c",
        f"import sys; sys.path.insert(0, {str(wheel)!r})\n"
        "import rebalance_monitor.streaming.core.lifecycles\n"
        "ours = [m for n, m in sys.modules.items() if n.startswith('rebalance_monitor')]\n"
        f"print(len(ours) > 100, {{m.__file__.startswith({str(wheel)!r}) for m in ours}})\n"
        f"print([n for n in sys.modules if n.partition('.')[0] in {PARTS!r}])",
        cwd=tmp_path,
    )
    assert told.splitlines() == ["True {True}", "[]"]


def test_nothing_imports_a_part_by_its_bare_name() -> None:
    bare = re.compile(rf"^\s*(from|import) ({'|'.join(PARTS)})\b", re.MULTILINE)
    files = [path for part in (*PARTS, "lab", "tests") for path in (ROOT / part).rglob("*.py")]
    assert [str(path) for path in files if bare.search(path.read_text(encoding="utf-8"))] == []
