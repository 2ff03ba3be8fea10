"""`make demo`: a real Kafka with real Connect workers, things that go wrong, and what the monitor says about each.

`play` is the chain itself; the integration test plays it too. Exit codes: 0 shown and all checks agreed, 1 a check
differed, 2 something outside is missing, 130 and 143 on signals.
"""

import argparse
import fcntl
import json
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lab.cluster import config_topic, postgres, workers
from lab.demo import checker, kept
from lab.demo.stage import GROUP, MAX_DELAY_MS, PORTS_NEEDED, SIMULATED, WORKERS, Ports, Stage
from lab.demo.story import Seen, Story
from lab.errors import LabError, Stopped
from lab.paths import BUILD, ROOT
from lab.ports import require_free
from lab.process import Lab, Progress, disk_errors, signals_stop
from lab.simulated_group.members import SimulatedGroup

FOLDER = ROOT / ".demo"
FIRST_PORT = 21090
CONNECTORS = {"orders": 5, "invoices": 4}
JOBS = sum(1 + tasks for tasks in CONNECTORS.values())
SIMULATED_CONNECTORS = {"payments": 4, "refunds": 2}


class Play:
    """The acts, in order; each waits for what the monitor publishes, never for time to pass."""

    def __init__(self, stage: Stage, story: Story) -> None:
        self.stage = stage
        self.story = story
        self.say = stage.lab.progress.say
        self.agreed = True

    def _until(self, what: str, condition: Callable[[], bool], timeout_s: float = 120) -> None:
        def told() -> bool:
            self.story.tell()
            return condition()

        self.stage.lab.wait_for(what, told, self.stage.job, timeout_s)

    def _latest(self, wanted: Callable[[Seen], bool], group: str = GROUP) -> bool:
        latest = self.story.latest(group)
        return latest is not None and latest.settled and wanted(latest)

    def create_connectors(self) -> None:
        """Two connectors with idle tasks, spread over the workers."""
        names = " and ".join(f"{name} ({tasks} tasks)" for name, tasks in CONNECTORS.items())
        self.say(f"creating the connectors {names}")
        for name, tasks in CONNECTORS.items():
            workers.create_sink(self.stage.workers[0], name, tasks, name)
        self._until(
            "all connectors and tasks assigned",
            lambda: self._latest(lambda one: len(one.held) == JOBS and one.members == WORKERS and not one.delay_ms),
        )

    def kill_a_worker(self) -> None:
        """SIGKILL: the group notices at the session's end, then waits for the worker to come back, then reassigns."""
        latest = self.story.latest(GROUP)
        # With the leader its memory would die, and with that the delay: the demo wants to show the delay.
        victim = next(one for one in self.stage.workers if latest is None or one.address != latest.leader)
        self.say(f"SIGKILL to the worker {victim.address}; its session ends in 6 s")
        victim.child.kill()
        self._until("the group without the worker", lambda: self._latest(lambda one: one.delay_ms > 0))
        self.say(f"waiting for the delay's end ({MAX_DELAY_MS / 1000:.0f} s)")
        self._until(
            "the re-assignment",
            lambda: self._latest(lambda one: not one.delay_ms and len(one.held) == JOBS and one.members == WORKERS - 1),
        )

    def inject_a_violation(self, group: SimulatedGroup) -> None:
        """A leader that hands out a duplicate active and an unbalanced spread; later rounds heal it."""
        self.say(f"making the leader of {SIMULATED} hand out tasks twice")
        group.spoil()
        self._until("duplicate_active", lambda: self._raised("duplicate_active"))
        self._until("imbalance", lambda: self._raised("imbalance"))
        self._until("the alert at the receiver", lambda: self._at_receiver("firing"))
        self.say(f"alert received: {self._alerts('firing')}")
        self.say("letting the group repair itself")
        group.rejoin()
        self._until("the resolution", lambda: all(resolved for _, _, resolved in self._injected()))
        self._until("the resolution at the receiver", lambda: self._at_receiver("resolved"))
        self.say(f"resolution received: {self._alerts('resolved')}")

    def _injected(self) -> list[tuple[str, str, bool]]:
        return [one for one in self.story.incidents.values() if one[1] == SIMULATED]

    def _raised(self, rule: str) -> bool:
        return any(one[0] == rule for one in self._injected())

    def _received(self) -> list[tuple[str, str]]:
        """(rule, status), the last word on each label set of the simulated group."""
        lines: dict[str, tuple[str, str]] = {}
        for entry in checker.received(self.stage.receiver_url):
            labels = entry["alert"]["labels"]
            if labels.get("group") == SIMULATED:
                lines[json.dumps(labels, sort_keys=True)] = (labels.get("rule", ""), entry["status"])
        return list(lines.values())

    def _at_receiver(self, status: str) -> bool:
        now = self._received()
        rules = {rule for rule, _ in now}
        return {"duplicate_active", "imbalance"} <= rules and all(one == status for _, one in now)

    def _alerts(self, status: str) -> str:
        return ", ".join(sorted({rule for rule, one in self._received() if one == status}))

    def check(self) -> None:
        """Compare Kafka, PostgreSQL, /metrics and the receiver; the checker is told the addresses only."""
        self.story.tell()
        self.say("checker: comparing Kafka, PostgreSQL, /metrics and the alert receiver")
        self.agreed &= checker.show(checker.check(self.stage.addresses))
        self.story.tell()  # what came while the checker waited
        for line in batches(self.stage.job.log):
            print(f"  {line}")

    def kill_the_job(self, group: SimulatedGroup) -> None:
        """SIGKILL to the job; the group goes on meanwhile; the job comes back and misses nothing."""
        rows = len(self.story.generations)
        self.say(f"SIGKILL to the streaming job (process {self.stage.job.pid})")
        self.stage.job.kill()
        self.stage.job.stop()
        before = max(worker.completed_generation for worker in group.workers)
        group.rejoin()
        self.stage.lab.wait_for(
            "a rebalance while the job is down",
            lambda: group.calm() and min(worker.completed_generation for worker in group.workers) > before,
        )
        self.say("a rebalance happened while the job was down; starting the job again")
        self.stage.job = self.stage.start_job()
        with self.stage.lab.progress.step("streaming job"):
            self.stage.wait_for_job()
        self._until("the generation it missed", lambda: len(self.story.generations) > rows)

    def act(self) -> bool:
        """All of it; True when every check agreed."""
        self.create_connectors()
        self.kill_a_worker()
        with simulated_group(self.stage) as group:
            self.stage.lab.wait_for("the simulated group", group.calm)
            self._until("the simulated group", lambda: self._latest(lambda one: True, SIMULATED))
            self.inject_a_violation(group)
            self.check()
            self.kill_the_job(group)
            self.check()
        return self.agreed


def prepare_simulated(stage: Stage) -> int:
    """Topics and configuration of the simulated group, like a real one's; returns its config offset."""
    config = workers.config_topic(SIMULATED)
    config_topic.create(stage.broker.address, {config: 1, workers.status_topic(SIMULATED): 1})
    return config_topic.write(stage.broker.address, config, SIMULATED_CONNECTORS)


def simulated_group(stage: Stage) -> SimulatedGroup:
    """Three members that speak the group protocol of Connect."""
    offset = prepare_simulated(stage)
    return SimulatedGroup(
        stage.broker.address, SIMULATED, workers=3, connectors=SIMULATED_CONNECTORS, config_offset=offset
    )


def batches(log: Path) -> list[str]:
    """The query's batch ids with their input rows, as the job logged them."""
    found = []
    for line in log.read_text(errors="replace").splitlines():
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict) and event.get("event") == "batch" and event.get("rows"):
                found.append(f"{event['batch']}: {event['rows']}")
    shown = ", ".join(found[-12:])
    return [f"the query's batch ids with input rows (last {min(len(found), 12)} of {len(found)}): {shown}"]


@contextmanager
def only_one() -> Iterator[None]:
    """One demo at a time in this clone; what the last one left in its folder is removed."""
    if kept.RECORD.exists():
        raise LabError("a demo was left running here; `make stop` ends it")
    with disk_errors():
        BUILD.mkdir(exist_ok=True)
        lock = (BUILD / "demo.lock").open("w")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LabError("another demo is running in this clone; wait for its end or stop it") from None
        postgres.stop_server(FOLDER / "postgres")
        shutil.rmtree(FOLDER, ignore_errors=True)
        yield


def run(keep: bool, first_port: int) -> int:
    """The whole demo."""
    progress = Progress()
    ports = [first_port + number for number in range(PORTS_NEEDED)]
    advice = "`make stop` ends a demo left running; `make demo PORTS=31090` chooses other ports"
    require_free(ports, advice)
    with only_one(), Lab(FOLDER, progress) as lab:
        stage = Stage(lab, Ports.of(ports))
        stage.start()
        story = Story(stage.postgres.dsn, progress)
        agreed = Play(stage, story).act()
        if keep:
            kept.write(lab, stage)
            lab.keep()
        else:
            progress.say("stopping everything")
    progress.say("done" if agreed else "done, but a check differed (see above)")
    return 0 if agreed else 1


def main() -> int:
    """Parse arguments, run, and turn what went wrong into one sentence and a code."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running and print the addresses")
    parser.add_argument("--ports", type=int, default=FIRST_PORT, help=f"first of {PORTS_NEEDED} ports")
    given = parser.parse_args()
    try:
        with signals_stop():
            return run(given.keep, given.ports)
    except LabError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except Stopped as stopped:
        print(
            f"demo: stopped by {signal.Signals(stopped.signal_number).name}; everything was cleaned up", file=sys.stderr
        )
        return 128 + stopped.signal_number


if __name__ == "__main__":
    raise SystemExit(main())
