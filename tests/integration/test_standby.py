"""Two jobs of one configuration: one judges, the other stands by and takes over when the first ends or stands still;
each notification is sent once, and a job that lost its lease takes nothing back."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import psycopg
import pytest

from lab.asking import local
from lab.ports import HOST, free_ports
from lab.process import Child
from lab.receivers.hook_receiver import HookReceiver
from lab.sessions import signal_session
from tests.integration.told import heal, sections, simulated, spoil, wait_told
from tests.integration.watched import Watched
from tests.streaming.notify.receiver import receiving
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP = "standby"


class Pair:
    """Jobs of one configuration, each with a port and a heartbeat of its own."""

    def __init__(self, watched: Watched, alerting: dict[str, Any]) -> None:
        self._watched, self._alerting, self._started = watched, alerting, 0

    @contextmanager
    def job(self) -> Iterator["Job"]:
        self._started += 1
        (port,) = free_ports(1)
        with receiving("/beat") as beats:
            alerting = {**self._alerting, "heartbeat_url": f"{beats.url}/beat"}
            given = {**sections(self._watched, GROUP, alerting), "http": {"host": HOST, "port": port}}
            with self._watched.job(f"job-{self._started}", **given) as child:
                yield Job(self._watched, child, port, beats.requests)


class Job:
    def __init__(self, watched: Watched, child: Child, port: int, beats: list[Any]) -> None:
        self._watched, self.child, self._url, self.beats = watched, child, f"http://{HOST}:{port}", beats

    def ready(self, **asked: str) -> tuple[int, str]:
        """Status and text of /readyz; 0 while nothing listens."""
        try:
            answer = local().get(f"{self._url}/readyz", params=asked, timeout=PATIENCE_S)
        except httpx.TransportError:
            return 0, ""
        return answer.status_code, answer.text

    def metrics(self) -> str:
        return local().get(f"{self._url}/metrics", timeout=PATIENCE_S).text

    def wait(self, what: str, status: int, saying: str = "") -> None:
        def said() -> bool:
            found, text = self.ready()
            return found == status and saying in text

        self._watched.lab.wait_for(what, said, self.child, PATIENCE_S)

    def stands_by(self, holder: "Job") -> None:
        self.wait("a standby", 503, f"stands by: process {holder.child.pid} on ")
        assert self.ready(standby="ok")[0] == 200
        metrics = self.metrics()
        assert 'rebalance_monitor_standby{cluster="own"} 1.0' in metrics
        assert "rebalance_monitor_incident{" not in metrics, "its holder's business"
        assert self.beats == []

    def takes_over(self, what: str, began_s: float) -> None:
        self.wait(f"ready after {what}", 200)
        print(f"\n{what}: the other job is ready after {time.monotonic() - began_s:.1f} s")


def written(watched: Watched) -> set[str]:
    """Keys of all notifications."""
    with psycopg.connect(watched.postgres.dsn) as database:
        return {row[0] for row in database.execute("select key from rebalance_monitor.outbox").fetchall()}


def ended(watched: Watched, job: Job) -> int:
    watched.lab.wait_for("the job's end", lambda: not job.child.running(), timeout_s=PATIENCE_S)
    return int(job.child.process.returncode)


def test_a_standby_takes_over_and_nothing_is_lost_or_sent_twice(watched: Watched) -> None:
    with ExitStack() as stack:
        receiver = stack.enter_context(HookReceiver())
        inbox = receiver.inbox
        alerting = {"webhooks": [{"name": "hook", "url": f"{receiver.url}/hook"}], "heartbeat_every_ms": 1_000}
        members = stack.enter_context(simulated(watched, GROUP))
        pair = Pair(watched, alerting)

        def fault(what: str, holder: Job, after: Callable[[], None]) -> Job:
            """A standby comes, something opens, `after` happens to the holder, something ends; the new holder."""
            standby = stack.enter_context(pair.job())
            standby.stands_by(holder)
            spoil(watched, members)
            wait_told(watched, f"notified before {what}", lambda: written(watched) <= set(inbox.raw()), holder.child)
            began_s = time.monotonic()
            after()
            standby.takes_over(what, began_s)
            heal(watched, members)
            wait_told(watched, "all notified", lambda: written(watched) <= set(inbox.raw()), standby.child)
            wait_told(watched, "the heartbeat of the new one", lambda: bool(standby.beats), standby.child)
            return standby

        first = stack.enter_context(pair.job())
        first.wait("ready", 200)
        second = fault("SIGTERM", first, first.child.terminate)
        assert ended(watched, first) == 0

        third = fault("SIGSTOP", second, lambda: signal_session(second.child.pid, signal.SIGSTOP))
        beats = len(second.beats)
        signal_session(second.child.pid, signal.SIGCONT)
        assert ended(watched, second) == 2
        assert "another job has taken over cluster own" in second.child.log.read_text()
        assert "lease_lost" not in third.child.log.read_text(), "who comes back takes nothing from it"
        third.wait("the holder goes on", 200)
        assert len(second.beats) == beats

        assert set(inbox.raw()) == written(watched)
        repeated = {key: times for key, times in inbox.raw().items() if times > 1}
        print(f"{len(inbox.raw())} keys, repeated: {repeated or 'none'}")
        assert all(times == 2 for times in repeated.values()), "a job stood still between sending and marking"
        assert len(inbox.raw()) >= 4
