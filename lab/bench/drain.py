"""How fast the job reads and judges topics that were written before it started, and what that costs."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

from lab.bench.cost import cpu_s, memory_mib, own_cpu_s
from lab.bench.prepared import Prepared
from lab.bench.stage import BenchStage
from lab.cluster.spark import SparkCluster
from lab.errors import LabError
from lab.process import Lab

# The default limit is lifted: the figure is what the job can do, not what it is allowed to.
SETTINGS: dict[str, dict[str, object]] = {
    "source": {"max_bytes_per_second_per_broker": 10**10},
    "alerting": {"path": "prometheus"},
}
BROKER = {"offsets.retention.check.interval.ms": 86_400_000}
PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class Drained:
    """One drain. `seconds` counts from the query's start to the commit that reached the end.

    `steady_records_per_s` leaves out the first batch, in which Spark starts its Python processes. Processor seconds are
    those from the process's start: of the job with its Java and its workers, of its driver alone, which judges nothing
    and is what more machines do not make faster, and of PostgreSQL. `database_bytes`, `wal_bytes`: by how much the
    database has grown, and what it wrote ahead; both with the schema.
    """

    records: int
    generations: int
    seconds: float
    steady_records_per_s: float
    batches: int
    largest_batch: int
    slowest_batch_ms: int
    peak_pss_mib: float
    job_cpu_s: float
    driver_cpu_s: float
    postgres_cpu_s: float
    database_bytes: int
    wal_bytes: int


def events(log: Path) -> Iterator[dict[str, Any]]:
    """What the job logged, line by line."""
    for line in log.read_text(errors="replace").splitlines():
        with suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found


def reached(dsn: str) -> int:
    """Records below the committed positions."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "select coalesce(sum(next_offset), 0)::int8 from rebalance_monitor.positions"
        ).fetchone()
    return 0 if row is None else int(row[0])


def stored_generations(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select count(*) from rebalance_monitor.generations").fetchone()
    return 0 if row is None else int(row[0])


def _size(dsn: str) -> tuple[int, int]:
    """Bytes of the database, and of all that its server ever wrote ahead."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "select pg_database_size(current_database()), (pg_current_wal_lsn() - '0/0')::int8"
        ).fetchone()
    assert row is not None
    return row


def drain(
    lab: Lab, prepared: Prepared, spark: Mapping[str, object] | None = None, cluster: SparkCluster | None = None
) -> Drained:
    """Prepare, run until the last record is committed, look at what is stored. `spark`: that section, where it differs.
    `cluster`: of this lab, started here, whose workers' memory and processor seconds are the job's, too."""
    step = lab.progress.step
    broker = {**BROKER, "offsets.topic.num.partitions": prepared.log_partitions}
    stage = BenchStage(lab, {**SETTINGS, "spark": spark or {}}, broker, prepared.cluster())
    with step(f"a broker of its own with {prepared.about}"):
        stage.prepare()
        written = prepared.fill(stage.broker.address)
    if cluster is not None:
        cluster.start()
    workers = [one.pid for one in cluster.running] if cluster is not None else []
    postgres = postmaster(stage.postgres.data)
    postgres_before_s, size_before = cpu_s(postgres), _size(stage.postgres.dsn)
    with step("draining it"):
        job = stage.job = stage.start_job()
        lab.wait_for("streaming job", stage.listening, job)
        peak_mib, deadline = 0.0, time.monotonic() + PATIENCE_S
        while reached(stage.postgres.dsn) < written.records:
            peak_mib = max(peak_mib, sum(map(memory_mib, (job.pid, *workers))))
            if not job.running() or time.monotonic() > deadline:
                raise LabError(f"the job did not drain the topics; the end of {job.log}:\n{job.tail()}")
            time.sleep(0.25)
        job_s, driver_s = sum(map(cpu_s, (job.pid, *workers))), own_cpu_s(job.pid)
        postgres_s = cpu_s(postgres) - postgres_before_s
    with step("waiting for what follows by itself"):
        stage.wait_for_job()
    size = _size(stage.postgres.dsn)
    logged = list(events(job.log))
    if (stored := stored_generations(stage.postgres.dsn)) != written.generations:
        raise LabError(f"{written.generations} generations were written, {stored} have a row")
    prepared.check(stage.postgres.dsn)
    batches = [one for one in logged if one.get("event") == "batch" and one.get("records")]
    began = next(one["at"] for one in logged if one.get("event") == "query_starts")
    return Drained(
        records=written.records,
        generations=written.generations,
        seconds=_moment_s(batches[-1]["at"]) - _moment_s(began),
        steady_records_per_s=_steady(batches),
        batches=len(batches),
        largest_batch=max(one["records"] for one in batches),
        slowest_batch_ms=max(one["ms"] for one in batches),
        peak_pss_mib=peak_mib,
        job_cpu_s=job_s,
        driver_cpu_s=driver_s,
        postgres_cpu_s=postgres_s,
        database_bytes=size[0] - size_before[0],
        wal_bytes=size[1] - size_before[1],
    )


def postmaster(data: Path) -> int:
    """PostgreSQL's first process, which all others are children of."""
    return int((data / "postmaster.pid").read_text(encoding="ascii").split()[0])


def _steady(batches: list[dict[str, Any]]) -> float:
    """Records a second from the first commit to the last; 0 when there was one batch only."""
    took_s = _moment_s(batches[-1]["at"]) - _moment_s(batches[0]["at"])
    return sum(one["records"] for one in batches[1:]) / took_s if took_s else 0.0


def _moment_s(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
