"""What rebalances cost, as the database has it: the same figures as of the objects, before and after days are cut."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.columns import DAY_MS, date_of
from rebalance_monitor.streaming.core.costs import DOUBLED, FIGURES, CostEntry, by_of, cost_of, entry_of, split, sums_of
from rebalance_monitor.streaming.core.model.details import ConnectorCost
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Aftermath, Cause, Certainty, RebalanceCost, Source, Subject
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.store import retention
from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.retention import Retention
from rebalance_monitor.streaming.web.api import PageSource, costs
from rebalance_monitor.streaming.web.parameters import BadRequest
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.scope import EVERYTHING, Scope
from tests.streaming.builders import TOPIC, generation, incident, part
from tests.streaming.core.test_costs import GAINED, GENERATIONS, HELD_UP, SHARE, TOO_MUCH, lasted, team_of
from tests.streaming.store.test_retention import KEPT, NOW_MS, TODAY, World
from tests.web.filled import put

pytestmark = pytest.mark.postgres
CAPTURES = Path(__file__).parents[2] / "vectors"
BY = ("", "cause", "team,month", "day", "group,day,cause", "connector,day,cause", "team,connector")


@pytest.fixture
def world(dsn: str) -> Iterator[World]:
    made = World(dsn)
    with closing(made.store):
        yield made


def asked(dsn: str, by: str = "", scope: Scope = EVERYTHING, **more: Any) -> dict[str, Any]:
    """The API's answer."""
    with closing(Reader([Database(dsn)], DatabaseUnreachable)) as reader:
        source = PageSource(reader, job=None, team_of=team_of)  # type: ignore[arg-type]  # it is not asked
        return costs(source, scope, {"by": by, **more})


def all_of(dsn: str) -> list[dict[str, Any]]:
    return [asked(dsn, by) for by in BY]


def in_database(store: PostgresStore, documents: list[Any]) -> list[Any]:
    statement = (
        "select (told.cost).* from unnest(%s::text[]) with ordinality as given (text, number)"
        " cross join lateral (select rebalance_monitor.cost_of(text::jsonb) as cost) as told order by number"
    )
    with store.database.session() as connection:
        rows = connection.execute(statement.encode(), ([json.dumps(one) for one in documents],)).fetchall()
    return [(cause, sums_of(sums)) for cause, *sums in rows]


def split_in_database(store: PostgresStore, documents: list[Any]) -> list[dict[str, Any]]:
    statement = (
        "select number, coalesce(one.connector, ''), (one.cost).* from unnest(%s::text[]) with ordinality as given"
        " (text, number) cross join lateral (select rebalance_monitor.cost_of(text::jsonb) as cost) as told"
        " cross join lateral rebalance_monitor.split(cost, rebalance_monitor.connectors_of(text::jsonb, cost)) as one"
    )
    found: list[dict[str, Any]] = [{} for _ in documents]
    with store.database.session() as connection:
        for number, connector, _, *sums in connection.execute(
            statement.encode(), ([json.dumps(one) for one in documents],)
        ).fetchall():
            found[number - 1][connector] = sums_of(sums)
    return found


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(GENERATIONS, min_size=20, max_size=20))
def test_the_database_computes_of_a_document_what_the_core_does(store: PostgresStore, some: list[Any]) -> None:
    documents = [as_object(one) for one in some]
    assert in_database(store, documents) == [
        (entry_of(one, "c", "g").words["cause"], cost_of(one)) for one in documents
    ]
    assert split_in_database(store, documents) == [
        {part.words["connector"]: part.sums for part in split(entry_of(one, "c", "g"), one)} for one in documents
    ]


@pytest.mark.parametrize("name", ["captures/zombie", "captures/eager-2.8.2"])
def test_the_command_of_a_capture_says_what_the_api_says_of_the_same_records(
    dsn: str, store: PostgresStore, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = CAPTURES / name
    put(store, *replay(records_of(folder), settings_of(folder)).results)
    for by in ("", "cause", "group,month", "day,rebalance", "connector", "cause,connector,rebalance"):
        assert main(["cost", "--capture", str(folder), "--by", by, "-o", "json"]) == 0
        told = json.loads(capsys.readouterr().out)
        del told["kind"]
        assert {**told, "since": None} == asked(dsn, by)
        assert told["total"]["rebalances"] > 10


def test_what_becomes_known_later_is_in_it(dsn: str, world: World) -> None:
    world.write(TODAY, diff=GAINED)
    assert asked(dsn)["total"] == {
        "rebalances": 1, "moved": 3, "moved_of": 1, "unassigned_ms": 0, "unassigned_ms_of": 1, "stopped_ms": None,
        "stopped_ms_of": 0, "doubled_ms": None, "doubled_ms_of": 0, "held_up": None, "held_up_of": 0,
    }  # fmt: skip
    of = {"cluster": "c", "group": "g", "source": Source(TOPIC, 3, 0)}
    cause = (Cause(kind="worker_lost"),)
    world.write(
        TODAY,
        Aftermath(generation=0, cause=cause, downtime=(lasted("clean", 7_000),), **of),  # type: ignore[arg-type]
        RebalanceCost(held_up=HELD_UP, **of),  # type: ignore[arg-type]
    )
    (none, lost) = asked(dsn, "cause")["lines"]
    assert (none["cause"], none["rebalances"], lost["cause"]) == ("none", 1, "worker_lost")
    assert (lost["moved"], lost["stopped_ms"], lost["stopped_ms_of"], lost["held_up"]) == (3, 7_000, 1, 4_000)


WRITTEN = st.fixed_dictionaries(
    {
        "group": st.sampled_from(["g", "h"]),
        "cause": st.sampled_from([(), (Cause(kind="worker_lost"),), (Cause(kind="worker_joined"),)]),
        "diff": st.sampled_from([{}, GAINED]),
        "idle_ms": st.sampled_from([{}, {"scheduled_delay": 9}]),
        "by_connector": st.sampled_from([None, {"a": SHARE, "b-0": ConnectorCost(moved=1)}, {"c": TOO_MUCH}]),
        "protocol_type": st.sampled_from(["connect", "consumer"]),
        "downtime": st.sampled_from(
            [(), (lasted("clean", 1_999),), (lasted("no_stop", 0, a=0), lasted("crash", 3, a=1, b=2))]
        ),
        "settled": st.booleans(),
        "held_up": st.sampled_from([None, HELD_UP, replace(HELD_UP, followed=8)]),
        "repeats": st.booleans(),
    }
)
TWICE = (
    (Subject("task", "b-0-7"), Subject("worker", "w-1")),
    (Subject("connector", "b-0"), Subject("worker", "w-1")),
    (Subject("task", "a-0"), Subject("task", "b-0")),
)
LOG = st.lists(
    st.tuples(st.integers(TODAY - 36, TODAY), WRITTEN, st.sampled_from([None, *Certainty])), min_size=1, max_size=10
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(log=LOG, days=st.lists(st.integers(-4, 34), min_size=1, max_size=3))
def test_a_cut_changes_no_sum(world: World, log: list[Any], days: list[int]) -> None:
    for table in ("stored_generations", "daily_summaries", "cuts", "incidents", "incident_parts", "outbox"):
        world.change(f"delete from rebalance_monitor.{table}")
    for number, (day, more, certainty) in enumerate(log):
        found: list[Any] = []
        if certainty is not None:
            at_ms = day * DAY_MS + number
            ended = incident(
                "resolved", f"i{number}-{world.next}", group=more["group"], code=DOUBLED, certainty=certainty,
                subjects=TWICE[number % len(TWICE)],
                opened_at_ms=at_ms, resolved_at_ms=at_ms + 1_000 + number,
            )  # fmt: skip
            found = [ended, part(ended)]
        world.write(day, *found, **more)
    world.change("update rebalance_monitor.outbox set done = true")
    before = all_of(world.dsn)
    assert before[0]["total"]["rebalances"] == sum(not more["repeats"] for _, more, _ in log)
    for told in before:
        assert told["total"] == before[0]["total"], told["by"]
        for one in FIGURES:
            assert sum(line[one.name] or 0 for line in told["lines"]) == (told["total"][one.name] or 0), told["by"]
    for later in sorted(days):
        Retention(world.store.database, KEPT).cut(NOW_MS + later * DAY_MS)
        assert all_of(world.dsn) == before


def by_connector(dsn: str) -> dict[str, tuple[Any, ...]]:
    """Of each line of one group: rebalances, moved, unassigned, stopped, doubled."""
    lines = asked(dsn, "connector")["lines"]
    names = ("rebalances", "moved", "unassigned_ms", "stopped_ms", "doubled_ms")
    return {line["connector"]: tuple(line[name] for name in names) for line in lines}


def test_costs_of_connectors_stay_when_their_day_is_cut_and_come_together(world: World) -> None:
    old = TODAY - 31
    split_up: dict[str, Any] = {
        "diff": GAINED, "idle_ms": {"scheduled_delay": 9}, "settled": True,
        "by_connector": {"a": ConnectorCost(moved=2), "a-0": ConnectorCost(moved=1, idle_ms=9)},
        "downtime": (lasted("clean", 7, **{"a-0": 7}),),
    }  # fmt: skip
    at_ms = old * DAY_MS
    twice = [
        incident(
            "resolved", f"of {subject.id}", group="g", code=DOUBLED, certainty=Certainty.LIKELY, opened_at_ms=at_ms,
            resolved_at_ms=at_ms + 100, subjects=(subject, Subject("worker", "w1"), Subject("worker", "w2")),
        )
        for subject in (Subject("connector", "a-0"), Subject("task", "a-0"))
    ]  # fmt: skip
    world.write(old, *(one for found in twice for one in (found, part(found))), **split_up)
    world.write(old, **split_up)
    world.write(old, diff=GAINED, settled=True)
    world.change("update rebalance_monitor.outbox set done = true")
    told = {"": (1, 3, 0, 0, 0), "a": (2, 4, 0, 0, 100), "a-0": (2, 2, 18, 14, 100)}
    assert by_connector(world.dsn) == told
    world.cut()
    assert by_connector(world.dsn) == told
    assert asked(world.dsn, "connector")["total"]["rebalances"] == 3


def test_findings_of_a_day_that_go_one_after_the_other_come_together(world: World) -> None:
    """Their figures but one are not known: they do not become the largest that fits."""
    at_ms = (TODAY - 31) * DAY_MS
    connector = Subject("connector", "a")
    for number in range(2):
        found = incident(
            "resolved", f"number {number}", group="g", code=DOUBLED, certainty=Certainty.LIKELY, opened_at_ms=at_ms,
            resolved_at_ms=at_ms + 100, subjects=(connector,),
        )  # fmt: skip
        world.write(TODAY - 31, found, part(found))
        world.change("update rebalance_monitor.outbox set done = true")
        world.cut()
    told = [line for line in asked(world.dsn, "connector")["lines"] if line["connector"] == "a"]
    assert [(line["moved"], line["held_up"], line["doubled_ms"]) for line in told] == [(None, None, 200)]


def test_what_an_older_release_wrote_or_cut_is_not_split(world: World) -> None:
    old = TODAY - 31
    split_up: dict[str, Any] = {
        "diff": GAINED,
        "by_connector": {"a": ConnectorCost(moved=2), "b": ConnectorCost(moved=1)},
    }
    world.write(old, **split_up)
    world.write(old, diff=GAINED)
    assert by_connector(world.dsn) == {
        "": (1, 3, 0, None, None),
        "a": (1, 2, 0, None, None),
        "b": (1, 1, 0, None, None),
    }
    world.cut()
    # What it adds to a day, it adds to the sums of causes alone.
    world.change("update rebalance_monitor.daily_summaries set rebalances = 3, moved = 9 where kind = 'cause'")
    told = by_connector(world.dsn)
    assert (told[""][1], told["a"][1], told["b"][1]) == (6, 2, 1)
    world.change("update rebalance_monitor.daily_summaries set connectors = null")
    assert by_connector(world.dsn) == {"": (3, 9, 0, None, None)}


def test_a_scope_sees_the_costs_of_its_own_groups_alone(world: World) -> None:
    for group in "ghh":
        world.write(TODAY, group=group)
    assert [(line["team"], line["rebalances"]) for line in asked(world.dsn, "team")["lines"]] == [("", 2), ("us", 1)]
    told = asked(world.dsn, "team,group", Scope("us", teams=("us",)))
    assert [(line["team"], line["group"]) for line in told["lines"]] == [("us", "g")]
    assert told["total"]["rebalances"] == 1


def test_single_rebalances_of_a_day_that_is_cut_become_one_sum(world: World) -> None:
    old = TODAY - 31
    for _ in range(2):
        world.write(old, diff=GAINED, settled=True)
    world.write(TODAY, diff=GAINED)
    assert len(asked(world.dsn, "rebalance")["lines"]) == 3
    world.cut()
    first, last = asked(world.dsn, "rebalance")["lines"]
    assert (first["rebalance"], first["rebalances"], first["moved"], first["stopped_ms_of"]) == ("", 2, 6, 2)
    assert last["rebalance"] == f"{date_of(TODAY)} 00:00:00 UTC generation 20"
    assert [asked(world.dsn, since_ms=day * DAY_MS)["total"]["rebalances"] for day in (old, old + 1)] == [3, 1]
    assert asked(world.dsn, until_ms=old * DAY_MS)["total"]["rebalances"] == 2


def test_a_day_that_is_being_cut_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    old = TODAY - 31
    world.write(old)
    world.write(TODAY)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(retention, "_finish", killed)
        with pytest.raises(KeyboardInterrupt):
            world.cut()
    told = asked(world.dsn)
    assert (told["total"]["rebalances"], told["being_cut"]) == (1, [date_of(old)])
    world.cut()
    told = asked(world.dsn)
    assert (told["total"]["rebalances"], told["being_cut"]) == (2, [])


def test_what_an_older_release_wrote_is_computed_and_what_it_cut_is_not_known(world: World) -> None:
    world.write(TODAY, diff=GAINED, settled=True)
    before = all_of(world.dsn)
    world.change("update rebalance_monitor.stored_generations set cost = null")
    assert all_of(world.dsn) == before
    world.change("insert into rebalance_monitor.daily_summaries values ('c', 'g', 19000, 'cause', 'worker_lost', 4)")
    (lost,) = [line for line in asked(world.dsn, "cause")["lines"] if line["cause"] == "worker_lost"]
    assert (lost["rebalances"], lost["moved"], lost["moved_of"]) == (4, None, 0)
    total = asked(world.dsn)["total"]
    assert (total["rebalances"], total["moved"], total["moved_of"]) == (5, 3, 1)


def test_moments_in_no_calendar_and_too_many_lines(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for at_ms in (-1, 10**15):
        put(world.store, generation(world.next, group="g", at_ms=at_ms), batch_id=world.next + 1_000)
        world.next += 1
    told = asked(world.dsn, "day,rebalance")["lines"]
    own = [entry_of(as_object(generation(0, group="g", at_ms=at_ms)), "c", "g").words for at_ms in (-1, 10**15)]
    assert sorted(line["rebalance"] for line in told) == sorted(one["rebalance"] for one in own)
    assert sorted(line["day"] for line in told) == sorted(one["day"] for one in own)
    monkeypatch.setattr("rebalance_monitor.streaming.web.api.MOST_LINES", 1)
    with pytest.raises(BadRequest, match="ask for fewer days"):
        asked(world.dsn, "rebalance")
    with pytest.raises(BadRequest, match="nothing to split costs by"):
        asked(world.dsn, "topic")
    assert by_of("rebalance") == ("cluster", "group", "rebalance")


def test_a_sum_that_does_not_fit_is_the_largest_that_does(dsn: str, world: World) -> None:
    """A number of a record may be anything: no record may stop the job, or the answer for all others."""
    most = 2**63 - 1
    with psycopg.connect(dsn) as database:
        (found,) = database.execute(
            "select (rebalance_monitor.cost_of(%s)).unassigned_ms",
            (Jsonb({"protocol_type": "connect", "idle_ms": {"a": most, "b": most}}),),
        ).fetchone() or (None,)
    assert found == most


def test_what_is_too_much_is_refused_before_it_is_summed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for group in "ghi":
        world.write(TODAY, group=group)
    read = []

    class Counted(Reader):
        def costs(self, *given: Any) -> list[CostEntry]:
            found = super().costs(*given)
            read.append(len(found))
            return found

    monkeypatch.setattr("tests.streaming.store.test_costs.Reader", Counted)
    with monkeypatch.context() as patched:
        for most, right in ((3, True), (2, False)):
            patched.setattr("rebalance_monitor.streaming.web.api.MOST_LINES", most)
            world.change("update rebalance_monitor.stored_generations set cost.moved = 1")
            if right:
                assert len(asked(world.dsn, "connector")["lines"]) == 3
            else:
                with pytest.raises(BadRequest, match="by=cluster,group,connector gives more than 2 lines"):
                    asked(world.dsn, "connector")
    read.clear()
    monkeypatch.setattr("rebalance_monitor.streaming.web.api.MOST_LINES", 1)
    assert len(asked(world.dsn, "cause")["lines"]) == 1
    with monkeypatch.context() as patched:
        patched.setattr("rebalance_monitor.streaming.web.api.answer", None)
        with pytest.raises(BadRequest, match="by=cluster,group gives more than 1 lines"):
            asked(world.dsn, "group")
    with pytest.raises(BadRequest, match="by=team gives more than 1 lines"):
        asked(world.dsn, "team")
    monkeypatch.setattr("rebalance_monitor.streaming.web.api.MOST_READ", 2)
    with monkeypatch.context() as patched:
        patched.setattr("rebalance_monitor.streaming.web.api.answer", None)
        with pytest.raises(BadRequest, match="by=team takes more than 2 sums"):
            asked(world.dsn, "team")
    # Of a team each group is read; else a line is one sum, and one more than may be is enough to know.
    assert read == [1, 2, 3, 3]
