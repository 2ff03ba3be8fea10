"""What coordinators said, in a real database: once, by the writer, as long as other detail, joined when it is read."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, LiteralString

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.columns import DAY_MS
from rebalance_monitor.streaming.core.coordinator_log.line import Began, CoordinatorReason
from rebalance_monitor.streaming.core.ports import Deposed
from rebalance_monitor.streaming.store.coordinator_reasons import ReasonsKeeper
from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.retention import Kept, Retention
from rebalance_monitor.streaming.web.coordinator_reasons import with_said
from rebalance_monitor.streaming.web.reader import Reader
from tests.streaming.store.judging import CAPTURE
from tests.streaming.store.test_capture import batch

pytestmark = pytest.mark.postgres
SAID = CoordinatorReason(
    group="g\x00\ud800", old_generation=3, partition=1, kind=Began.LEFT, text="it left\x00", member_id="m"
)


def test_a_line_is_kept_once_with_how_far_its_file_was_read(dsn: str, store: PostgresStore) -> None:
    keeper, epoch = ReasonsKeeper(dsn), store.claim()
    keeper.keep("c", epoch, {"a": 10, "b": 5}, [SAID], ())
    keeper.keep("c", epoch, {"a": 20}, [SAID, replace(SAID, client_reason="bye")], ["b"])
    keeper.keep("c", epoch, {}, [SAID], ())
    assert keeper.positions("c") == {"a": 20}
    assert keeper.positions("other") == {}
    with store.database.session() as connection:
        rows = connection.execute(
            "select old_generation, kind, text, client_reason from rebalance_monitor.coordinator_reasons"
        ).fetchall()
    assert rows == [(3, "member_left", "it left\u2400", "bye")]
    store.claim()
    with pytest.raises(Deposed):
        keeper.keep("c", epoch, {"a": 30}, [], ())
    assert keeper.positions("c") == {"a": 20}
    keeper.close()


def test_it_goes_with_the_other_details(dsn: str, store: PostgresStore) -> None:
    keeper = ReasonsKeeper(dsn)
    keeper.keep("c", store.claim(), {}, [SAID], ())
    keeper.close()
    count = "select count(*), max(read_day) from rebalance_monitor.coordinator_reasons"
    with store.database.session() as connection:
        ((kept, day),) = connection.execute(count).fetchall()
        retention = Retention(Database(dsn), Kept(days=30, max_bytes=10**12, summary_days=400))
        retention.cut((day + 30) * DAY_MS)
        assert (kept, connection.execute(count).fetchall()[0][0]) == (1, 1)
        retention.cut((day + 31) * DAY_MS)
        assert connection.execute(count).fetchall()[0][0] == 0


def test_generations_are_read_with_what_was_said_of_them(dsn: str, store: PostgresStore) -> None:
    epoch, given = store.claim(), replace(settings_of(CAPTURE), name="c")
    batch(store, given, list(records_of(CAPTURE)), 1, epoch)
    reader = Reader([Database(dsn)], DatabaseUnreachable)
    where = {"cluster": "c", "group": "j-pattern"}
    before = {one.document["generation"]: one.document for one in reader.generations(where, None, 500).items}
    members = {number: {m["member_id"] for m in one["members"]} for number, one in before.items()}
    (gone,) = members[2] - members[3]
    keeper = ReasonsKeeper(dsn)
    said = CoordinatorReason(
        group="j-pattern", old_generation=2, partition=0, kind=Began.EXPIRED, text="expired", member_id=gone
    )
    again = replace(said, group="j-roundrobin", old_generation=1, kind=Began.JOINED, member_id=None)
    keeper.keep("c", epoch, {}, [said, replace(said, old_generation=0, member_id="nobody"), again], ())
    keeper.close()
    after = {one.document["generation"]: one.document for one in reader.generations(where, None, 500).items}
    (cause,) = after[3]["cause"]
    assert (cause["kind"], cause["certainty"], cause["subjects"][0]["id"]) == ("member_lost", "certain", gone)
    assert (after[1]["cause"][-1]["kind"], after[1]["cause"][-1]["certainty"]) == ("member_lost", "likely")
    assert {number for number in after if after[number] != before[number]} == {1, 3}
    source = after[3]["source"]
    single = reader.generation("c", source["topic"], source["partition"], source["offset"])
    assert single is not None
    assert single.document == after[3]
    records = [
        one.document for one in reader.generations({"cluster": "c", "group": "j-roundrobin"}, None, 500).items
    ]  # fmt: skip
    written = [one["cause"][0]["kind"] for one in records if one["generation"] == 2]
    assert written[-2:] == ["member_replaced", "member_joined"], "the one that was written again has none"
    reader.close()


def test_of_many_lines_of_one_number_few_are_read(dsn: str, store: PostgresStore) -> None:
    epoch, given = store.claim(), replace(settings_of(CAPTURE), name="c")
    batch(store, given, list(records_of(CAPTURE)), 1, epoch)
    reader = Reader([Database(dsn)], DatabaseUnreachable)
    rows = reader.generations({"cluster": "c", "group": "j-pattern"}, None, 500).items
    reader.close()
    members = {one.document["generation"]: {m["member_id"] for m in one.document["members"]} for one in rows}
    (gone,) = members[2] - members[3]
    said = CoordinatorReason(
        group="j-pattern", old_generation=2, partition=0, kind=Began.EXPIRED, text="expired", member_id=gone
    )
    others = [replace(said, text=f"{number} expired", member_id=f"{number}") for number in range(100)]
    keeper = ReasonsKeeper(dsn)
    keeper.keep("c", epoch, {}, [said, *others], ())
    keeper.close()
    with store.database.session() as connection:
        answered: list[int] = []

        def run(statement: LiteralString, values: Sequence[Any]) -> list[tuple[Any, ...]]:
            found = connection.execute(statement, values).fetchall()
            answered.append(len(found))
            return found

        one_life = with_said(rows, run)
        connection.execute("update rebalance_monitor.stored_generations set incarnation = 9 where generation = 1")
        lives = with_said(rows, run)
        connection.rollback()
    assert answered == [1, 20, 1, 1]  # of one generation there are lines
    for told in (one_life, lives):
        (third,) = [one.document for one in told if one.document["generation"] == 3]
        sure = [one["subjects"][0]["id"] for one in third["cause"] if one["certainty"] == "certain"]
        assert sure == [gone]
