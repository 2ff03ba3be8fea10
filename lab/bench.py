"""`make bench`: how long a generation takes from the broker's append to its committed row, and what the job costs.

Everything is real: broker, PostgreSQL, the streaming job, and simulated workers whose rebalances are the load. The
record's timestamp is the broker's clock, the row's time is when a polling reader first saw it; both clocks are one
machine's, and the poll adds up to POLL_MS. Memory is the sum of the proportional set sizes of the job's processes.
"""

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg

from lab import config_topic, workers
from lab.demo import FIRST_PORT, SIMULATED_CONNECTORS, only_one
from lab.errors import LabError
from lab.members import SimulatedGroup
from lab.paths import BUILD, ROOT
from lab.ports import require_free
from lab.process import Lab, Progress, signals_stop
from lab.stage import PORTS_NEEDED, Ports, Stage

GROUPS = 5
ROUNDS = 60
POLL_MS = 5
QUIET_S = 60
REPORT = ROOT / "docs" / "benchmarks"
UNSEEN = (
    'select cluster, partition, "offset", at_ms, grade from rebalance_monitor.generations'
    " where \"group\" like 'bench-%%' and at_ms >= %s"
)


def tree(pid: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from tree(int(child))


def memory_mib(pid: int) -> float:
    """Proportional set size of the whole tree."""
    total_kib = 0
    for one in tree(pid):
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total_kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kib / 1024


def cpu_s(pid: int) -> float:
    """CPU seconds that the living processes of the tree have used."""
    ticks = 0
    for one in tree(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def latencies_ms(stage: Stage, groups: list[SimulatedGroup], progress: Progress) -> tuple[list[float], float]:
    """First sight of each new row minus its record's time, while the groups rebalance; and generations a second."""
    began_ms = int(time.time() * 1000)
    seen: dict[tuple[str, int, int], float] = {}
    wanted = GROUPS * ROUNDS
    asked = [0] * GROUPS
    with psycopg.connect(stage.postgres.dsn, autocommit=True) as connection, progress.step(f"{wanted} rebalances"):
        deadline = time.monotonic() + 240
        while len(seen) < wanted and time.monotonic() < deadline:
            for number, group in enumerate(groups):
                if asked[number] < ROUNDS and group.calm():
                    group.rejoin()
                    asked[number] += 1
            for cluster, partition, offset, at_ms, _ in connection.execute(UNSEEN, (began_ms,)):
                seen.setdefault((cluster, partition, offset), time.time() * 1000 - at_ms)
            time.sleep(POLL_MS / 1000)
    seconds = time.time() - began_ms / 1000
    if not seen:
        raise LabError("no generation of the load reached PostgreSQL; see the job's log in .demo/logs")
    return list(seen.values()), len(seen) / seconds


def measure(stage: Stage, progress: Progress) -> dict[str, float]:
    """Every figure of the table."""
    figures: dict[str, float] = {}
    with ExitStack() as stack:
        groups = []
        for number in range(GROUPS):
            name = f"bench-{number}"
            config_topic.create(stage.broker.address, {workers.config_topic(name): 1, workers.status_topic(name): 1})
            offset = config_topic.write(stage.broker.address, workers.config_topic(name), SIMULATED_CONNECTORS)
            groups.append(
                stack.enter_context(
                    SimulatedGroup(
                        stage.broker.address,
                        name,
                        workers=2,
                        connectors=SIMULATED_CONNECTORS,
                        config_offset=offset,
                        first_port=28083 + 10 * number,
                    )
                )
            )
        stage.lab.wait_for("the simulated groups", lambda: all(group.calm() for group in groups))
        taken, rate = latencies_ms(stage, groups, progress)
        taken.sort()
        figures["generations"] = len(taken)
        figures["generations_per_s"] = round(rate, 1)
        figures["append_to_row_p50_ms"] = round(statistics.median(taken), 1)
        figures["append_to_row_p99_ms"] = round(taken[min(len(taken) - 1, int(len(taken) * 0.99))], 1)
        figures["memory_pss_mib"] = round(memory_mib(stage.job.pid), 1)
    with progress.step(f"a quiet topic for {QUIET_S} s"):
        before_s, began_s = cpu_s(stage.job.pid), time.monotonic()
        time.sleep(QUIET_S)
        figures["quiet_cpu_percent_of_a_core"] = round(
            100 * (cpu_s(stage.job.pid) - before_s) / (time.monotonic() - began_s), 2
        )
    return figures


AIMS = {
    "append_to_row_p50_ms": "under 500",
    "append_to_row_p99_ms": "under 1500",
    "memory_pss_mib": "under 1843 (1.8 GiB)",
    "quiet_cpu_percent_of_a_core": "under 5",
}


def write(figures: dict[str, float]) -> None:
    """The table for people, the numbers for programs."""
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    rows = [f"| {name} | {value:g} | {AIMS.get(name, '')} |" for name, value in figures.items()]
    text = [
        "# Benchmarks",
        "",
        f"Written by `make bench` on {machine}; load by {GROUPS} groups of two simulated workers.",
        "",
    ]
    text += ["| figure | measured | aim |", "|---|---|---|", *rows]
    REPORT.with_suffix(".md").write_text("\n".join(text) + "\n", encoding="utf-8")
    REPORT.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print("\n".join(text[4:]))


def main() -> int:
    """Run everything, write the report."""
    progress = Progress()
    ports = [FIRST_PORT + number for number in range(PORTS_NEEDED)]
    try:
        with signals_stop():
            require_free(ports, "`make stop` ends a demo left running")
            with only_one(), Lab(BUILD.parent / ".demo", progress) as lab:
                stage = Stage(lab, Ports.of(ports))
                stage.start()
                for worker in stage.workers:
                    worker.child.stop()
                write(measure(stage, progress))
    except LabError as why:
        print(f"bench: {why}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
