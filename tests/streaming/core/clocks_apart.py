"""A capture as it would be if some clock were off: nothing else has changed. All clocks of the captures agree."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.connect.whole_inputs import Stamps
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import REGISTRY, fold_group, route
from rebalance_monitor.streaming.core.model.records import PASSED_OVER, GroupGeneration, OtherGroup, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Part, Result, Severity
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, decode, folded
from tests.vector_files import CAPTURES

NAMES = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir())
BATCH_MS, LAG_MS, TAIL_MS = 1_000, 300, 400_000
"""Live: how often rows are read, how old they are then at least, and how long the monitor looks on after the last."""


class Apart:
    """One capture. `who` in what follows is `worker-0`, `worker-1` …, `workers` (and who writes the configuration),
    `coordinator`, or `failover-n`: another broker leads the group's partition from its n-th record on."""

    def __init__(self, name: str) -> None:
        self.known: ClusterSettings = settings_of(CAPTURES / name)
        self.records: list[RawRecord] = list(records_of(CAPTURES / name))
        self.rows = [row for one in self.records for row in self._rows(one)]
        self.true_ms = {_place(row): row.timestamp_ms for row in self.rows}
        self._writer = {
            (one.topic, one.partition, one.offset): json.loads(one.value)["worker_id"]
            for one in self.records
            if one.topic.endswith("-status") and one.value
        }
        self.workers = sorted(set(self._writer.values()))

    def _rows(self, record: RawRecord) -> Iterator[Row]:
        row = decode(record, self.known)
        if row is not None:
            if not isinstance(row.body, OtherGroup):
                yield row
        elif record.topic != OFFSETS_TOPIC:  # of no interest, but no hole either
            for group in REGISTRY.groups_of_topic(self.known, record.topic):
                yield Row(
                    topic=record.topic,
                    partition=record.partition,
                    offset=record.offset,
                    timestamp_ms=record.timestamp_ms,
                    group=group,
                    body=PASSED_OVER,
                )

    def moved(self, who: str, ms: int) -> list[Row]:
        """The rows with this clock off by so much."""
        kind, _, number = who.partition("-")
        own = [row for row in self.rows if isinstance(row.body, GroupGeneration)]
        first = own[int(number)].offset if kind == "failover" else 0
        wrong = self.workers[int(number)] if kind == "worker" else None
        rows = []
        for row in self.rows:
            group = row.topic == OFFSETS_TOPIC
            hit = {
                "worker": wrong is not None and self._writer.get(_place(row)) == wrong,
                "workers": not group,
                "coordinator": group,
                "failover": group and row.offset >= first,
            }
            rows.append(_later(row, ms) if hit.get(kind) else row)
        return rows

    def replayed(self, rows: Iterable[Row]) -> list[Result]:
        """What `replay` says."""
        rows, stamps = list(rows), Stamps()
        at_ms = {_place(row): row.timestamp_ms for row in rows}
        for record in self.records:
            if record.topic == OFFSETS_TOPIC:
                place = (record.topic, record.partition, record.offset)
                stamps.logged(*place, at_ms.get(place, record.timestamp_ms), exact=place in at_ms)
        for row in rows:
            stamps.written(row)
        return folded(rows, stamps, self.known)

    def watched(self, rows: Iterable[Row], monitor_ms: int = 0) -> list[Result]:
        """What a monitor says that reads along; its clock is ahead by `monitor_ms`."""
        coming = sorted(rows, key=lambda row: self.true_ms[_place(row)])
        now_ms, end_ms = self.true_ms[_place(coming[0])], self.true_ms[_place(coming[-1])] + TAIL_MS
        states: dict[str, Saved] = {}
        due_ms: dict[str, int | None] = {}
        results: list[Result] = []
        while now_ms < end_ms:
            now_ms += BATCH_MS
            count = sum(self.true_ms[_place(row)] <= now_ms - LAG_MS for row in coming[:200])
            batch, coming = coming[:count], coming[count:]
            tick = Tick(now_ms + monitor_ms)
            routed = route(batch, self.known)
            for group in {*routed, *(name for name, at in due_ms.items() if at is not None and at <= tick.now_ms)}:
                outcome = fold_group(self.known, group, states.get(group), routed.get(group, []), tick)
                states[group], due_ms[group] = outcome.state, outcome.due_ms
                results.extend(outcome.results)
        return results


def _place(row: Row) -> tuple[str, int, int]:
    return (row.topic, row.partition, row.offset)


def _later(row: Row, ms: int) -> Row:
    body = row.body
    if isinstance(body, GroupGeneration) and body.state_ms > 0:
        body = replace(body, state_ms=body.state_ms + ms)
    return replace(row, timestamp_ms=row.timestamp_ms + ms, body=body)


def harm(results: Iterable[Result]) -> set[tuple[str, tuple[str, ...]]]:
    """What is found above info: code and subjects; and generations that are unexplained."""
    return set(_harm(results))


def _harm(results: Iterable[Result]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for result in results:
        if isinstance(result, Part) and result.severity is not Severity.INFO:
            yield result.code, tuple(f"{subject.type} {subject.id}" for subject in result.subjects)
        if isinstance(result, Generation) and result.verdict.grade is Grade.UNEXPLAINED:
            yield "unexplained", (str(result.generation),)
