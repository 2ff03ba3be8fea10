"""Records of a real cluster, folded in three batches through stored states: the rows equal what `replay` prints."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.core.fold.fold import STATE_VERSION
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import OtherGroup, Tick
from rebalance_monitor.streaming.core.model.results import Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.ports import Commit, GroupKey, PartitionKey, Range, StoredState
from rebalance_monitor.streaming.core.replay import RawRecord, decode, replay
from rebalance_monitor.streaming.store.postgres import PostgresStore

pytestmark = pytest.mark.postgres

CAPTURE = Path(__file__).parents[2] / "vectors" / "captures" / "sessioned-4.3.1"


def records() -> list[RawRecord]:
    with gzip.open(CAPTURE / "records.jsonl.gz", "rt", encoding="utf-8") as text:
        return [_record(json.loads(line)) for line in text]


def _record(line: dict[str, Any]) -> RawRecord:
    key, value = (None if line[part] is None else base64.b64decode(line[part]) for part in ("key", "value"))
    place = (line["topic"], line["partition"], line["offset"], line["timestamp"])
    return RawRecord(topic=place[0], partition=place[1], offset=place[2], timestamp_ms=place[3], key=key, value=value)


def settings() -> ClusterSettings:
    described = json.loads((CAPTURE / "cluster.json").read_text(encoding="utf-8"))
    connect = {
        group["group.id"]: ConnectSettings(
            config_topic=group["config.storage.topic"], status_topic=group["status.storage.topic"], max_delay_ms=8_000
        )
        for group in described["groups"]
    }
    return ClusterSettings(name="c", connect=connect)


def batch(store: PostgresStore, given: ClusterSettings, some: list[RawRecord], number: int, epoch: int) -> None:
    """What the batch function does, without Spark."""
    rows = [row for row in (decode(one, given) for one in some) if row and not isinstance(row.body, OtherGroup)]
    ends: dict[PartitionKey, int] = {}
    for record in some:
        ends[PartitionKey("k1", f"id-{record.topic}", record.topic, record.partition)] = record.offset + 1
    known = store.positions()
    states: dict[GroupKey, StoredState] = {}
    results: list[Result] = []
    groups = {GroupKey("c", group): own for group, own in route(rows, given).items()}
    stored = store.load(list(groups))
    last = number == 2
    for key, own in groups.items():
        before = Saved(stored[key].state, store.load_waiting(key, 0)) if key in stored else None
        # The capture comes topic by topic: no time has been reached everywhere before the last batch.
        tick = Tick(some[-1].timestamp_ms) if last else None
        outcome = fold_group(given, key.group, before, own, tick, end_of_input=last)
        states[key] = StoredState(
            version=STATE_VERSION,
            state=outcome.state.lines,
            due_ms=outcome.due_ms,
            revision=stored[key].revision if key in stored else 0,
            waiting=outcome.state.waiting,
            waits=outcome.waits,
        )
        results.extend(outcome.results)
    ranges = {key: Range(known.get(key, 0), end) for key, end in ends.items()}
    store.commit(Commit(batch_id=number, writer_epoch=epoch, ranges=ranges, states=states, results=results))


def test_rows_equal_what_replay_prints(store: PostgresStore) -> None:
    given, read, epoch = settings(), records(), store.claim()
    third = len(read) // 3
    for number, some in enumerate((read[:third], read[third : 2 * third], read[2 * third :])):
        batch(store, given, some, number, epoch)
    wanted = {
        (one["source"]["partition"], one["source"]["offset"]): one
        for one in replay(read, given).objects
        if one["kind"] == "generation"
    }
    with store.database.session() as connection:
        rows = connection.execute(
            'select partition, "offset", document, topic_id from rebalance_monitor.generations'
        ).fetchall()
    assert len(wanted) > 10
    assert {(partition, offset): document for partition, offset, document, _ in rows} == wanted
    assert {topic_id for *_, topic_id in rows} == {"id-__consumer_offsets"}
