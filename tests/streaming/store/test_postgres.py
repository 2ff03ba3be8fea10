"""The store against a real PostgreSQL: one transaction, one authority on progress, one writer."""

import hashlib
import json
from dataclasses import replace
from secrets import token_hex
from typing import Any, cast

import psycopg
import pytest

from rebalance_monitor.streaming.core.columns import DAY_MS
from rebalance_monitor.streaming.core.fold.state import STATE_VERSION
from rebalance_monitor.streaming.core.model.results import AlertSeverity, GapRecord, Incident, JobState, Subject
from rebalance_monitor.streaming.core.ports import (
    AlreadyThere,
    Deposed,
    GroupKey,
    KeptState,
    StoredState,
)
from rebalance_monitor.streaming.store.database import DatabaseUnreachable
from rebalance_monitor.streaming.store.days import OTHER, Days, partition
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.states import DUE, EARLIEST_DUE
from tests.streaming.builders import (
    GROUP,
    PARTITION,
    TOPIC,
    apart,
    commit,
    generation,
    incident,
    member,
    pending,
    state,
    undecodable,
)

pytestmark = pytest.mark.postgres

TABLES = (
    "positions", "states", "generations", "members", "assignments", "incidents", "outbox", "undecodable",
    "undecodable_counts", "gaps", "other_groups",
)  # fmt: skip


def rows(store: PostgresStore, query: str) -> list[tuple[Any, ...]]:
    with store.database.session() as connection:
        return connection.execute(query).fetchall()


def everything(store: PostgresStore) -> dict[str, list[str]]:
    return {t: sorted(str(row) for row in rows(store, f"select * from rebalance_monitor.{t}")) for t in TABLES}


def test_a_commit_can_be_read_back(store: PostgresStore) -> None:
    epoch = store.claim()
    gap = GapRecord(cluster="c", topic=TOPIC, partition=3, from_offset=1, to_offset=4, reason="deleted")
    store.commit(
        commit(
            epoch,
            0,
            10,
            generation(),
            incident(),
            undecodable(6),
            gap,
            states={GROUP: state(500)},
            blobs={"h": b"\x00\x01"},
            other_groups={("c", "shared", "share"): 2},
        )
    )
    assert store.positions() == {PARTITION: 10}
    assert store.load([GROUP, GroupKey("c", "none")]) == {GROUP: state(500, revision=1)}
    ((key, document),) = rows(
        store,
        'select array[cluster, topic_id, partition::text, "offset"::text], document from rebalance_monitor.generations',
    )
    assert key == ["c", "id-1", "3", "5"]
    assert (document["kind"], document["verdict"]["grade"]) == ("generation", "match")
    assert rows(store, "select worker, assigned, owned->'tasks' from rebalance_monitor.members order by ordinal") == [
        (f"w{n}:8083", {"connectors": ["a"], "tasks": [["a", 0]]}, []) for n in (1, 2)
    ]
    assert rows(store, "select key from rebalance_monitor.outbox") == [("i1:fired",)]
    assert rows(store, "select from_offset, to_offset, topic_id from rebalance_monitor.gaps") == [(1, 4, "id-1")]
    assert rows(store, "select * from rebalance_monitor.other_groups") == [("c", "shared", "share", 2)]
    assert store.open_incidents() == [incident()]


def test_a_repeated_batch_changes_nothing(store: PostgresStore) -> None:
    epoch = store.claim()
    batch = commit(
        epoch, 0, 10, pending(5), generation(5), incident(), incident("resolved"), undecodable(6), undecodable(6),
        states={GROUP: state(500)}, blobs={"h": b"x"},
    )  # fmt: skip
    store.commit(batch)
    before = everything(store)
    with pytest.raises(AlreadyThere):
        store.commit(batch)
    assert everything(store) == before


def test_a_second_writer_deposes_the_first(store: PostgresStore, dsn: str) -> None:
    first = store.claim()
    other = PostgresStore(dsn, "c")
    second = other.claim()
    assert second > first
    with pytest.raises(Deposed, match="another job has taken over"):
        store.commit(commit(first, 0, 10, generation()))
    assert store.positions() == {}
    other.commit(commit(second, 0, 10))
    other.close()


def test_nobody_writes_without_a_claim(store: PostgresStore) -> None:
    with pytest.raises(Deposed):
        store.commit(commit(1, 0, 10))


def test_a_pending_verdict_is_upgraded_and_never_taken_back(store: PostgresStore) -> None:
    epoch = store.claim()
    grades = "select grade, pending_until_ms, topic_id from rebalance_monitor.generations"
    store.commit(commit(epoch, 0, 10, pending(5)))
    assert rows(store, grades) == [("not_judged", 61_000, "id-1")]
    store.commit(commit(epoch, 10, 20, generation(5)))
    assert rows(store, grades) == [("match", None, "id-1")]
    store.commit(commit(epoch, 20, 30, pending(5)))
    assert rows(store, grades) == [("match", None, "id-1")]
    assert len(rows(store, "select 1 from rebalance_monitor.members")) == 2


def test_a_generation_written_twice_is_two_rows(store: PostgresStore) -> None:
    # The coordinator writes one generation again when a member's session time-out or instance changes.
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, generation(5), generation(6)))
    found = rows(store, 'select generation, "offset" from rebalance_monitor.generations order by 2')
    assert found == [(7, 5), (7, 6)]


def test_a_reused_group_id_keeps_both_lives(store: PostgresStore) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, generation(5, generation=1), generation(8, generation=1, incarnation=1)))
    found = rows(store, 'select incarnation, generation, "offset" from rebalance_monitor.generations order by 1')
    assert found == [(0, 1, 5), (1, 1, 8)]


def test_timers(store: PostgresStore) -> None:
    epoch = store.claim()
    assert store.earliest_due_ms("c") is None
    named = {GroupKey("c", name): state(due) for name, due in (("a", 300), ("b", 100), ("d", None))}
    store.commit(commit(epoch, states={**named, GroupKey("other", "a"): state(1)}))
    assert store.earliest_due_ms("c") == 100
    assert store.due("c", 99) == []
    assert store.due("c", 300) == [GroupKey("c", "b"), GroupKey("c", "a")]
    store.commit(commit(epoch, 10, 20, states={GroupKey("c", "b"): state(None, revision=1)}))
    assert store.earliest_due_ms("c") == 300


def test_groups_whose_state_cannot_be_read_are_due_at_once_when_a_job_starts(store: PostgresStore) -> None:
    old, present = GroupKey("c", "old"), GroupKey("c", "present")
    newest = StoredState(version=STATE_VERSION, state=b"{}", due_ms=None)
    other = replace(newest, version=STATE_VERSION + 1)
    store.commit(commit(store.claim(), states={old: other, present: newest, GroupKey("", "c"): other}))
    assert store.due("c", 1) == []
    store.claim()
    assert store.due("c", 1) == [old]
    assert store.due("", 1) == []


@pytest.mark.parametrize("asked", [DUE, EARLIEST_DUE])
def test_the_timers_are_found_by_an_index(store: PostgresStore, asked: str) -> None:
    with store.database.transaction() as connection:
        connection.execute("set local enable_seqscan = off")
        connection.execute("set local enable_bitmapscan = off")
        plan = connection.execute(b"explain " + asked.encode(), {"cluster": "c", "now_ms": 0}).fetchall()
    assert "states_due" in str(plan)


def test_timers_of_one_slot_and_of_several_are_told_apart(store: PostgresStore) -> None:
    slot_ms = 120_000
    due = {"a": 11 * slot_ms, "b": 10 * slot_ms + 5, "c": 10 * slot_ms + 4, "d": None}
    store.commit(commit(store.claim(), states={GroupKey("c", name): state(at) for name, at in due.items()}))
    assert store.earliest_due_ms("c") == 10 * slot_ms + 4
    found = {at: [key.group for key in store.due("c", 10 * slot_ms + at)] for at in (3, 4, 5, slot_ms)}
    assert found == {3: [], 4: ["c"], 5: ["c", "b"], slot_ms: ["c", "b", "a"]}


@pytest.mark.parametrize("day", [-1, 1])
def test_a_content_that_fits_on_a_page_stays_in_its_row(store: PostgresStore, day: int) -> None:
    content = json.dumps([hashlib.sha256(bytes([number])).hexdigest() for number in range(80)])
    with store.database.session() as connection:
        Days().ensure(connection, [1], DAY_MS)
        connection.execute("insert into rebalance_monitor.stored_contents values ('a', %s, %s)", (day, content))
        beside = connection.execute(
            "select c.relname, pg_relation_size(c.reltoastrelid) from rebalance_monitor.stored_contents s"
            " join pg_class c on c.oid = s.tableoid"
        ).fetchall()
    assert beside == [(partition("stored_contents", day if day > 0 else OTHER), 0)]


def test_what_a_batch_brings_of_a_firing_incident_is_one_notification_in_its_last_state(store: PostgresStore) -> None:
    epoch = store.claim()
    worse = incident("updated", alert=AlertSeverity.WARNING)
    store.commit(commit(epoch, 0, 10, incident(), worse, incident("resolved", alert=AlertSeverity.WARNING)))
    severity = "previous->>'alert', document->>'alert'"
    told = rows(store, f"select key, {severity} from rebalance_monitor.outbox order by sequence")
    assert [key.split(":")[1] for key, *_ in told] == ["fired", "resolved"]
    assert [severities for _, *severities in told] == [[None, "warning"], [None, "warning"]]
    assert rows(store, "select transition, resolved_at_ms from rebalance_monitor.incidents") == [("resolved", 9_000)]
    assert store.open_incidents() == []


def test_an_update_in_a_later_batch_knows_what_was_before(store: PostgresStore) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, incident()))
    store.commit(commit(epoch, 10, 20, incident("updated", alert=AlertSeverity.WARNING)))
    told = rows(store, "select previous->>'alert' from rebalance_monitor.outbox where transition = 'updated'")
    assert told == [("critical",)]


def test_historic_transitions_tell_nobody(store: PostgresStore) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, incident(historic=True), incident("resolved", historic=True)))
    assert rows(store, "select 1 from rebalance_monitor.outbox") == []
    assert rows(store, "select historic from rebalance_monitor.incidents") == [(True,)]


def test_all_undecodable_records_are_counted_and_the_first_of_each_reason_kept(store: PostgresStore) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, *(undecodable(n) for n in range(2)), undecodable(9, "bad key")))
    store.commit(commit(epoch, 10, 20, *(undecodable(n) for n in range(10, 15))))
    counts = rows(store, "select reason, records from rebalance_monitor.undecodable_counts order by 1")
    assert counts == [("bad key", 1), ("trailing bytes", 7)]
    kept = rows(store, "select \"offset\" from rebalance_monitor.undecodable where reason <> 'bad key' order by 1")
    assert kept == [(0,), (1,), (10,)]


@pytest.mark.parametrize("group", ["a\x00b", "x" * 30_000, "\ud800", "…", "ünï", "a'b\"c\\u0000"])
def test_no_name_a_client_may_choose_stops_the_job(store: PostgresStore, group: str) -> None:
    epoch = store.claim()
    key = GroupKey("c", group)
    strange = member()
    store.commit(
        commit(
            epoch,
            0,
            10,
            generation(group=group, members=(strange,), leader=group),
            incident(group=group, message=group),
            states={key: state(1)},
            other_groups={("c", group, "share"): 1},
        )
    )
    assert store.load([key]) == {key: state(1, revision=1)}
    assert store.due("c", 1) == [key]
    assert len(rows(store, "select 1 from rebalance_monitor.generations")) == 1


@pytest.mark.parametrize("job", ["a\x00b", "\ud800", "x" * 30_000, "ü" * 5_000])
def test_no_job_or_worker_name_stops_the_job(store: PostgresStore, job: str) -> None:
    told = JobState(
        cluster="c" * 800, group="y" * 999, job=Subject("connector", job), incarnation=0, generation=1,
        assigned=(job,), expected=job, judged=True, state="RUNNING", running=job, running_generation=1,
        running_at_ms=5, since_ms=5, agreement="ok",
    )  # fmt: skip
    store.commit(commit(store.claim(), 0, 10, told, undecodable(3, reason=job)))
    assert rows(store, "select count(*) from rebalance_monitor.connectors_and_tasks") == [(1,)]
    assert rows(store, "select count(*) from rebalance_monitor.undecodable") == [(1,)]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_a_number_that_no_column_holds_is_stored_as_the_nearest(store: PostgresStore, number: int) -> None:
    """A time-out behind a time-stamp at the end of 64 bits; the document has the number itself."""
    nearest = 2**63 - 1 if number > 0 else -(2**63)
    made = generation(at_ms=number, generation=number)
    given = commit(store.claim(), 0, 10, made, incident(opened_at_ms=number), states={GROUP: state(number)})
    store.commit(given)
    assert rows(store, "select at_ms, (document ->> 'at_ms')::numeric from rebalance_monitor.generations") == [
        (nearest, number)
    ]
    assert store.load([GROUP])[GROUP].due_ms == nearest


def refused_by_its_index() -> Incident:
    return apart(token_hex(20_000))


def test_a_row_that_is_refused_stops_no_other(store: PostgresStore) -> None:
    """Whatever PostgreSQL has against it: positions, states and all other rows are committed, the row is named."""
    nobody = replace(apart("i9"), historic=cast(bool, None))
    results = (*(generation(n) for n in range(5)), incident(), nobody, undecodable(7), refused_by_its_index())
    refused = store.commit(commit(store.claim(), 0, 10, *results, states={GROUP: state(5)}))
    assert store.positions() == {PARTITION: 10}
    assert store.load([GROUP]) == {GROUP: state(5, revision=1)}
    assert rows(store, "select incident_id from rebalance_monitor.incidents") == [("i1",)]
    assert rows(store, "select count(*) from rebalance_monitor.generations") == [(5,)]
    assert rows(store, "select records from rebalance_monitor.undecodable_counts") == [(1,)]
    assert sorted(row.table for row in refused) == ["incidents", "incidents", "outbox"]
    assert {(row.table, row.key[0][:2]) for row in refused} >= {("incidents", "i9")}
    store.commit(commit(store.claim(), 10, 20, generation(15)))
    assert store.positions() == {PARTITION: 20}


def test_a_group_whose_state_is_refused_begins_anew(store: PostgresStore) -> None:
    store.commit(commit(store.claim(), 0, 10, states={GROUP: state(5)}))
    broken = replace(state(6, revision=1), version=cast(int, None))
    store.commit(commit(store.claim(), 10, 20, generation(15), states={GROUP: broken}))
    assert store.positions() == {PARTITION: 20}
    assert store.load([GROUP]) == {}


def test_states_put_aside_are_bounded(store: PostgresStore) -> None:
    epoch = store.claim()
    for number in range(6):
        kept = [
            KeptState(
                cluster="c", group=group, fingerprint=f"KeyError-{number}", record="t-0 offset 1", version=3,
                state=b"\x00state", rows=b"rows\n",
            )
            for group in ("g\x00", "h")
        ]  # fmt: skip
        store.commit(commit(epoch, number, number + 1, kept=kept))
    found = rows(store, 'select "group", fingerprint, state from rebalance_monitor.kept_states order by 1, 2')
    assert len(found) == 6
    assert {one for _, one, _ in found} == {"KeyError-3", "KeyError-4", "KeyError-5"}
    assert {bytes(one) for *_, one in found} == {b"\x00state"}


def test_many_rows_in_one_batch(store: PostgresStore) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 3_000, *(generation(n) for n in range(3_000))))
    assert rows(store, "select count(*) from rebalance_monitor.members") == [(6_000,)]


def test_a_lost_connection_is_opened_again(store: PostgresStore, server: str) -> None:
    store.claim()
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'rebalance-monitor'"
        )
    with pytest.raises(DatabaseUnreachable):
        store.positions()
    assert store.positions() == {}


def test_a_user_without_rights_is_one_sentence(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("create role visitor login")
    try:
        with pytest.raises(DatabaseUnreachable, match=r"permission denied.*the user may create a schema"):
            PostgresStore(dsn.replace("postgres:@", "visitor:@")).migrate()
    finally:
        with psycopg.connect(dsn, autocommit=True) as admin:
            admin.execute("drop role visitor")


def test_an_unreachable_database_is_one_sentence_without_the_password() -> None:
    with pytest.raises(DatabaseUnreachable) as caught:
        PostgresStore("postgresql://u:hush@127.0.0.1:1/d").claim()
    said = str(caught.value)
    assert said.startswith("PostgreSQL at 127.0.0.1:1/d can't be used (")
    assert "refused" in said
    assert "hush" not in said
    assert "\n" not in said
    with pytest.raises(DatabaseUnreachable, match=r"database\.dsn is not a PostgreSQL connection text"):
        PostgresStore("postgres//hush")


def test_every_verdict_and_incident_says_which_version_judged_it(dsn: str) -> None:
    judging = PostgresStore(dsn, "c", version="1.2.3")
    judging.migrate()
    judging.commit(commit(judging.claim(), 0, 10, generation(), incident()))
    with judging.database.session() as connection:
        for table in ("generations", "incidents"):
            rows = connection.execute(f"select judged_by from rebalance_monitor.{table}".encode()).fetchall()
            assert rows == [("1.2.3",)]
    judging.close()
