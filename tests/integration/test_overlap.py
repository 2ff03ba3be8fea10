"""Two jobs overlap on one database, as in a rolling restart: each notification is sent once, by the one writer."""

from contextlib import ExitStack

import psycopg
import pytest

from lab.ports import HOST, free_ports
from lab.receivers.alerting import start_alertmanager
from lab.receivers.hook_receiver import HookReceiver
from tests.integration.told import (
    ONCE,
    heal,
    incidents,
    needs_prometheus,
    rules_firing,
    sections,
    simulated,
    spoil,
    wait_told,
)
from tests.integration.watched import Watched
from tests.streaming.notify.receiver import receiving

pytestmark = [pytest.mark.integration, pytest.mark.prometheus, needs_prometheus]
BOTH = {"duplicate_active", "imbalance"}


def epoch(watched: Watched) -> int:
    with psycopg.connect(watched.postgres.dsn) as database:
        row = database.execute("select epoch from rebalance_monitor.writer").fetchone()
    assert row is not None
    return int(row[0])


def written(watched: Watched) -> set[str]:
    """Keys of all notifications."""
    with psycopg.connect(watched.postgres.dsn) as database:
        return {row[0] for row in database.execute("select key from rebalance_monitor.outbox").fetchall()}


def test_in_an_overlap_each_key_is_sent_once_and_only_the_writer_beats(watched: Watched) -> None:
    group = "overlap"
    with ExitStack() as stack:
        receiver = stack.enter_context(HookReceiver())
        first_beats, second_beats = stack.enter_context(receiving("/beat")), stack.enter_context(receiving("/beat"))
        inbox = receiver.inbox
        alertmanager = start_alertmanager(watched.lab, "alertmanager", f"{receiver.url}/alertmanager")
        alerting = {
            "path": "push",
            "alertmanagers": [f"http://{alertmanager.address}"],
            "webhooks": [{"name": "hook", "url": f"{receiver.url}/hook"}],
            "heartbeat_every_ms": 1_000,
        }
        first = sections(watched, group, {**alerting, "heartbeat_url": f"{first_beats.url}/beat"})
        second = sections(watched, group, {**alerting, "heartbeat_url": f"{second_beats.url}/beat"})
        members = stack.enter_context(simulated(watched, group))
        old = stack.enter_context(watched.job("overlap-1", **first))
        watched.wait_ready(old)
        before = epoch(watched)
        spoil(watched, members)
        wait_told(watched, "both told", lambda: rules_firing(inbox) >= BOTH, old)
        wait_told(watched, "the heartbeat", lambda: bool(first_beats.requests), old)
        # The next job starts while the old one runs, and things go on happening.
        (port,) = free_ports(1)
        new = stack.enter_context(watched.job("overlap-2", **second, http={"host": HOST, "port": port}))
        turns = 0
        while epoch(watched) == before:
            assert second_beats.requests == [], "a heartbeat of a job that is not the writer"
            heal(watched, members)
            spoil(watched, members)
            turns += 1
        heal(watched, members)
        watched.lab.wait_for("the old job's end", lambda: not old.running())
        beats = len(first_beats.requests)
        spoil(watched, members)
        wait_told(watched, "the heartbeat of the new one", lambda: len(second_beats.requests) > 2, new)
        heal(watched, members)
        wait_told(watched, "the end of the duplicates", lambda: "duplicate_active" not in rules_firing(inbox), new)
        wait_told(watched, "everything sent", lambda: set(inbox.raw()) == written(watched), new)
        assert len(first_beats.requests) == beats
        assert old.process.returncode == 2
        assert "another job has taken over cluster" in old.log.read_text()
    raw = inbox.raw()
    assert set(raw.values()) == {1}, {key: times for key, times in raw.items() if times > 1}
    assert len(raw) >= 4
    # So many rounds in a row are a storm, which may outlast the test.
    assert all(said in (ONCE, ONCE[:1]) for said in incidents(inbox).values()), incidents(inbox)
    print(f"\noverlap: {turns} turns before the claim, {len(raw)} keys, {sum(raw.values())} posts")
