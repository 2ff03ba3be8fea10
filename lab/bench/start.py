"""`make bench-start`: how long the smallest commands take, beside an interpreter that does nothing, in one run.

The commands alternate, so that a busy spell of the machine meets all of them.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lab.paths import ROOT

ROUNDS = 15
CONFIGURATION = """\
clusters: [{name: orders, bootstrap_servers: "127.0.0.1:9092"}]
database: {dsn: "postgresql://monitor@127.0.0.1/monitor"}
"""


def main() -> None:
    """Print the table: median and range of each command in ms, and the multiple of the interpreter's own."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "monitor.yaml"
        config.write_text(CONFIGURATION, encoding="utf-8")
        monitor = [sys.executable, "-m", "rebalance_monitor"]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "--version": [*monitor, "--version"],
            "--help": [*monitor, "--help"],
            "rules": [*monitor, "rules"],
            "config check": [*monitor, "config", "check", "--config", str(config)],
        }
        measured: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(ROUNDS + 1):
            for name, command in commands.items():
                began_s = time.perf_counter()
                subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
                if turn:  # the first round compiles what is imported
                    measured[name].append((time.perf_counter() - began_s) * 1000)
    nothing_ms = statistics.median(measured["python -c pass"])
    print(f"{'command':16} {'median ms':>10} {'min':>8} {'max':>8} {'times':>6}")
    for name, times in measured.items():
        median = statistics.median(times)
        print(f"{name:16} {median:10.0f} {min(times):8.0f} {max(times):8.0f} {median / nothing_ms:6.1f}")


if __name__ == "__main__":
    main()
