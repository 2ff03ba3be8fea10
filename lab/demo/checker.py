"""Does what the monitor published agree with what is in Kafka? Knows only the addresses.

Three comparisons, each between two sources that do not know of each other:
  records with members in `__consumer_offsets`   =  rows in PostgreSQL, coordinates included
  newest generation and size of each group       =  series at /metrics
  incidents told and ended in PostgreSQL         =  alerts firing and resolved at the receiver
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg
from prometheus_client.parser import text_string_to_metric_families

from lab.asking import local
from lab.cluster import offsets_reader
from lab.cluster.offsets_reader import Coordinates, Found
from lab.errors import LabError

Series = dict[tuple[str, str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """All that the checker is told."""

    bootstrap: str
    dsn: str
    metrics: str
    receiver: str


@dataclass(slots=True)
class Report:
    """Lines of what agrees, and what does not."""

    agreed: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def check(addresses: Addresses, patience_s: float = 20) -> Report:
    """Compare; what has just been written is given `patience_s` to arrive everywhere."""
    deadline = time.monotonic() + patience_s
    while True:
        report = Report()
        with psycopg.connect(addresses.dsn) as database:
            records = offsets_reader.read(addresses.bootstrap)
            _rows(report, records, database)
            _series(report, records, addresses.metrics, database)
            _alerts(report, addresses.receiver, database)
            if not report.differences or time.monotonic() > deadline:
                _batches(report, database)
                return report
        time.sleep(0.5)


def _rows(report: Report, records: Iterable[Found], database: psycopg.Connection[Any]) -> None:
    wanted = {one.at for one in records if one.members > 0}
    query = 'select topic, partition, "offset" from rebalance_monitor.generations'
    rows = [Coordinates(*row) for row in database.execute(query).fetchall()]
    got = set(rows)
    if wanted == got and len(rows) == len(got):
        report.agreed.append(
            f"{len(got)} group records with members in Kafka = {len(rows)} rows in PostgreSQL, coordinates equal"
        )
        return
    if missing := sorted(wanted - got):
        report.differences.append(f"{len(missing)} records have no row, first {_at(missing[0])}")
    if extra := sorted(got - wanted):
        report.differences.append(f"{len(extra)} rows have no record, first {_at(extra[0])}")
    if len(rows) != len(got):
        report.differences.append(f"{len(rows) - len(got)} rows are double")


def _at(at: Coordinates) -> str:
    return f"{at.topic}-{at.partition} offset {at.offset}"


def scrape(url: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """All samples at /metrics by name."""
    try:
        text = local().get(url, timeout=60).raise_for_status().text
    except httpx.HTTPError as error:
        raise LabError(f"{url} does not answer: {error}") from None
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), float(sample.value)))
    return found


def _series(report: Report, records: Iterable[Found], url: str, database: psycopg.Connection[Any]) -> None:
    try:
        samples = scrape(url)
    except LabError as error:
        report.differences.append(str(error))
        return
    last = {one.group: one for one in records if one.members >= 0}
    live = {group: one for group, one in last.items() if one.members > 0}
    before = len(report.differences)
    for name, value_of in _EXPECTED.items():
        values = {labels["group"]: value for labels, value in samples.get(name, [])}
        for group, generation in sorted(live.items()):
            wanted, got = value_of(generation), values.get(group)
            if got != wanted:
                report.differences.append(f"{name} of {group} is {got}, the topic's last record says {wanted:.0f}")
    open_now = database.execute(
        'select distinct cluster, "group", rule from rebalance_monitor.incidents where firing'
    ).fetchall()
    raised = {
        (labels["cluster"], labels["group"], labels["rule"])
        for labels, value in samples.get("rebalance_monitor_incident", [])
        if value == 1
    }
    if raised != set(open_now):
        report.differences.append(
            f"incidents at /metrics {sorted(raised)} differ from those in the database {sorted(open_now)}"
        )
    if len(report.differences) == before:
        report.agreed.append(f"series at /metrics agree for {len(live)} groups, incidents notified: {len(raised)}")


_EXPECTED: dict[str, Callable[[Found], float]] = {
    "rebalance_monitor_group_generation": lambda one: float(one.generation),
    "rebalance_monitor_group_members": lambda one: float(one.members),
}


def _alerts(report: Report, receiver: str, database: psycopg.Connection[Any]) -> None:
    try:
        entries = received(receiver)
    except LabError as error:
        report.differences.append(str(error))
        return
    rows = database.execute(
        'select cluster, "group", rule, firing from rebalance_monitor.incidents'
        " where fired_at_ms is not null and alert <> 'info'"
    ).fetchall()
    still_open: dict[tuple[str, str, str], bool] = {}
    for cluster, group, rule, is_open in rows:
        key = (cluster, group, rule)
        still_open[key] = still_open.get(key, False) or is_open
    before = len(report.differences)
    fired = 0
    for key, is_open in sorted(still_open.items()):
        about = [entry for entry in entries if _about(entry["alert"]["labels"]) == key]
        fired += any(entry["status"] == "firing" for entry in about)
        if not any(entry["status"] == "firing" for entry in about):
            report.differences.append(f"{key[2]} in {key[1]} never fired at the receiver")
        elif not is_open and not _all_resolved(about):
            report.differences.append(f"{key[2]} in {key[1]} is over, but the receiver was not told")
    strange = {_about(entry["alert"]["labels"]) for entry in entries} - set(still_open)
    if strange:
        report.differences.append(f"the receiver got alerts without an incident: {sorted(strange)}")
    if len(report.differences) == before:
        over = sum(not is_open for is_open in still_open.values())
        report.agreed.append(f"{fired} kinds of incident fired at the receiver, {over} of them resolved there")


def received(receiver: str) -> list[dict[str, Any]]:
    """All that the receiver got, in order of arrival."""
    try:
        entries: list[dict[str, Any]] = local().get(f"{receiver}/received", timeout=60).raise_for_status().json()
    except httpx.HTTPError as error:
        raise LabError(f"the alert receiver {receiver} does not answer: {error}") from None
    return entries


def _about(labels: dict[str, str]) -> tuple[str, str, str]:
    return labels.get("cluster", ""), labels.get("group", ""), labels.get("rule", "")


def _all_resolved(entries: list[dict[str, Any]]) -> bool:
    latest = {str(sorted(entry["alert"]["labels"].items())): entry["status"] for entry in entries}
    return set(latest.values()) == {"resolved"}


def _batches(report: Report, database: psycopg.Connection[Any]) -> None:
    """Which batches of the query wrote rows: evidence that the stream did it."""
    rows = database.execute(
        "select batch_id, count(*) from rebalance_monitor.generations group by batch_id order by min(at_ms)"
    ).fetchall()
    shown = ", ".join(f"{batch}: {count}" for batch, count in rows)
    report.agreed.append(f"generations by batch id of the query: {shown or 'none'}")


def show(report: Report) -> bool:
    """Print the report; True when everything agrees."""
    for line in report.agreed:
        print(f"  agrees: {line}", flush=True)
    for line in report.differences:
        print(f"  DIFFERS: {line}", flush=True)
    return not report.differences


def main() -> int:
    """0 when everything agrees, 1 when something differs, 2 when something cannot be reached."""
    parser = argparse.ArgumentParser(description="Compare Kafka, PostgreSQL, /metrics and the alert receiver.")
    parser.add_argument("--bootstrap", required=True, help="host:port of the broker")
    parser.add_argument("--dsn", required=True, help="PostgreSQL")
    parser.add_argument("--metrics", required=True, help="URL of /metrics")
    parser.add_argument("--receiver", required=True, help="base URL of the alert receiver")
    given = parser.parse_args()
    try:
        addresses = Addresses(
            bootstrap=given.bootstrap, dsn=given.dsn, metrics=given.metrics, receiver=given.receiver.rstrip("/")
        )
        return 0 if show(check(addresses)) else 1
    except (LabError, psycopg.Error) as error:
        print(f"checker: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
