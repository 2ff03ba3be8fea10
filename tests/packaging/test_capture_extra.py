"""What the extra `capture` brings is enough for the commands that ask brokers once."""

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "pyarrow", "pandas", "numpy", "psycopg", "prometheus_client", "httpx",
                                      "tenacity", "starlette", "uvicorn", "jinja2"}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
from rebalance_monitor.streaming.__main__ import main
sys.exit(main())
"""
"""As where nothing of the extra `run` but Kafka's client is installed."""


@pytest.mark.parametrize("words", [["capture", "--out", "there"], ["config", "init"]], ids=["capture", "config init"])
def test_kafkas_client_alone_is_enough(words: list[str], tmp_path: Path) -> None:
    asked = [sys.executable, "-c", WITHOUT, *words, "--bootstrap-servers", "127.0.0.1:1"]
    done = subprocess.run(asked, text=True, capture_output=True, cwd=tmp_path, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "127.0.0.1:1" in done.stderr
    assert "not installed" not in done.stderr
