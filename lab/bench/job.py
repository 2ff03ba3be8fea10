"""`make bench`: how long a generation takes to become a row, a metric and an alert, and what the job costs.

Everything is real: broker, PostgreSQL, the streaming job, and simulated workers whose rebalances are the load. One run
produces every figure and writes docs/benchmarks.md and .json. `--only` measures a part and replaces its figures there.
"""

import argparse
import fcntl
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from lab.bench import drain, report
from lab.bench.cost import cpu_s, memory_mib
from lab.bench.generations.load import Load
from lab.bench.generations.played import Size
from lab.bench.load import SPOILED
from lab.bench.observe import Metrics, Rows, alert_latencies_ms, appended_ms, latencies_ms, now_ms, percentile
from lab.bench.prepared import MostlyCommits, Prepared, TrueGenerations
from lab.bench.stage import BenchStage
from lab.cluster import jars, java, postgres
from lab.cluster.spark import SparkCluster
from lab.errors import LabError
from lab.paths import BUILD, ROOT
from lab.process import Lab, Progress, signals_stop

FOLDER = BUILD / "bench"
PARTS = ("latency", "quiet", "drain", "judge", "cluster")
JUDGED = ("range", "cooperative-sticky", "connect", "range", "sticky", "cooperative-sticky", "roundrobin")
"""Kinds of the groups of the judged load, so that most are what most users have."""
GROUPS = 6
RATE_PER_S = 10
# As long as a running job takes to have its code compiled and its caches filled; a monitor runs for months.
WARM_UP_S = 20
ARRIVE_S = 3.0
CALM_S = 2.0
HEARTBEATS_S = 15.0

Figures = dict[str, float]


class LoadProcess:
    """The other end of `lab.bench.load`."""

    def __init__(self, stage: BenchStage) -> None:
        command = [sys.executable, "-m", "lab.bench.load", "--bootstrap", stage.broker.address, "--groups", str(GROUPS)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.answer("ready")

    def answer(self, wanted: str = "done") -> int:
        """The number that the load answers with."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line.startswith(wanted):
            raise LabError(f"the load ended: {line or 'it said nothing'}")
        return int(line.split()[1]) if " " in line else 0

    def tell(self, command: str) -> int:
        """Have one command done."""
        assert self._process.stdin is not None
        print(command, file=self._process.stdin, flush=True)
        return self.answer()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def load_process(stage: BenchStage) -> Iterator[LoadProcess]:
    load = LoadProcess(stage)
    try:
        yield load
    finally:
        load.end()


def summed_up(name: str, taken: Sequence[float]) -> Figures:
    """p50, p99 and their number."""
    if not taken:
        raise LabError(f"{name}: nothing was measured; see the job's log in {FOLDER}")
    return {
        f"{name}_p50_ms": round(percentile(taken, 0.5), 1),
        f"{name}_p99_ms": round(percentile(taken, 0.99), 1),
        f"{name}_samples": len(taken),
    }


def under_load(stage: BenchStage, load: LoadProcess, seconds: int) -> Figures:
    """Rows and alerts while the load runs; then metrics, whose scrapes cost the job something, on their own."""
    dsn, figures = stage.postgres.dsn, {}
    load.tell(f"mixed {RATE_PER_S} {WARM_UP_S}")
    time.sleep(ARRIVE_S)
    with Rows(dsn) as rows:
        since, cpu_before_s = now_ms(), cpu_s(stage.job.pid)
        load.tell(f"mixed {RATE_PER_S} {seconds}")
        until = now_ms()
        figures["load_cpu_percent"] = round(100_000 * (cpu_s(stage.job.pid) - cpu_before_s) / (until - since), 1)
        time.sleep(ARRIVE_S)
    appended = {generation: at for generation, at in appended_ms(dsn, since).items() if at <= until}
    if lost := set(appended) - set(rows.seen):
        raise LabError(f"{len(lost)} generations have a row that was not seen to appear")
    figures["load_generations_per_s"] = round(1000 * len(appended) / (until - since), 1)
    figures |= summed_up("load_append_to_row", latencies_ms(rows.seen, appended))
    figures |= summed_up("load_append_to_webhook", alert_latencies_ms(dsn, stage.receiver_url, since))
    figures["memory_pss_mib"] = round(memory_mib(stage.job.pid), 1)
    with Metrics(stage.addresses.metrics) as metrics:
        since = now_ms()
        load.tell(f"pace {RATE_PER_S} {seconds // 2}")
        time.sleep(ARRIVE_S)
    return figures | summed_up("load_append_to_metric", latencies_ms(metrics.seen, appended_ms(dsn, since)))


def from_quiet(stage: BenchStage, load: LoadProcess, samples: int) -> Figures:
    """One wrong round at a time, after a pause in which the reader falls asleep; row, metric and alert of each."""
    dsn = stage.postgres.dsn
    load.tell("heal")
    time.sleep(ARRIVE_S)
    since = now_ms()
    spoiled = set()
    with Rows(dsn) as rows, Metrics(stage.addresses.metrics) as metrics:
        for _ in range(samples):
            time.sleep(CALM_S)
            spoiled.add((SPOILED, load.tell("spoil")))
            time.sleep(CALM_S / 2)
            load.tell("heal")
    appended = {generation: at for generation, at in appended_ms(dsn, since).items() if generation in spoiled}
    return {
        **summed_up("quiet_append_to_row", latencies_ms(rows.seen, appended)),
        **summed_up("quiet_append_to_metric", latencies_ms(metrics.seen, appended)),
        **summed_up("quiet_append_to_webhook", alert_latencies_ms(dsn, stage.receiver_url, since)),
    }


def quiet(stage: BenchStage, seconds: int) -> Figures:
    """Processor time of the job while no record comes."""
    time.sleep(HEARTBEATS_S)
    before_s, began_s = cpu_s(stage.job.pid), time.monotonic()
    time.sleep(seconds)
    used = (cpu_s(stage.job.pid) - before_s) / (time.monotonic() - began_s)
    return {"quiet_cpu_percent": round(100 * used, 2), "quiet_s": seconds}


@contextmanager
def lab_in(folder: Path, progress: Progress) -> Iterator[Lab]:
    """An empty folder of its own, whatever the last run left."""
    postgres.stop_server(folder / "postgres")
    shutil.rmtree(folder, ignore_errors=True)
    with Lab(folder, progress) as lab:
        yield lab


@contextmanager
def alone() -> Iterator[None]:
    """Two measurements at once would measure each other."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "bench.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LabError("another benchmark is running in this clone; wait for its end or stop it") from None
        yield


@contextmanager
def measuring(progress: Progress) -> Iterator[None]:
    """Alone, with all that a stage needs on this machine, until it ends or a signal comes."""
    with signals_stop(), alone():
        if jars.missing():
            with progress.step("fetching the jars of Kafka"):
                jars.fetch(java.find())
        yield


def measure(given: argparse.Namespace, progress: Progress) -> Figures:
    """Every figure that was asked for."""
    figures: Figures = {}
    wanted = given.only or PARTS
    if "latency" in wanted or "quiet" in wanted:
        with lab_in(FOLDER / "whole", progress) as lab:
            stage = BenchStage(lab)
            with progress.step("broker, PostgreSQL, alert receiver and job"):
                stage.prepare()
                stage.job = stage.start_job()
                stage.wait_for_job()
            if "latency" in wanted:
                with load_process(stage) as load:
                    with progress.step(f"{RATE_PER_S} generations a second for {given.load_s} s and more"):
                        figures |= under_load(stage, load, given.load_s)
                    with progress.step(f"{given.quiet_samples} wrong rounds from quiet"):
                        figures |= from_quiet(stage, load, given.quiet_samples)
            if "quiet" in wanted:
                with progress.step(f"a quiet topic for {given.quiet_s} s"):
                    figures |= quiet(stage, given.quiet_s)
    if "drain" in wanted:
        found = _drained("drain", MostlyCommits(given.drain_records), progress)
        figures |= _figures("drain", found)
        figures["drain_records_per_s"] = round(found.records / found.seconds)
    if "judge" in wanted:
        size = Size(generations=given.judge_generations, groups=given.judge_groups, members=11, partitions=44)
        found = _drained("judge", TrueGenerations(Load(size, JUDGED)), progress)
        figures |= _figures("judge", found)
        figures["judge_cpu_ms_per_generation"] = _cpu_ms_per_generation(found)
        figures["judge_driver_ms_per_generation"] = round(1000 * found.driver_cpu_s / found.generations, 3)
    if "cluster" in wanted:
        figures |= _on_a_cluster(given, progress)
    return figures


def _on_a_cluster(given: argparse.Namespace, progress: Progress) -> Figures:
    """The same load with one core: in the driver's process, and then with one core of each of two workers."""
    figures: Figures = {}
    size = Size(generations=given.cluster_generations, groups=given.judge_groups, members=11, partitions=44)
    alone = _drained("local-1", TrueGenerations(Load(size, JUDGED)), progress, {"master": "local[1]"})
    with lab_in(FOLDER / "cluster", progress) as lab:
        spark = SparkCluster(lab)
        section = {"master": spark.master, "conf": {"spark.cores.max": str(spark.workers)}}
        shared = drain.drain(lab, TrueGenerations(Load(size, JUDGED)), section, spark)
    for name, found in (("local_1", alone), ("cluster", shared)):
        figures[f"{name}_steady_records_per_s"] = round(found.steady_records_per_s, 1)
        figures[f"{name}_cpu_ms_per_generation"] = _cpu_ms_per_generation(found)
    figures["cluster_times_faster"] = round(shared.steady_records_per_s / alone.steady_records_per_s, 2)
    return figures


def _drained(
    name: str, prepared: Prepared, progress: Progress, spark: Mapping[str, object] | None = None
) -> drain.Drained:
    with lab_in(FOLDER / name, progress) as lab:
        return drain.drain(lab, prepared, spark)


def _cpu_ms_per_generation(found: drain.Drained) -> float:
    return round(1000 * (found.job_cpu_s + found.postgres_cpu_s) / found.generations, 2)


def _figures(name: str, found: drain.Drained) -> Figures:
    """Each field, with this name before it."""
    fields = {f"{name}_{field}": round(value, 1) for field, value in asdict(found).items() if field != "seconds"}
    return {**fields, f"{name}_s": round(found.seconds, 1)}


def main() -> int:
    """Run, write the report, name what missed its aim."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="replace a part's figures")
    parser.add_argument("--load-s", type=int, default=60, help="how long rows are timed under load")
    parser.add_argument("--quiet-samples", type=int, default=30, help="wrong rounds from quiet")
    parser.add_argument("--quiet-s", type=int, default=300, help="how long the processor time of a quiet job is taken")
    parser.add_argument("--drain-records", type=int, default=2_000_000, help="records in the prepared topic")
    parser.add_argument("--judge-generations", type=int, default=20_000, help="true generations that are drained")
    parser.add_argument("--judge-groups", type=int, default=140, help="how many groups they are of")
    parser.add_argument("--cluster-generations", type=int, default=8_000, help="of those on a cluster of Spark")
    given = parser.parse_args()
    progress = Progress()
    try:
        with measuring(progress):
            figures = measure(given, progress)
    except LabError as why:
        print(f"bench: {why}", file=sys.stderr)
        return 2
    before = report.last() if given.only else {}
    print("\n".join(report.write({**before, **figures}, java.find().version)))
    if missed := report.missed(figures):
        print(f"not within the aim: {', '.join(missed)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
