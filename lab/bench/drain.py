"""How fast the job reads a topic that was written before it started: records a second, and how the batches went."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

from lab.bench import topic
from lab.bench.cost import memory_mib
from lab.bench.stage import BenchStage
from lab.errors import LabError
from lab.process import Lab

PARTITIONS = 10
# The default limit is lifted: the figure is what the job can do, not what it is allowed to.
SETTINGS: dict[str, dict[str, object]] = {
    "source": {"max_bytes_per_second_per_broker": 10**10},
    "alerting": {"path": "prometheus"},
}
BROKER = {"offsets.topic.num.partitions": PARTITIONS, "offsets.retention.check.interval.ms": 86_400_000}
PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class Drained:
    """One drain. `seconds` counts from the query's start to the commit that reached the end.

    `steady_records_per_s` leaves out the first batch, in which Spark starts its Python processes.
    """

    records: int
    generations: int
    seconds: float
    steady_records_per_s: float
    batches: int
    largest_batch: int
    slowest_batch_ms: int
    peak_pss_mib: float


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
            "select coalesce(sum(next_offset), 0)::int8 from rebalance_monitor.positions where topic = %s",
            (topic.TOPIC,),
        ).fetchone()
    return 0 if row is None else int(row[0])


def stored_generations(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select count(*) from rebalance_monitor.generations").fetchone()
    return 0 if row is None else int(row[0])


def drain(lab: Lab, records: int) -> Drained:
    """Prepare, run until the last record is committed, look at every generation's row."""
    step = lab.progress.step
    stage = BenchStage(lab, SETTINGS, BROKER)
    with step(f"a topic of {records} records on a broker of its own"):
        stage.prepare()
        topic.fill(stage.broker.address, records, PARTITIONS)
    with step("draining it"):
        job = stage.job = stage.start_job()
        lab.wait_for("streaming job", stage.listening, job)
        peak_mib, deadline = 0.0, time.monotonic() + PATIENCE_S
        while reached(stage.postgres.dsn) < records:
            peak_mib = max(peak_mib, memory_mib(job.pid))
            if not job.running() or time.monotonic() > deadline:
                raise LabError(f"the job did not drain the topic; the end of {job.log}:\n{job.tail()}")
            time.sleep(0.25)
    logged = list(events(job.log))
    wanted, stored = topic.generations(records), stored_generations(stage.postgres.dsn)
    if stored != wanted:
        raise LabError(f"{wanted} generations were written, {stored} have a row")
    batches = [one for one in logged if one.get("event") == "batch" and one.get("records")]
    began = next(one["at"] for one in logged if one.get("event") == "query_starts")
    return Drained(
        records=records,
        generations=stored,
        seconds=_moment_s(batches[-1]["at"]) - _moment_s(began),
        steady_records_per_s=_steady(batches),
        batches=len(batches),
        largest_batch=max(one["records"] for one in batches),
        slowest_batch_ms=max(one["ms"] for one in batches),
        peak_pss_mib=peak_mib,
    )


def _steady(batches: list[dict[str, Any]]) -> float:
    """Records a second from the first commit to the last; 0 when there was one batch only."""
    took_s = _moment_s(batches[-1]["at"]) - _moment_s(batches[0]["at"])
    return sum(one["records"] for one in batches[1:]) / took_s if took_s else 0.0


def _moment_s(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
