"""docs/sizing.md, from what `make bench` and `make bench-growth` measured: what to give the job, and what it costs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lab.paths import ROOT

PAGE = ROOT / "docs" / "sizing.md"
DAY_S = 86_400
MONTH_DAYS = 30
PER_CLUSTER_MIB = 64
"""The process that asks a further cluster for its ends; docs/running.md has it measured."""
NAMES = {
    "": "middle",
    "generations": "generations",
    "groups": "groups",
    "members": "members of a group",
    "partitions": "partitions of a group",
    "log_partitions": "partitions of the log (bundles)",
}


class Slopes(NamedTuple):
    """What one more costs: a generation in seconds of processor time, bytes of the database and bytes written ahead; a
    record of an offset commit in seconds. `start_s`: processor time before the first generation is judged."""

    generation_s: float
    driver_s: float
    database_bytes: float
    wal_bytes: float
    record_s: float
    start_s: float


def cpu_s(drained: Mapping[str, Any]) -> float:
    """Of the job and PostgreSQL."""
    return float(drained["job_cpu_s"] + drained["postgres_cpu_s"])


def slopes(points: Sequence[Mapping[str, Any]], figures: Mapping[str, float]) -> Slopes:
    """Between the fewest and the most generations; of records from the drain of mostly commits."""
    least, most = (one["drained"] for one in points if one["grown"] == "generations")
    more = most["generations"] - least["generations"]
    generation_s = (cpu_s(most) - cpu_s(least)) / more
    start_s = cpu_s(least) - generation_s * least["generations"]
    drained_s = figures["drain_job_cpu_s"] + figures["drain_postgres_cpu_s"]
    # Its generations are small ones, which cost less than those above: so this is an upper bound for what is left.
    commits = figures["drain_records"] - figures["drain_generations"]
    return Slopes(
        generation_s,
        (most["driver_cpu_s"] - least["driver_cpu_s"]) / more,
        (most["database_bytes"] - least["database_bytes"]) / more,
        (most["wal_bytes"] - least["wal_bytes"]) / more,
        (drained_s - start_s) / commits,
        start_s,
    )


def table(points: Sequence[Mapping[str, Any]], start_s: float) -> list[str]:
    """A line for each drain."""
    lines = [
        "| grown | size | CPU ms | of them the driver | peak MiB | slowest batch ms | kB of database | kB of WAL |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in points:
        drained, grown = one["drained"], one["grown"]
        count = drained["generations"]
        size = f"{one['size'][grown]:,}" if grown else "as below"
        lines.append(
            f"| {NAMES[grown]} | {size} | {1000 * (cpu_s(drained) - start_s) / count:.2f} "
            f"| {1000 * drained['driver_cpu_s'] / count:.2f} | {drained['peak_pss_mib']:,.0f} "
            f"| {drained['slowest_batch_ms']:,} | {drained['database_bytes'] / count / 1000:.1f} "
            f"| {drained['wal_bytes'] / count / 1000:.1f} |"
        )
    return lines


class Need(NamedTuple):
    """An installation. `generations`: in a day; `commits_per_s`: records of offset commits a second."""

    what: str
    clusters: int
    generations: float
    commits_per_s: float
    measured: bool


NEEDS = (
    Need("1 cluster, 300 groups, each 20 generations a day, 2,000 commits a second", 1, 6_000, 2_000, True),
    Need("1 cluster, 10,000 groups, each 20 generations a day, 20,000 commits a second", 1, 200_000, 20_000, True),
    Need(
        "50 clusters of 200 groups, each 20 generations a day, 50,000 commits a second", 50, 200_000, 50_000, False
    ),
    Need("1 cluster with a storm: 100 generations a second all day", 1, 8_640_000, 2_000, False),
    Need("1,000,000 commits a second", 1, 200_000, 1_000_000, False),
)  # fmt: skip


def needs(found: Slopes, figures: Mapping[str, float]) -> list[str]:
    """What each installation takes."""
    lines = [
        "| installation | cores, mean | memory MiB | database GiB if 30 days are kept | |",
        "|---|---|---|---|---|",
    ]
    idle = figures["quiet_cpu_percent"] / 100
    for need in NEEDS:
        cores = (
            need.clusters * idle + need.generations / DAY_S * found.generation_s + need.commits_per_s * found.record_s
        )
        memory = figures["judge_peak_pss_mib"] + (need.clusters - 1) * PER_CLUSTER_MIB
        disk = need.generations * MONTH_DAYS * found.database_bytes / 2**30
        said = "" if need.measured else "*extrapolated*"
        lines.append(f"| {need.what} | {cores:.2f} | {memory:,.0f} | {disk:,.1f} | {said} |")
    return lines


TEMPLATE = """# Sizing

Written by `make bench-growth` on {machine}; commit {commit}.
Figures of one machine; the slopes between sizes say more than the figures themselves.

## What one more costs

| one more | costs |
|---|---|
| generation | {generation_ms:.2f} ms of processor time with PostgreSQL, of which the driver {driver_ms:.2f} ms |
| | {database_kb:.1f} kB of database, {wal_kb:.1f} kB of WAL |
| record of an offset commit | {record_us:.1f} µs |
| cluster | {per_cluster_mib} MiB, {idle_percent:.1f} % of a core while nothing happens |
| start | {start_s:.1f} s of processor time |

Tasks share all of it but the driver's part: so {driver_per_s:,.0f} generations a second are what one driver could hand
out (*extrapolated*), whatever the number of workers.

## As a load grows

The middle has {generations:,} generations of {groups} groups with {members} members and {partitions} partitions each,
in {log_partitions} partitions of the log; in each other line one of them is grown. Processor time is that of job and
PostgreSQL without the start.

{grown}

## What installations take

{needs}

Cores are a mean: give at least two, so that a batch is folded while the next one is read. Memory is the highest that
was seen while two tasks fold; each further core of one machine adds about 190 MiB. *Extrapolated* means: from the
slopes above, not run at that size. History is cut where `storage.max_bytes` (20 GiB) is passed, whatever its age
([history](history.md)).

## A formula for the bill

    cores   = {idle:.3f} × clusters + {generation_s:.5f} × generations a second + {record_s:.8f} × commits a second
    memory  = {peak_mib:,.0f} MiB + {per_cluster_mib} MiB × (clusters − 1) + 190 MiB × (cores − 2)
    disk    = {database_kb:.1f} kB × generations that are kept
    a month = cores × price of a core + memory × price of a GiB + disk × price of a GiB on disk
"""


def write(kept: Mapping[str, Any], figures: Mapping[str, float]) -> None:
    """The page, whole."""
    points = kept["points"]
    found = slopes(points, figures)
    text = TEMPLATE.format(
        **points[0]["size"],
        machine=kept["machine"],
        commit=kept["versions"]["commit"],
        generation_s=found.generation_s,
        generation_ms=1000 * found.generation_s,
        driver_ms=1000 * found.driver_s,
        driver_per_s=1 / found.driver_s,
        database_kb=found.database_bytes / 1000,
        wal_kb=found.wal_bytes / 1000,
        record_s=found.record_s,
        record_us=1_000_000 * found.record_s,
        start_s=found.start_s,
        per_cluster_mib=PER_CLUSTER_MIB,
        idle=figures["quiet_cpu_percent"] / 100,
        idle_percent=figures["quiet_cpu_percent"],
        peak_mib=figures["judge_peak_pss_mib"],
        grown="\n".join(table(points, found.start_s)),
        needs="\n".join(needs(found, figures)),
    )
    PAGE.write_text(text, encoding="utf-8")
