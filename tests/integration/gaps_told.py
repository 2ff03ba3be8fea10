"""What is said of gaps: by the database, the log, the metrics and /readyz."""

import json
from typing import Any

import psycopg

from lab.process import Child
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

Gap = tuple[str, int, int, int, str]
"""(topic, partition, from, to, reason) of a row."""


def events(job: Child, name: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in job.log.read_text().splitlines() if line.startswith("{"))
    return [line for line in lines if line["event"] == name]


def gaps(watched: Watched) -> list[Gap]:
    with psycopg.connect(watched.postgres.dsn) as database:
        rows = database.execute(
            "select topic, partition, from_offset, to_offset, reason from rebalance_monitor.gaps order by found_at"
        ).fetchall()
    return [(row[0], row[1], row[2], row[3], row[4]) for row in rows]


def told(job: Child) -> set[Gap]:
    """The gaps that the log states."""
    names = ("topic", "partition", "from_offset", "to_offset", "reason")
    return {tuple(line[name] for name in names) for line in events(job, "gap")}


def in_log(watched: Watched, job: Child, wanted: set[Gap]) -> set[Gap]:
    """What the log states, once it states these: its lines follow the commit."""
    watched.lab.wait_for("the log's lines", lambda: told(job) >= wanted, job, PATIENCE_S)
    return told(job)


def value(watched: Watched, name: str, topic: str = "") -> float:
    """0 where there is no such series yet."""
    lines = [one for one in watched.metric(name + "{") if not topic or f'topic="{topic}"' in one]
    assert len(lines) <= 1, lines
    return float(lines[0].split()[-1]) if lines else 0.0


def degraded(watched: Watched) -> list[str]:
    return list(watched.readiness()[1].get("degraded", {}).get("own", []))


def agree(watched: Watched, job: Child, found: set[Gap], topic: str) -> None:
    """Metrics, /readyz and the log say of a topic what the database says."""
    rows = [row for row in gaps(watched) if row[0] == topic]
    assert found <= set(rows), (found, rows)
    lost, shown = sum(row[3] - row[2] for row in rows), len(rows)
    metric = "rebalance_monitor_gaps_not_acknowledged"
    watched.lab.wait_for("shown", lambda: value(watched, metric, topic) == shown, job, PATIENCE_S)
    assert value(watched, "rebalance_monitor_gap_records_total", topic) == lost
    count = "1 gap" if shown == 1 else f"{shown} gaps"
    reason = f"{topic}: records were gone before they were read ({count} not acknowledged)"
    assert reason in degraded(watched), degraded(watched)
    (line,) = [one for one in watched.metric("rebalance_monitor_degraded{") if f'reason="{topic}: gap"' in one]
    assert line.endswith(" 1.0")
