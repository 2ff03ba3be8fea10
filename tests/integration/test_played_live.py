"""Captures played to a live job, at once and at three times their speed, and the job killed in the middle: incidents
are what `replay` says, and each that fired is received, or its row says whose notification names it. Drills played as
they happen: the command and the page answer with their golden texts."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lab.asking import local
from lab.errors import LabError
from lab.ports import HOST, free_ports
from lab.receivers.hook_receiver import HookReceiver, Inbox
from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.moments import clock_ms
from tests.integration import playing
from tests.integration.drilled import Drill
from tests.integration.drills_played import DrillsPlayed, on_page, on_terminal
from tests.integration.playing import Copy, Player
from tests.integration.told import kill
from tests.integration.watched import Watched, own_lab
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
AT_ONCE = (Copy("zombie", "zombies-at-once", 0), Copy("sessioned-4.3.1", "sessioned-at-once", 1))
FASTER = (Copy("zombie", "zombies-faster", 2), Copy("compatible-2.8.2", "compatible-faster", 3))
SPEED = 3.0
SETTLED_S = 60.0
BROKER = {"offsets.topic.num.partitions": 9}
LAST_PART_MS = 40_000
"""So much of each drill happens while the job reads it: nobody is notified of what opened in records from before."""
STARTS = 4
"""A job takes no more than so many times as long to start as broker and PostgreSQL."""


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    with own_lab("played-live") as lab:
        yield Watched(lab, broker_properties=BROKER)


def test_incidents_are_those_of_replay_and_each_that_fired_is_received(watched: Watched) -> None:
    lab = watched.lab
    copies = (*AT_ONCE, *FASTER)
    playing.prepare(watched.broker.address, copies)
    playing.save(lab.folder / "played.jsonl.gz", copies)
    with ExitStack() as stack:
        receiver = stack.enter_context(HookReceiver())
        cluster = {
            "name": "own",
            "bootstrap_servers": watched.broker.address,
            "connect": {copy.group: copy.section() for copy in copies},
        }
        told = {
            "clusters": [cluster],
            "alerting": {"webhooks": [{"name": "hook", "url": f"{receiver.url}/hook"}]},
        }
        with watched.job("first", **told) as job:
            watched.wait_ready(job)
            faster = Player(watched.broker.address, FASTER, SPEED)
            half = faster.left / 2
            lab.wait_for("a third of the faster ones", lambda: faster.play() or faster.left < 1.5 * half, job)
            at_once = Player(watched.broker.address, AT_ONCE, None)
            assert at_once.play()
            lab.wait_for("half of them", lambda: faster.play() or faster.left < half, job)
            kill(job)
        with watched.job("second", **told) as job:
            lab.wait_for("all of them", faster.play, job)
            watched.wait_ready(job)
            ends = {copy.group: max(one.timestamp_ms for one in copy.records()) for copy in copies}
            wanted = until_the_end(replayed(lab.folder / "played.jsonl.gz", lab.folder / "monitor.yaml"), ends)
            with suppress(LabError):  # what differs is told below
                lab.wait_for("the same incidents", lambda: until_the_end(rows(watched), ends) == wanted, job, SETTLED_S)
            assert until_the_end(rows(watched), ends) == wanted
            lab.wait_for("nothing waits", lambda: nothing_waits(watched), job)
            assert_received(watched, receiver.inbox)


def test_the_drills_are_answered_by_the_command_and_the_page(
    watched: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    (port,) = free_ports(1)
    url = f"http://{HOST}:{port}"
    played = DrillsPlayed(watched.broker.address, in_ms=LAST_PART_MS + round(STARTS * 1000 * watched.started_s))
    told = {
        "clusters": [{"name": "own", "bootstrap_servers": watched.broker.address, **played.sections()}],
        "database": {"dsn": empty_database(watched)},
        "page": {"port": port},
        "polling": {"topics_every_ms": 2_000, "progress_every_ms": 2_000},
    }
    seconds: dict[str, float] = {}

    def page_of(drill: Drill) -> dict[str, str]:
        asked = {"cluster": "own", "group": drill.group}
        return on_page(local().get(f"{url}/group", params=asked, timeout=PATIENCE_S).text)

    def command_of(drill: Drill) -> dict[str, str]:
        capsys.readouterr()
        main(["status", "--group", drill.group, "--url", url])
        return on_terminal(capsys.readouterr().out)

    def ready() -> bool:
        played.play()
        return watched.readiness()[0] == 200

    def answered() -> bool:
        """The command is asked as soon as the page says it."""
        whole = played.play()
        for drill in played.drills:
            now_ms = clock_ms()
            if drill.answer not in seconds and page_of(drill) == drill.six_lines(now_ms):
                assert command_of(drill) == drill.six_lines(now_ms)
                seconds[drill.answer] = (clock_ms() - drill.due_ms) / 1000
        return whole and len(seconds) == len(played.drills)

    played.play()
    with watched.job("drills", **told) as job:
        watched.lab.wait_for("ready", ready, job, PATIENCE_S)
        played.probe()
        with suppress(LabError):  # what differs is told below
            watched.lab.wait_for("all answers", answered, job, PATIENCE_S)
        for drill in played.drills:
            if drill.answer not in seconds:
                assert page_of(drill) == drill.six_lines(clock_ms())
    print(f"answered so many seconds after the last record, or after what followed from it: {seconds}")


def empty_database(watched: Watched) -> str:
    """To a monitor that was there before, the first part is no history but comes late, and its timers wait as long."""
    with psycopg.connect(watched.postgres.dsn, autocommit=True) as server:
        server.execute("create database drills")
    return watched.postgres.dsn.replace("/postgres?", "/drills?")


def replayed(capture: Path, configuration: Path) -> dict[str, Any]:
    """Incidents by id, as `_said`, and their parts."""
    command = [str(Path(sys.executable).parent / "rebalance-monitor"), "replay", str(capture)]
    done = subprocess.run(
        [*command, "--config", str(configuration), "-o", "json"], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    found = [one for one in map(json.loads, done.stdout.splitlines()) if one["kind"] == "violation"]
    return {one["incident_id"]: (_said(one), sorted(map(_part, one.get("parts", [one])))) for one in found}


def rows(watched: Watched) -> dict[str, Any]:
    """The same by the database."""
    with psycopg.connect(watched.postgres.dsn) as database:
        parts: dict[str, list[Any]] = {}
        for name, part in database.execute("select incident_id, document from rebalance_monitor.incident_parts"):
            parts.setdefault(name, []).append(_part(part))
        found = database.execute("select incident_id, document from rebalance_monitor.incidents").fetchall()
    return {name: (_said(document), sorted(parts[name])) for name, document in found}


def until_the_end(incidents: Mapping[str, Any], ends_ms: Mapping[str, int]) -> dict[str, Any]:
    """Those that fired, if they did, before the last record of their group's capture. For the job time goes on: a group
    that was left without a worker is an incident some time later."""
    return {
        name: one
        for name, one in incidents.items()
        if one[0]["fired_at_ms"] is None or one[0]["fired_at_ms"] <= ends_ms[one[0]["group"]]
    }


def _said(document: Mapping[str, Any]) -> dict[str, Any]:
    """`replay` notifies nobody, so its incidents are no part of another's notification."""
    return {key: one for key, one in document.items() if key not in ("parts", "also_broken")}


def _part(document: Mapping[str, Any]) -> tuple[Any, ...]:
    """When and how bad, and what about."""
    names = ("opened_at_ms", "resolved_at_ms", "severity", "certainty", "subjects")
    return tuple(json.dumps(document[name], sort_keys=True) for name in names)


def nothing_waits(watched: Watched) -> bool:
    """Whether every notification is delivered."""
    with psycopg.connect(watched.postgres.dsn) as database:
        return not database.execute("select from rebalance_monitor.outbox where not done").fetchall()


def assert_received(watched: Watched, inbox: Inbox) -> None:
    """Each incident that fired, and its end, in this order; or its row says who leads it."""
    course: dict[str, list[str]] = {}
    for message in inbox.honoured().values():
        course.setdefault(message["incident"]["incident_id"], []).append(message["transition"])
    with psycopg.connect(watched.postgres.dsn) as database:
        fired = database.execute(
            "select incident_id, led_by, firing from rebalance_monitor.incidents"
            " where fired_at_ms is not null and alert <> 'info' and not historic"
        ).fetchall()
    assert len(fired) >= 12, "the captures hold several"
    assert set(course) <= {name for name, *_ in fired}
    for name, led_by, firing in fired:
        steps = course.get(name, [])
        if not steps:
            assert led_by in course
            continue
        assert (steps[0], steps.count("fired")) == ("fired", 1)
        assert firing or steps[-1] in ("resolved", "ended")
